//! Requests whose heads are refused before they are judged: malformed, or too large.

use roundtrip_wire::h2::{Code, HeadError, write_line};

use super::link::StreamHandle;
use crate::accept::front::streams::ConnectionState;
use crate::judge::guard::Sessions;
use crate::judge::request::BadRequestError;

/// Counts the request. Tells the client that it exceeded a limit, and resets the stream of a
/// request that is malformed. RFC 9113 §8.1.1.
pub(super) fn refuse<S: Sessions>(
    state: &ConnectionState<S>,
    stream: &StreamHandle,
    error: HeadError,
) {
    let refusal = match error {
        HeadError::TooLarge => BadRequestError::HeadTooLarge,
        HeadError::Malformed(_) => BadRequestError::Malformed,
    };
    let mut entry = state.entry();
    if error == HeadError::TooLarge {
        entry.turn_away(refusal.status(), refusal);
        let mut block = Vec::new();
        let status = refusal.status().to_string();
        write_line(&mut block, b":status", status.as_bytes());
        // A client that is gone does not get it.
        let _ = stream
            .server
            .borrow_mut()
            .send_head(stream.id, &block, true);
    } else {
        stream.cut(Code::PROTOCOL_ERROR);
    }
    state.close(&mut entry, Some(&refusal.into()));
}
