//! Why nothing could be compared.

use roundtrip_model::Failure;

#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error("a tcp:// URL can be asked in one way only; compare needs http:// or https://")]
    Echo,
    #[error(
        "{0} may have an effect each time, and comparing repeats it up to {1} times; --force allows that (without early data)"
    )]
    Unsafe(String, u32),
    #[error("a sequence of {requests} requests does not fit into {most} requests in all; raise -n")]
    Budget { requests: u32, most: u32 },
    #[error("the URL does not answer, so there is nothing to compare with\n{0}")]
    Unanswered(Failure),
    #[error("interrupted before there was anything to report")]
    Interrupted,
}
