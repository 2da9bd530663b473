//! The file format of an origin.

use std::net::IpAddr;
use std::time::Duration;

use super::{Addresses, Alternative, Hints, OriginState, Reached, Session, Stamp, Transport};
use super::{MAX_BLOB, MAX_SESSIONS, MAX_TOKENS};
use crate::memory::codec::{Form, Reader, Writer};

const FORM: Form = Form {
    name: *b"rtor",
    version: 1,
};
const MAX_ADDRESSES: usize = 64;
/// The longest protocol name: its length is encoded in one byte (RFC 7301 §3.1).
const MAX_ALPN_LENGTH: usize = 255;
const MAX_ALPN_COUNT: usize = 32;
/// The longest plausible round trip, a minute, in microseconds.
const MAX_RTT: u64 = 60_000_000;

pub(super) fn encode(state: &OriginState) -> Vec<u8> {
    let mut writer = Writer::new(FORM);
    let alpn = state.alpn.as_deref().unwrap_or_default();
    let alpn = if alpn.len() > MAX_ALPN_LENGTH {
        ""
    } else {
        alpn
    };
    writer.counted(alpn.as_bytes());
    let alt_svc = state.alt_svc.as_ref();
    writer.count(usize::from(alt_svc.is_some()));
    if let Some(known) = alt_svc {
        writer.u64(known.expires.0);
        writer.u16(known.port);
        writer.u16(u16::from(known.persist));
    }
    writer.count(usize::from(state.https_record.is_some()));
    if let Some(hints) = &state.https_record {
        encode_hints(&mut writer, hints);
    }
    writer.count(usize::from(state.addresses.is_some()));
    if let Some(known) = &state.addresses {
        writer.u64(known.expires.0);
        writer.count(known.list.len().min(MAX_ADDRESSES));
        for address in known.list.iter().take(MAX_ADDRESSES) {
            encode_address(&mut writer, *address);
        }
    }
    writer.u64(u64::from(state.streams.unwrap_or(0)));
    let rtt = state.rtt.map_or(0, |rtt| rtt.as_micros());
    writer.u64(u64::try_from(rtt).unwrap_or(0).min(MAX_RTT));
    writer.count(state.sessions.len());
    for session in &state.sessions {
        writer.u16(u16::from(session.transport == Transport::Quic));
        writer.u64(session.expires.0);
        writer.counted(&session.blob);
    }
    writer.count(state.quic_tokens.len());
    for token in &state.quic_tokens {
        writer.counted(token);
    }
    if let Some(known) = &state.reached {
        writer.u64(known.expires.0);
        encode_address(&mut writer, known.address);
    }
    writer.finish(&[])
}

pub(super) fn decode(bytes: &[u8]) -> Option<OriginState> {
    let mut reader = Reader::new(FORM, bytes)?;
    let alpn = reader.text(MAX_ALPN_LENGTH)?;
    let mut alt_svc = reader.items(1, |reader| {
        Some(Alternative {
            expires: Stamp(reader.u64()?),
            port: reader.u16()?,
            persist: reader.u16()? != 0,
        })
    })?;
    let mut hints = reader.items(1, decode_hints)?;
    let mut addresses = reader.items(1, |reader| {
        Some(Addresses {
            expires: Stamp(reader.u64()?),
            list: reader.items(MAX_ADDRESSES, decode_address)?,
        })
    })?;
    let streams = u32::try_from(reader.u64()?).ok()?;
    let rtt = reader.u64().filter(|micros| *micros <= MAX_RTT)?;
    let sessions = reader.items(2 * MAX_SESSIONS, decode_session)?;
    let quic_tokens = reader.items(MAX_TOKENS, |reader| {
        Some(reader.counted(MAX_BLOB)?.to_vec())
    })?;
    // Earlier versions ended here.
    let reached = if reader.is_at_end() {
        None
    } else {
        Some(Reached {
            expires: Stamp(reader.u64()?),
            address: decode_address(&mut reader)?,
        })
    };
    reader.finish()?;
    Some(OriginState {
        alpn: Some(alpn).filter(|alpn| !alpn.is_empty()),
        alt_svc: alt_svc.pop(),
        https_record: hints.pop(),
        addresses: addresses.pop(),
        reached,
        streams: (streams > 0).then_some(streams),
        rtt: (rtt > 0).then(|| Duration::from_micros(rtt)),
        sessions,
        quic_tokens,
    })
}

fn encode_hints(writer: &mut Writer, hints: &Hints) {
    writer.u64(hints.expires.0);
    writer.u16(hints.port.unwrap_or(0));
    let fits = |name: &&String| name.len() <= MAX_ALPN_LENGTH;
    let alpn: Vec<_> = hints
        .alpn
        .iter()
        .filter(fits)
        .take(MAX_ALPN_COUNT)
        .collect();
    writer.count(alpn.len());
    for name in alpn {
        writer.counted(name.as_bytes());
    }
}

fn decode_hints(reader: &mut Reader<'_>) -> Option<Hints> {
    Some(Hints {
        expires: Stamp(reader.u64()?),
        port: Some(reader.u16()?).filter(|port| *port != 0),
        alpn: reader.items(MAX_ALPN_COUNT, |reader| reader.text(MAX_ALPN_LENGTH))?,
    })
}

fn encode_address(writer: &mut Writer, address: IpAddr) {
    match address {
        IpAddr::V4(address) => writer.counted(&address.octets()),
        IpAddr::V6(address) => writer.counted(&address.octets()),
    }
}

fn decode_address(reader: &mut Reader<'_>) -> Option<IpAddr> {
    let octets = reader.counted(16)?;
    let four = octets.try_into().map(|four: [u8; 4]| four.into()).ok();
    four.or_else(|| {
        octets
            .try_into()
            .map(|sixteen: [u8; 16]| sixteen.into())
            .ok()
    })
}

fn decode_session(reader: &mut Reader<'_>) -> Option<Session> {
    Some(Session {
        transport: match reader.u16()? {
            0 => Transport::Tcp,
            1 => Transport::Quic,
            _ => return None,
        },
        expires: Stamp(reader.u64()?),
        blob: reader.counted(MAX_BLOB)?.to_vec(),
    })
}
