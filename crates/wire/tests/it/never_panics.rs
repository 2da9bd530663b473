//! Every parser is total: arbitrary bytes, and valid bytes spoilt in a few places, give a value or
//! an error.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use roundtrip_wire::dns::{Message, Name};
use roundtrip_wire::hosts::Hosts;
use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::passive::{
    Http1Reader, Http2Reader, Http3Reader, QuicPayload, QuicReader, TlsReader,
};
use roundtrip_wire::proxy_header::ProxyHeader;
use roundtrip_wire::quic::{
    CryptoStream, Frames, InitialKeys, Packet, Packets, Side, retry_is_authentic,
};
use roundtrip_wire::resolv_conf::ResolvConf;
use roundtrip_wire::tls::{
    Alert, ClientHello, Handshakes, Records, ServerHello, clear_handshake,
    server_key_exchange_group,
};
use roundtrip_wire::witness::page::PageLoad;
use roundtrip_wire::witness::{curl_trace, har, netlog, qlog};
use roundtrip_wire::x509::Certificate;
use roundtrip_wire::{alt_svc, server_timing};

use crate::hex;

fn dns(bytes: &[u8]) {
    let Ok(message) = Message::parse(bytes) else {
        return;
    };
    for question in &message.questions {
        let _ = message.addresses_for(&question.name);
        let _ = message.https_for(&question.name);
    }
    let _ = message.negative_ttl();
    let _ = message.encode_within(512);
    if let Ok(again) = message.encode() {
        assert_eq!(Message::parse(&again), Ok(message));
    }
}

fn tls(bytes: &[u8]) {
    for record in Records::new(bytes).flatten() {
        let _ = Alert::parse(record.body);
    }
    let handshake = clear_handshake(bytes).unwrap_or_default();
    for message in Handshakes::new(&handshake) {
        let _ = ClientHello::parse(message.body);
        let _ = ServerHello::parse(message.body);
    }
    let _ = ClientHello::parse(bytes);
    let _ = ServerHello::parse(bytes);
    let _ = server_key_exchange_group(bytes);
}

fn quic(bytes: &[u8]) {
    for packet in Packets::new(bytes).flatten() {
        match packet {
            Packet::Long(packet) => {
                let keys = InitialKeys::derive(packet.version, &packet.destination).unwrap();
                let _ = keys.open(Side::Client, &packet, None);
                let _ = keys.open(Side::Server, &packet, Some(u64::MAX));
            }
            Packet::Retry(retry) => drop(retry_is_authentic(&retry, &retry.source)),
            _ => {}
        }
    }
    let _ = Frames::new(bytes).count();
    let mut stream = CryptoStream::default();
    let _ = stream.push_payload(bytes);
}

fn text(bytes: &[u8]) {
    let _ = server_timing::parse(bytes);
    let _ = alt_svc::parse(bytes);
    let text = String::from_utf8_lossy(bytes);
    let _ = ResolvConf::parse(&text).candidates(&text);
    let _ = Hosts::parse(&text).lookup(&text);
    if let Ok(name) = text.parse::<Name>() {
        assert_eq!(name.to_string().parse(), Ok(name));
    }
}

fn passive(bytes: &[u8]) {
    let keys = KeyLog::parse(bytes);
    let (mut tls, mut quic) = (TlsReader::new(), QuicReader::new());
    let (mut http1, mut http2, mut http3) =
        (Http1Reader::new(), Http2Reader::new(), Http3Reader::new());
    for (number, piece) in bytes.chunks(50).enumerate() {
        let side = if number % 3 == 0 {
            Side::Client
        } else {
            Side::Server
        };
        let at = 0..piece.len() as u64;
        if number % 5 == 4 {
            tls.skip(side, 50, &keys, |_| {});
            http1.skip(side, 50, at.clone(), |_| {});
            http2.skip(side, 50, at, |_| {});
            continue;
        }
        tls.push(side, piece, &keys, |_| {});
        http1.push(side, piece, at.clone(), |_| {});
        http2.push(side, piece, at, |_| {});
        http3.push(side, piece, 0, |_| {});
    }
    for side in [Side::Client, Side::Server] {
        quic.push(side, bytes, &keys, |packet| {
            if let QuicPayload::Opened { frames, .. } = packet.payload {
                http3.push(side, frames, 1, |_| {});
            }
        });
        let _ = quic.is_addressed(side, bytes);
        http1.close(side, 9, |_| {});
    }
}

fn logs(bytes: &[u8]) {
    let logs = [
        har::read(bytes),
        netlog::read(bytes),
        qlog::read(bytes),
        curl_trace::read(bytes),
    ];
    for log in logs.into_iter().flatten() {
        if let Some(page) = PageLoad::from_witness(&log) {
            let _ = page.without(&log, |step| step.phase.is_none());
        }
    }
}

fn everything(bytes: &[u8]) {
    passive(bytes);
    logs(bytes);
    dns(bytes);
    tls(bytes);
    quic(bytes);
    text(bytes);
    let _ = Certificate::parse(bytes);
    let _ = ProxyHeader::parse(bytes);
}

/// Something valid for every parser.
fn seed() -> impl Strategy<Value = Vec<u8>> {
    let dns = b"\x00\x07\x81\x80\x00\x01\x00\x02\x00\x00\x00\x00\x03www\x02ex\x00\x00\x41\x00\x01\
        \xc0\x0c\x00\x05\x00\x01\x00\x00\x01\x2c\x00\x06\x03web\xc0\x10\
        \xc0\x23\x00\x41\x00\x01\x00\x00\x00\x3c\x00\x0a\x00\x01\x00\x00\x01\x00\x03\x02h2";
    let conf = "nameserver ::1%2\nsearch a. b\noptions ndots:3 timeout:9\n::1 a b\n127.0.0.1 c#d\n";
    let field = "h3=\":443\"; ma=60; persist=1, a;dur=1.5;desc=\"x\\\"y\", clear";
    let seeds: Vec<Vec<u8>> = vec![
        dns.to_vec(),
        conf.into(),
        field.into(),
        b"www.ex\\.ample.\\001a".to_vec(),
        hex(include_str!("../data/quicv1-client-initial.hex")),
        hex(include_str!("../data/quicv2-server-initial.hex")),
        hex("02 0a 00 01 02 00 01 06 00 02 0809 1c 00 06 01 41"),
        include_bytes!("../data/ec-p256.der").to_vec(),
        include_bytes!("../data/rsa-2048.der").to_vec(),
        include_bytes!("../data/tls13-early-client.bin").to_vec(),
        include_bytes!("../data/tls13-retry-server.bin").to_vec(),
        include_bytes!("../data/tls12-server.bin").to_vec(),
        include_bytes!("../data/passive/tls12-aes128.keys").to_vec(),
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_vec(),
        b"06:18:06.000001 [0-0] * Trying 1:1\n06:18:06.000001 => Send header, 9\n0000: GET /\n".to_vec(),
        br#"{"log":{"entries":[{"startedDateTime":"2023-11-14T22:13:20Z","request":{"url":"u"},"timings":{"wait":3}}]}}"#.to_vec(),
        br#"{"traces":[{"common_fields":{"time_format":"delta"},"events":[{"time":1,"name":"x:packet_sent","data":{}}]}]}"#.to_vec(),
        br#"{"constants":{"logEventTypes":{"REQUEST_ALIVE":1},"logSourceType":{"URL_REQUEST":1}},"events":[{"time":"1","type":1,"phase":1,"source":{"id":1,"type":1},"params":{"url":"u"}}]}"#.to_vec(),
    ];
    proptest::sample::select(seeds)
}

proptest! {
    #[test]
    fn on_arbitrary_bytes(bytes in vec(any::<u8>(), 0..600)) {
        everything(&bytes);
    }

    #[test]
    fn on_valid_bytes_spoilt(
        mut bytes in seed(),
        changes in vec((any::<Index>(), any::<u8>()), 0..6),
        end in any::<Index>(),
        cut in any::<bool>(),
    ) {
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cut {
            bytes.truncate(end.index(bytes.len()));
        }
        everything(&bytes);
    }
}
