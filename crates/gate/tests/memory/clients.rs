//! Thousands of clients in a separate process, so that their memory is not counted with that of
//! gate: each connects, sends one request, and keeps its connection. Used by the memory tests and
//! by the example `idle`.

use std::io::{BufRead, BufReader, Read, Write, stdin};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::tls_client::client_config;

const END: &str = "-----END CERTIFICATE-----";
const READY: &str = "all are in";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Clear,
    Secure,
    H2,
    H3,
}

pub(crate) const KINDS: [(&str, Kind); 4] = [
    ("h1", Kind::Clear),
    ("h1 over TLS", Kind::Secure),
    ("h2 over TLS", Kind::H2),
    ("h3", Kind::H3),
];

/// Connected until it is dropped.
pub(crate) struct IdleClients(Child);

impl IdleClients {
    /// `command` runs [`attend`]. Returns when each client has its answer.
    pub(crate) fn gather(
        mut command: Command,
        kind: Kind,
        to: SocketAddr,
        count: usize,
        certificate: &str,
    ) -> Self {
        let mut child = command
            .env("CLIENTS", format!("{kind:?} {to} {count}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let told = child.stdin.as_mut().unwrap();
        told.write_all(certificate.as_bytes()).unwrap();
        told.write_all(format!("\n{END}\n").as_bytes()).unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = said.any(|line| line.unwrap().contains(READY));
        assert!(ready, "they did not all get in");
        Self(child)
    }
}

impl Drop for IdleClients {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The work of the clients' process, until its standard input is closed.
pub(crate) fn attend() {
    let order = std::env::var("CLIENTS").unwrap();
    let words: Vec<&str> = order.split(' ').collect();
    let (to, count): (SocketAddr, usize) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    let pem: Vec<String> = stdin()
        .lines()
        .map(Result::unwrap)
        .take_while(|line| line != END)
        .collect();
    let pem = pem.join("\n") + "\n" + END + "\n";
    if words[0] == "H3" {
        return attend_h3(to, count, config(&pem, Some("h3")));
    }
    let mut all: Vec<Box<dyn Client>> = Vec::new();
    let h2 = (words[0] == "H2").then_some("h2");
    let tls = (words[0] != "Clear").then(|| Arc::new(config(&pem, h2)));
    for _ in 0..count {
        let stream = TcpStream::connect(to).unwrap();
        all.push(match (&tls, words[0]) {
            (None, _) => ask(stream),
            (Some(tls), "H2") => ask_h2(secure(tls, stream)),
            (Some(tls), _) => ask(secure(tls, stream)),
        });
    }
    wait();
    drop(all);
}

fn wait() {
    println!("{READY}");
    let _ = stdin().read_to_end(&mut Vec::new());
}

trait Client: Read + Write {}

impl<T: Read + Write> Client for T {}

fn config(pem: &str, protocol: Option<&str>) -> ClientConfig {
    let protocols: Vec<&[u8]> = protocol.map(str::as_bytes).into_iter().collect();
    client_config(Some(pem), &protocols, rustls::DEFAULT_VERSIONS)
}

pub(crate) type Secure = StreamOwned<ClientConnection, TcpStream>;

fn secure(config: &Arc<ClientConfig>, stream: TcpStream) -> Secure {
    stream.set_nodelay(true).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let tls = ClientConnection::new(config.clone(), name).unwrap();
    StreamOwned::new(tls, stream)
}

fn ask(mut stream: impl Client + 'static) -> Box<dyn Client> {
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
        .unwrap();
    let (mut answer, mut piece) = (Vec::new(), [0; 1024]);
    while !answer.ends_with(b"\r\n\r\nright") {
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..n]);
    }
    Box::new(stream)
}

/// RFC 9113 §3.4, §4.1, §6.2; RFC 7541 §6.1, §6.2.2.
fn ask_h2(mut stream: impl Client + 'static) -> Box<dyn Client> {
    const HEADERS: [u8; 14] = *b"\x82\x87\x84\x01\x09a.example";
    let mut opening = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    // HEADERS with END_STREAM and END_HEADERS, on stream 1.
    opening.extend([0, 0, HEADERS.len() as u8, 1, 5, 0, 0, 0, 1]);
    opening.extend(HEADERS);
    stream.write_all(&opening).unwrap();
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        stream.read_exact(&mut vec![0; length]).unwrap();
        match head {
            // SETTINGS that are not yet acknowledged.
            [_, _, _, 4, 0, ..] => stream.write_all(b"\0\0\0\x04\x01\0\0\0\0").unwrap(),
            // The end of stream 1.
            [_, _, _, 0 | 1, flags, ..] if flags & 1 == 1 => return Box::new(stream),
            [_, _, _, kind, ..] => assert!(kind != 3 && kind != 7, "reset or sent away"),
        }
    }
}

/// Runs all of them from one socket and one thread.
fn attend_h3(to: SocketAddr, count: usize, tls: ClientConfig) {
    let tls = QuicClientConfig::try_from(tls).unwrap();
    let mut config = quinn::ClientConfig::new(Arc::new(tls));
    let mut worn = quinn::TransportConfig::default();
    worn.max_idle_timeout(None);
    config.transport_config(Arc::new(worn));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let all = runtime.block_on(async {
        let endpoint = quinn::Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let mut all = Vec::new();
        for _ in 0..count {
            let begun = endpoint.connect_with(config.clone(), to, "localhost");
            let carrier = h3_quinn::Connection::new(begun.unwrap().await.unwrap());
            let (driver, mut sender) = h3::client::new(carrier).await.unwrap();
            let request = http::Request::get("https://a.example/").body(()).unwrap();
            let mut stream = sender.send_request(request).await.unwrap();
            stream.finish().await.unwrap();
            assert_eq!(stream.recv_response().await.unwrap().status(), 200);
            while stream.recv_data().await.unwrap().is_some() {}
            all.push((driver, sender));
        }
        // The last clients still have to acknowledge data.
        tokio::time::sleep(Duration::from_secs(1)).await;
        all
    });
    wait();
    drop(all);
}
