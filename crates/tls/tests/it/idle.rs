//! The memory that an idle server connection holds.

use std::process::Command;
use std::sync::Arc;

use roundtrip_tls::ServerStream;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

const WARMING: usize = 30;
const MEASURED: usize = 150;
const BODIES: [usize; 2] = [200, 100_000];
/// If idle connections kept the buffers of active ones, each would hold 64 KiB more.
const MAX_HELD: usize = 24 * 1024;
/// Set in the process that measures.
const ALONE: &str = "ROUNDTRIP_TLS_IDLE_ALONE";

type Peers = (Arc<ClientConfig>, Arc<ServerConfig>);

fn peers() -> Peers {
    let key = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(key.cert.der().clone()).unwrap();
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let private = PrivateKeyDer::try_from(key.signing_key.serialize_der()).unwrap();
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], private)
        .unwrap();
    server.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    (Arc::new(client), Arc::new(server))
}

/// A connection that has transferred much in both directions. Of the client only the bare socket is
/// left.
async fn used((client, server): &Peers, body: usize) -> (ServerStream<UnixStream>, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    let left = UnixStream::from_std(dup(&near)).unwrap();
    let asking = async move {
        let tls = ClientConnection::new(client.clone(), "localhost".try_into().unwrap()).unwrap();
        Client { io: near, tls }.run(body).await;
    };
    let answering = async {
        let mut stream = ServerStream::new(far, server.clone()).unwrap();
        stream.accept().await.unwrap();
        stream.read_exact(&mut vec![0; body]).await.unwrap();
        stream.write_all(&vec![7; body]).await.unwrap();
        stream.flush().await.unwrap();
        stream
    };
    let ((), mut stream) = tokio::join!(asking, answering);
    // The server waits for more, as real servers do.
    let mut byte = [0];
    tokio::select! {
        biased;
        _ = stream.read(&mut byte) => unreachable!("the client sends nothing"),
        () = std::future::ready(()) => {}
    }
    (stream, left)
}

fn dup(stream: &UnixStream) -> std::os::unix::net::UnixStream {
    use std::os::fd::AsFd;
    stream.as_fd().try_clone_to_owned().unwrap().into()
}

/// Sends a body, and reads one.
struct Client {
    io: UnixStream,
    tls: ClientConnection,
}

impl Client {
    async fn run(&mut self, body: usize) {
        use std::io::{Read, Write};
        let (mut unsent, mut heard) = (vec![7_u8; body], 0);
        let mut buffer = vec![0; 32 * 1024];
        while heard < body {
            if !self.tls.is_handshaking() && !unsent.is_empty() {
                let n = self.tls.writer().write(&unsent).unwrap();
                unsent.drain(..n);
            }
            let mut out = Vec::new();
            while self.tls.wants_write() {
                self.tls.write_tls(&mut out).unwrap();
            }
            self.io.write_all(&out).await.unwrap();
            if !unsent.is_empty() && !self.tls.is_handshaking() {
                continue;
            }
            let n = self.io.read(&mut buffer).await.unwrap();
            let mut rest = &buffer[..n];
            while !rest.is_empty() {
                self.tls.read_tls(&mut rest).unwrap();
                self.tls.process_new_packets().unwrap();
                let mut plain = [0; 16 * 1024];
                while let Ok(n @ 1..) = self.tls.reader().read(&mut plain) {
                    heard += n;
                }
            }
        }
    }
}

fn resident() -> usize {
    let facts = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = facts.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Measures in a separate process, where no other test allocates.
#[test]
fn an_idle_connection_holds_little() {
    if std::env::var_os(ALONE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        return runtime.unwrap().block_on(measure());
    }
    let this = "idle::an_idle_connection_holds_little";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", this, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let passed = output.status.success() && said.contains(" 1 passed;");
    assert!(passed, "{said}");
}

async fn measure() {
    let peers = peers();
    let mut kept = Vec::new();
    for body in BODIES {
        for _ in 0..WARMING {
            kept.push(used(&peers, body).await);
        }
        let before = resident();
        for _ in 0..MEASURED {
            kept.push(used(&peers, body).await);
        }
        let each = resident().saturating_sub(before) / MEASURED;
        eprintln!("after {body} bytes each way, an idle connection holds {each} bytes");
        assert!(each < MAX_HELD, "{each} bytes");
    }
    assert_eq!(kept.len(), BODIES.len() * (WARMING + MEASURED));
}
