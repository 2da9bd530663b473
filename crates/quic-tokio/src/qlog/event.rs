//! Translates events into the names and members of draft-ietf-quic-qlog-quic-events.

use std::net::IpAddr;
use std::time::Duration;

use roundtrip_quic::{
    CloseReason, Code, DropReason, LogEvent, LoggedConnection, LoggedPacket, Metrics,
};
use roundtrip_wire::hex;
use roundtrip_wire::quic::{Frames, PacketKind, Parameters, Side, Version};
use serde_json::{Map, Value, json};

use super::frame::{frame, transport_error};

const LONG_HEADER: u8 = 0x80;
const SPIN: u8 = 0x20;
const KEY_PHASE: u8 = 0x04;

/// Keeps what later events need of earlier ones.
#[derive(Debug)]
pub(super) struct Translator {
    side: Side,
    /// The units of the delays in our acknowledgements, and in those of the peer. RFC 9000 §18.2.
    ack_delay_exponents: [u64; 2],
}

/// The events that each log begins with.
pub(super) fn first(connection: &LoggedConnection) -> [(&'static str, Value); 2] {
    let hex_of = |version: Version| format!("{:08x}", version.0);
    let chosen = hex_of(connection.version);
    let (known, versions) = match connection.side {
        Side::Client => ("client_versions", vec![chosen.clone()]),
        Side::Server => (
            "server_versions",
            [Version::V1, Version::V2].map(hex_of).into(),
        ),
    };
    let remote = endpoint(Some(connection.remote.ip()), Some(connection.remote.port()));
    let started = json!({"local": endpoint(connection.local, None), "remote": remote});
    [
        ("connection_started", started),
        (
            "version_information",
            json!({known: versions, "chosen_version": chosen}),
        ),
    ]
}

fn endpoint(address: Option<IpAddr>, port: Option<u16>) -> Value {
    let mut value = Map::new();
    let (ip, at) = match address {
        Some(IpAddr::V6(_)) => ("ip_v6", "port_v6"),
        _ => ("ip_v4", "port_v4"),
    };
    value.extend(address.map(|address| (ip.to_owned(), address.to_string().into())));
    value.extend(port.map(|port| (at.to_owned(), port.into())));
    value.into()
}

impl Translator {
    pub(super) fn new(side: Side) -> Self {
        Self {
            side,
            ack_delay_exponents: [3; 2],
        }
    }

    pub(super) fn translate(&mut self, event: &LogEvent<'_>) -> (&'static str, Value) {
        match event {
            LogEvent::Sent(sent) => ("packet_sent", packet(sent, self.ack_delay_exponents[0])),
            LogEvent::Received(came) => {
                ("packet_received", packet(came, self.ack_delay_exponents[1]))
            }
            LogEvent::Dropped { kind, length, why } => {
                let trigger = match why {
                    DropReason::Undecryptable => "decryption_failure",
                    DropReason::NoKeys => "key_unavailable",
                };
                let header = json!({"packet_type": kind_name(*kind)});
                let raw = json!({"length": length});
                (
                    "packet_dropped",
                    json!({"header": header, "raw": raw, "trigger": trigger}),
                )
            }
            LogEvent::Lost { kind, number } => {
                let header = json!({"packet_type": kind_name(*kind), "packet_number": number});
                ("packet_lost", json!({"header": header}))
            }
            LogEvent::Retried { source } => {
                let header = json!({"packet_type": "retry", "scid": hex(source.as_slice())});
                ("packet_received", json!({"header": header}))
            }
            LogEvent::Parameters {
                is_local,
                parameters,
            } => {
                let index = usize::from(!is_local);
                if let Some(exponent) = self.ack_delay_exponents.get_mut(index) {
                    *exponent = parameters.ack_delay_exponent.min(20);
                }
                ("parameters_set", parameters_set(*is_local, parameters))
            }
            LogEvent::Metrics(metrics) => ("recovery_metrics_updated", metrics_updated(metrics)),
            LogEvent::KeysDiscarded(kind) => {
                let level = match kind {
                    PacketKind::Initial => "initial",
                    PacketKind::Handshake => "handshake",
                    PacketKind::ZeroRtt => "0rtt",
                    PacketKind::OneRtt => "1rtt",
                };
                let own = super::side_name(self.side);
                let key_type = format!("{own}_{level}_secret");
                ("key_discarded", json!({"key_type": key_type}))
            }
            LogEvent::Closed(why) => ("connection_closed", closed(why)),
        }
    }
}

fn packet(packet: &LoggedPacket<'_>, ack_delay_exponent: u64) -> Value {
    let frames = Frames::new(packet.payload).map_while(Result::ok);
    let frames: Vec<Value> = frames.map(|one| frame(&one, ack_delay_exponent)).collect();
    json!({
        "header": header(packet),
        "frames": frames,
        "raw": {"length": packet.length, "payload_length": packet.payload.len()},
    })
}

fn header(packet: &LoggedPacket<'_>) -> Value {
    let mut value = Map::new();
    value.insert("packet_type".to_owned(), kind_name(packet.kind).into());
    value.insert("packet_number".to_owned(), packet.number.into());
    let first = packet.header.first().copied().unwrap_or_default();
    if first & LONG_HEADER == 0 {
        value.insert("spin_bit".to_owned(), (first & SPIN != 0).into());
        value.insert("key_phase_bit".to_owned(), (first & KEY_PHASE != 0).into());
        let id = packet.header.get(1..).unwrap_or_default();
        value.insert("dcid".to_owned(), hex(id).into());
        return value.into();
    }
    // RFC 8999 §5.1.
    if let Some((version, rest)) = packet
        .header
        .get(1..)
        .and_then(<[u8]>::split_first_chunk::<4>)
    {
        value.insert("version".to_owned(), hex(version).into());
        if let Some((destination, rest)) = id(rest) {
            value.insert("dcid".to_owned(), hex(destination).into());
            value.extend(id(rest).map(|(source, _)| ("scid".to_owned(), hex(source).into())));
        }
    }
    value.into()
}

/// Splits bytes into an id, which is preceded by its length, and the rest.
fn id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*length))
}

fn kind_name(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Initial => "initial",
        PacketKind::ZeroRtt => "0RTT",
        PacketKind::Handshake => "handshake",
        PacketKind::OneRtt => "1RTT",
    }
}

/// Tokens of stateless resets are left out: they end connections.
fn parameters_set(is_local: bool, p: &Parameters) -> Value {
    let initiator = if is_local { "local" } else { "remote" };
    let mut value = json!({
        "initiator": initiator,
        "max_idle_timeout": p.max_idle_timeout,
        "max_udp_payload_size": p.max_udp_payload_size,
        "ack_delay_exponent": p.ack_delay_exponent,
        "max_ack_delay": p.max_ack_delay,
        "active_connection_id_limit": p.active_connection_id_limit,
        "initial_max_data": p.initial_max_data,
        "initial_max_stream_data_bidi_local": p.initial_max_stream_data_bidi_local,
        "initial_max_stream_data_bidi_remote": p.initial_max_stream_data_bidi_remote,
        "initial_max_stream_data_uni": p.initial_max_stream_data_uni,
        "initial_max_streams_bidi": p.initial_max_streams_bidi,
        "initial_max_streams_uni": p.initial_max_streams_uni,
        "max_datagram_frame_size": p.max_datagram_frame_size,
        "disable_active_migration": p.disable_active_migration,
        "grease_quic_bit": p.grease_quic_bit,
        // Those are not kept.
        "unknown_parameters": [],
    });
    let ids = [
        (
            "original_destination_connection_id",
            p.original_destination_connection_id,
        ),
        (
            "initial_source_connection_id",
            p.initial_source_connection_id,
        ),
        ("retry_source_connection_id", p.retry_source_connection_id),
    ];
    if let Some(value) = value.as_object_mut() {
        for (name, id) in ids {
            value.extend(id.map(|id| (name.to_owned(), hex(id.as_slice()).into())));
        }
    }
    value
}

fn metrics_updated(metrics: &Metrics) -> Value {
    let ms = |span: Duration| span.as_micros() as f64 / 1e3;
    json!({
        "min_rtt": ms(metrics.min_rtt),
        "smoothed_rtt": ms(metrics.smoothed_rtt),
        "latest_rtt": ms(metrics.latest_rtt),
        "rtt_variance": ms(metrics.rtt_variance),
        "pto_count": metrics.pto_count,
        "congestion_window": metrics.congestion_window,
        "bytes_in_flight": metrics.bytes_in_flight,
    })
}

fn closed(why: &CloseReason) -> Value {
    let by_code = |initiator: &str, code: Code| {
        let (error, number) = transport_error(code.0);
        let mut value = json!({
            "initiator": initiator,
            "connection_error": error,
            "reason": why.to_string(),
            "trigger": "error",
        });
        if let Some(value) = value.as_object_mut() {
            value.extend(number.map(|number| ("error_code".to_owned(), number.into())));
        }
        value
    };
    let by_application = |initiator: &str, code: u64| {
        json!({
            "initiator": initiator,
            "application_error": "unknown",
            "error_code": code,
            "reason": why.to_string(),
            "trigger": "application",
        })
    };
    let for_reason = |initiator: &str, trigger: &str| json!({"initiator": initiator, "reason": why.to_string(), "trigger": trigger});
    match why {
        CloseReason::Local { code } => by_application("local", *code),
        CloseReason::Violated { code, .. } | CloseReason::Handshake { code, .. } => {
            by_code("local", *code)
        }
        CloseReason::Transport { code, .. } => by_code("remote", *code),
        CloseReason::Application { code, .. } => by_application("remote", *code),
        CloseReason::TimedOut => for_reason("local", "idle_timeout"),
        CloseReason::Unreachable(_) => for_reason("local", "aborted"),
        CloseReason::Reset => for_reason("remote", "stateless_reset"),
        CloseReason::Versions { .. } => for_reason("local", "version_mismatch"),
    }
}
