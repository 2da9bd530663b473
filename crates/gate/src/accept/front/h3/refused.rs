//! Requests whose heads are refused before they are judged: malformed, or too large.

use roundtrip_quic_tokio::{MessageSender, SendStream};
use roundtrip_wire::h3::MessageError;
use roundtrip_wire::message::MalformedError;

use crate::accept::front::streams::ConnectionState;
use crate::judge::guard::Sessions;
use crate::judge::request::BadRequestError;

/// Counts the request. Tells the client which limit it exceeded, and resets the stream of a request
/// that is malformed. RFC 9114 §4.1.2.
pub(super) async fn refuse<S: Sessions>(
    state: &ConnectionState<S>,
    mut stream: MessageSender<SendStream>,
    error: MessageError,
) {
    let refusal = BadRequestError::from(error);
    let mut entry = state.entry();
    if error.is_limit() {
        entry.turn_away(refusal.status(), refusal);
        let status = refusal.status().to_string();
        stream.section([(b":status".as_slice(), status.as_bytes())]);
        // A client that does not read the answer does not get it.
        let _ = state.in_head_time(stream.finish()).await;
    } else {
        stream.reset(error.code());
    }
    state.close(&mut entry, Some(&refusal.into()));
}

impl From<MessageError> for BadRequestError {
    fn from(error: MessageError) -> Self {
        match error {
            MessageError::TooManyFields => Self::TooManyFields,
            MessageError::TooLarge | MessageError::TooMuchIgnored => Self::HeadTooLarge,
            MessageError::Malformed(MalformedError::Length) => Self::Length,
            MessageError::Malformed(_) | MessageError::Incomplete | MessageError::Protocol(_) => {
                Self::Malformed
            }
        }
    }
}
