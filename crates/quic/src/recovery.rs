//! Losses found, probes timed, bytes in flight counted. RFC 9002.

mod feedback;

pub(crate) use feedback::Feedback;
