//! Frames and error codes, as draft-ietf-quic-qlog-quic-events names them.

use roundtrip_wire::hex;
use roundtrip_wire::quic::{Ack, Frame};
use serde_json::{Value, json};

/// RFC 9000 §20.1, RFC 9368 §10.2.
const TRANSPORT_ERRORS: [&str; 18] = [
    "no_error",
    "internal_error",
    "connection_refused",
    "flow_control_error",
    "stream_limit_error",
    "stream_state_error",
    "final_size_error",
    "frame_encoding_error",
    "transport_parameter_error",
    "connection_id_limit_error",
    "protocol_violation",
    "invalid_token",
    "application_error",
    "crypto_buffer_exceeded",
    "key_update_error",
    "aead_limit_reached",
    "no_viable_path",
    "unknown",
];

/// The name of a transport error, and its number if it has no name.
pub(super) fn transport_error(code: u64) -> (String, Option<u64>) {
    if (0x100..0x200).contains(&code) {
        return (format!("crypto_error_0x{code:03x}"), None);
    }
    let name = usize::try_from(code)
        .ok()
        .and_then(|index| TRANSPORT_ERRORS.get(index))
        .filter(|name| **name != "unknown");
    match name {
        Some(name) => ((*name).to_owned(), None),
        None => ("unknown".to_owned(), Some(code)),
    }
}

/// Contents of streams and of the handshake are given by their lengths, tokens of stateless resets
/// not at all.
pub(super) fn frame(frame: &Frame<'_>, ack_delay_exponent: u64) -> Value {
    match frame {
        Frame::Padding(length) => {
            json!({"frame_type": "padding", "raw": {"payload_length": length}})
        }
        Frame::Ping => json!({"frame_type": "ping"}),
        Frame::Ack(ack) => acknowledgement(ack, ack_delay_exponent),
        Frame::ResetStream { id, code, size } => json!({
            "frame_type": "reset_stream",
            "stream_id": id,
            "error": "unknown",
            "error_code": code,
            "final_size": size,
        }),
        Frame::StopSending { id, code } => json!({
            "frame_type": "stop_sending",
            "stream_id": id,
            "error": "unknown",
            "error_code": code,
        }),
        Frame::Crypto { offset, data } => json!({
            "frame_type": "crypto",
            "offset": offset,
            "raw": {"length": data.len(), "payload_length": data.len()},
        }),
        Frame::NewToken(token) => json!({
            "frame_type": "new_token",
            "token": {"type": "resumption", "raw": {"length": token.len()}},
        }),
        Frame::Stream {
            id,
            offset,
            data,
            fin,
        } => json!({
            "frame_type": "stream",
            "stream_id": id,
            "offset": offset,
            "fin": fin,
            "raw": {"length": data.len(), "payload_length": data.len()},
        }),
        Frame::MaxData(maximum) => json!({"frame_type": "max_data", "maximum": maximum}),
        Frame::MaxStreamData { id, limit } => {
            json!({"frame_type": "max_stream_data", "stream_id": id, "maximum": limit})
        }
        Frame::MaxStreams { bidi, limit } => {
            json!({"frame_type": "max_streams", "stream_type": stream_type(*bidi), "maximum": limit})
        }
        Frame::DataBlocked(limit) => json!({"frame_type": "data_blocked", "limit": limit}),
        Frame::StreamDataBlocked { id, limit } => {
            json!({"frame_type": "stream_data_blocked", "stream_id": id, "limit": limit})
        }
        Frame::StreamsBlocked { bidi, limit } => {
            json!({"frame_type": "streams_blocked", "stream_type": stream_type(*bidi), "limit": limit})
        }
        Frame::NewConnectionId {
            sequence,
            retire_prior_to,
            id,
            ..
        } => json!({
            "frame_type": "new_connection_id",
            "sequence_number": sequence,
            "retire_prior_to": retire_prior_to,
            "connection_id_length": id.len(),
            "connection_id": hex(id.as_slice()),
        }),
        Frame::RetireConnectionId(sequence) => {
            json!({"frame_type": "retire_connection_id", "sequence_number": sequence})
        }
        Frame::PathChallenge(data) => json!({"frame_type": "path_challenge", "data": hex(data)}),
        Frame::PathResponse(data) => json!({"frame_type": "path_response", "data": hex(data)}),
        Frame::Close {
            code,
            frame,
            reason,
        } => close(*code, *frame, reason),
        Frame::HandshakeDone => json!({"frame_type": "handshake_done"}),
        Frame::Datagram(data) => json!({"frame_type": "datagram", "raw": {"length": data.len()}}),
        // The schema does not name the frames of the ACK frequency extension.
        Frame::AckFrequency { .. } | Frame::ImmediateAck => {
            json!({"frame_type": "unknown", "frame_type_bytes": frame.kind()})
        }
    }
}

fn stream_type(bidi: bool) -> &'static str {
    if bidi {
        "bidirectional"
    } else {
        "unidirectional"
    }
}

fn acknowledgement(ack: &Ack<'_>, exponent: u64) -> Value {
    let ranges: Vec<Value> = ack
        .ranges()
        .map(|range| json!([range.start(), range.end()]))
        .collect();
    let micros = (ack.delay as f64) * 2_f64.powi(exponent as i32);
    let mut value = json!({"frame_type": "ack", "ack_delay": micros / 1e3, "acked_ranges": ranges});
    if let (Some([ect0, ect1, ce]), Some(value)) = (ack.ecn, value.as_object_mut()) {
        for (name, count) in [("ect1", ect1), ("ect0", ect0), ("ce", ce)] {
            value.insert(name.to_owned(), count.into());
        }
    }
    value
}

fn close(code: u64, frame: Option<u64>, reason: &[u8]) -> Value {
    let (space, error, number) = match frame {
        Some(_) => {
            let (error, number) = transport_error(code);
            ("transport", error, number)
        }
        None => ("application", "unknown".to_owned(), Some(code)),
    };
    let mut value = json!({
        "frame_type": "connection_close",
        "error_space": space,
        "error": error,
        "reason": String::from_utf8_lossy(reason),
    });
    if let Some(value) = value.as_object_mut() {
        value.extend(number.map(|number| ("error_code".to_owned(), number.into())));
        value.extend(frame.map(|kind| ("trigger_frame_type".to_owned(), kind.into())));
    }
    value
}
