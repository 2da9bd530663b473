//! A name server over UDP, TCP and TLS, with records of many types.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Types and data of the records of `all.example`.
pub(crate) const RECORDS: [(u16, &[u8]); 27] = [
    (1, b"\xc0\x00\x02\x07"),
    (2, b"\x02Ns\x07Example\x00"),
    (5, b"\x05W w.w\x04\x00\xff@;\x00"),
    (6, SOA),
    (12, b"\x00"),
    (13, b"\x03cpu\x02os"),
    (15, b"\x00\x0a\x04mail\xc0\x0c"),
    (16, b"\x05a\"b\\c\x02\x01\xff\x00"),
    (17, b"\x03box\x00\x03txt\x00"),
    (18, b"\x00\x01\x02db\x00"),
    (28, b"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"),
    (33, b"\x00\x01\x00\x02\x01\xbb\x03srv\x00"),
    (35, b"\x00\x64\x00\x0a\x01u\x07E2U+sip\x10!^.*$!sip:a@b.c!\x00"),
    (43, b"\x12\x34\x08\x02\xab\xcd"),
    (44, b"\x04\x02\xab\xcd"),
    (46, b"\x00\x01\x08\x02\x00\x00\x0e\x10\x6a\x00\x00\x00\x69\x00\x00\x00\x12\x34\x07Example\x00\x01\x02\x03"),
    (47, b"\x04next\x00\x00\x06\x40\x00\x00\x00\x00\x03\x01\x01\x40"),
    (48, b"\x01\x01\x03\x08\x01\x02\x03\x04"),
    (50, b"\x01\x00\x00\x05\x02\xab\xcd\x05\x01\x02\x03\x04\x05\x00\x01\x40"),
    (51, b"\x01\x00\x00\x05\x00"),
    (52, b"\x03\x01\x01\xab\xcd"),
    (61, b"\x01\x02\x03"),
    (64, b"\x00\x00\x03Svc\x00"),
    (65, b"\x00\x01\x00\x00\x01\x00\x06\x02h3\x02h2\x00\x03\x00\x02\x01\xbb\x00\x04\x00\x04\xc0\x00\x02\x07\x00\x06\x00\x10\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"),
    (256, b"\x00\x0a\x00\x01https://a.example/"),
    (257, b"\x00\x05issueca.example"),
    (65_280, b"\x01\xab"),
];

const SOA: &[u8] =
    b"\x02ns\x00\x04Root\xc0\x0c\x78\xc4\x06\x58\x00\x00\x0e\x10\x00\x00\x03\x84\x00\x09\x3a\x80\x00\x00\x01\x2c";

pub(crate) struct NameServer {
    /// For UDP and TCP.
    pub(crate) clear: SocketAddr,
    pub(crate) tls: SocketAddr,
}

/// Starts it; the certificate for TLS goes to `ca`.
pub(crate) fn name_server(ca: &Path) -> NameServer {
    let (udp, tcp) = same_port();
    let clear = udp.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, peer)) = udp.recv_from(&mut buffer) {
            let _ = udp.send_to(&answer(&buffer[..length]), peer);
        }
    });
    thread::spawn(move || {
        for mut stream in tcp.incoming().flatten() {
            let _ = framed(&mut stream);
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tls = listener.local_addr().unwrap();
    let config = Arc::new(certified(ca));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(config.clone()).unwrap();
            let _ = framed(&mut StreamOwned::new(connection, stream));
        }
    });
    NameServer { clear, tls }
}

fn same_port() -> (UdpSocket, TcpListener) {
    for _ in 0..100 {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) {
            return (udp, tcp);
        }
    }
    panic!("no port is free for both");
}

fn certified(ca: &Path) -> ServerConfig {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".into()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    std::fs::write(ca, certificate.pem()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into())
        .unwrap()
}

/// One query after its length, and its answer in the same form.
fn framed(stream: &mut (impl Read + Write)) -> io::Result<()> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut query = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut query)?;
    let answer = answer(&query);
    stream.write_all(&[&(answer.len() as u16).to_be_bytes(), answer.as_slice()].concat())?;
    stream.flush()
}

/// The first label of the question says what to answer.
fn answer(query: &[u8]) -> Vec<u8> {
    let question = &query[12..];
    let label = &question[1..=usize::from(question[0])];
    let class = u16::from_be_bytes(*question.last_chunk().unwrap());
    let recurses = query[2] & 1 != 0;
    let two: [(u16, &[u8]); 2] = [(1, b"\xc0\x00\x02\x07"), (1, b"\xc0\x00\x02\x08")];
    let (flags, answers, authorities): (u16, Vec<_>, Vec<_>) = match label {
        b"all" => (0x8180, RECORDS.to_vec(), vec![]),
        b"soa" => (0x8580, vec![(6, SOA)], vec![]),
        b"cut" => (0x8380, two[..1].to_vec(), vec![]),
        b"chaos" => (0x8180, vec![(16, b"\x03two".as_slice())], vec![]),
        b"missing" => (0x8183, vec![], vec![(6, SOA)]),
        b"rd" if recurses => (0x8185, vec![], vec![]),
        _ => (0x8180, two.to_vec(), vec![]),
    };
    let mut bytes = query[..2].to_vec();
    for word in [flags, 1, answers.len() as u16, authorities.len() as u16, 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(question);
    for (kind, data) in answers.iter().chain(&authorities) {
        let owner: &[u8] = if authorities.is_empty() {
            b"\xc0\x0c"
        } else {
            b"\x01a\x07example\x00"
        };
        bytes.extend(owner);
        bytes.extend(kind.to_be_bytes());
        bytes.extend(class.to_be_bytes());
        bytes.extend(300_u32.to_be_bytes());
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(*data);
    }
    bytes
}
