//! Our QUIC client for the interop matrix (`scripts/interop`): a case, an application protocol, and
//! what to fetch. It prints a JSON report on its connections.
//!
//! `interop CASE h3|hq-interop CA DIRECTORY HOST:PORT PATH...`

use std::error::Error;
use std::future::poll_fn;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use roundtrip_quic::{ClientConfig, Endpoint as Engine, Transport};
use roundtrip_quic_tokio::{
    Connection, Endpoint, H3Requests, MessagePart, connect, random_seed, request_lines,
    response_head,
};
use roundtrip_wire::h3::SectionLimits;
use roundtrip_wire::quic::Version;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{KeyLogFile, RootCertStore};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

type Failure = Box<dyn Error + Send + Sync>;
type Result<T> = std::result::Result<T, Failure>;

/// The time limit for what a second connection needs from the server, after the first answer.
const TICKET_PATIENCE: Duration = Duration::from_secs(3);
/// The pause between attempts to update the keys.
const PAUSE: Duration = Duration::from_millis(20);
const KEY_UPDATES: u64 = 2;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let mut word = || {
        words
            .next()
            .ok_or("interop CASE ALPN CA DIRECTORY HOST:PORT PATH...")
    };
    let (case, alpn, ca, directory, server) = (word()?, word()?, word()?, word()?, word()?);
    let mut client = Client {
        server: server.parse()?,
        config: config(&case, &alpn, &ca)?,
        is_h3: alpn == "h3",
        directory: directory.into(),
        case,
    };
    let paths: Vec<String> = words.collect();
    let connections = client.run(&paths).await?;
    println!("{}", json!({ "connections": connections }));
    Ok(())
}

fn config(case: &str, alpn: &str, ca: &str) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca)? {
        roots.add(certificate?)?;
    }
    let mut provider: CryptoProvider = default_provider();
    if case == "chacha20" {
        provider.cipher_suites = vec![cipher_suite::TLS13_CHACHA20_POLY1305_SHA256];
    }
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    tls.enable_early_data = case == "zerortt";
    tls.key_log = Arc::new(KeyLogFile::new());
    let mut config = ClientConfig::new(Arc::new(tls), Arc::new(Transport::default()));
    if case == "v2" {
        config.version = Version::V2;
    }
    Ok(config)
}

struct Client {
    case: String,
    server: SocketAddr,
    config: ClientConfig,
    is_h3: bool,
    directory: PathBuf,
}

impl Client {
    async fn run(&mut self, paths: &[String]) -> Result<Vec<Value>> {
        match self.case.as_str() {
            "resumption" | "zerortt" => {
                let (first, others) = paths.split_first().ok_or("it takes two paths")?;
                let before = self.visit(std::slice::from_ref(first), true).await?;
                Ok(vec![before, self.visit(others, false).await?])
            }
            // One connection for each path.
            "handshakeloss" | "handshakecorruption" => {
                let mut connections = Vec::new();
                for path in paths {
                    connections.push(self.visit(std::slice::from_ref(path), false).await?);
                }
                Ok(connections)
            }
            _ => Ok(vec![self.visit(paths, false).await?]),
        }
    }

    /// Makes one connection, and reports on it. If `lingers`, it stays until the server has given a
    /// ticket.
    async fn visit(&mut self, paths: &[String], lingers: bool) -> Result<Value> {
        let local: SocketAddr = if self.server.is_ipv4() {
            (Ipv4Addr::UNSPECIFIED, 0).into()
        } else {
            (Ipv6Addr::UNSPECIFIED, 0).into()
        };
        let seed = random_seed(default_provider().secure_random)?;
        let endpoint = Endpoint::new(UdpSocket::bind(local)?, Engine::new(None, seed))?;
        let connection = endpoint.connect(&self.config, self.server, "server")?;
        let early = connection.is_early();
        if !early {
            connection
                .connected()
                .await
                .map_err(|reason| format!("{reason:?}"))?;
        }
        let fetcher = self.fetcher(&connection).await?;
        if self.case == "keyupdate" {
            update_keys(&connection, &fetcher, paths).await?;
        }
        fetch_all(&fetcher, paths).await?;
        if lingers {
            self.config.token = timeout(TICKET_PATIENCE, connection.next_token())
                .await
                .ok()
                .flatten();
            sleep(10 * PAUSE).await;
        }
        let said = describe(&connection, early);
        drop(fetcher);
        connection.close(if self.is_h3 { 0x100 } else { 0 }, b"");
        timeout(TICKET_PATIENCE, endpoint.wait_idle()).await.ok();
        Ok(said)
    }

    async fn fetcher(&self, connection: &Connection) -> Result<Fetcher> {
        let h3 = if self.is_h3 {
            let limits = SectionLimits {
                fields: 100,
                size: 1 << 16,
            };
            let (requests, mut driver) = connect(connection, limits).await?;
            tokio::spawn(async move { poll_fn(|cx| driver.poll(cx)).await });
            Some(requests)
        } else {
            None
        };
        Ok(Fetcher {
            connection: connection.clone(),
            h3,
            directory: self.directory.clone(),
        })
    }
}

fn describe(connection: &Connection, early: bool) -> Value {
    let stats = connection.stats().unwrap_or_default();
    json!({
        "alpn": connection.alpn().map(|name| String::from_utf8_lossy(&name).into_owned()),
        "handshake": connection.handshake_kind().map(|kind| format!("{kind:?}")),
        "early": early,
        "early_accepted": connection.early_accepted(),
        "key_updates": stats.key_updates,
        "migrations": stats.migrations,
        "ecn": stats.ecn,
        "packets_lost": stats.packets_lost,
        "undecryptable": stats.undecryptable,
    })
}

/// Updates the keys, waits until the server has followed, and does it again. RFC 9001 §6.
async fn update_keys(connection: &Connection, fetcher: &Fetcher, paths: &[String]) -> Result<()> {
    for _ in 0..KEY_UPDATES {
        // Not until the last update is known to have arrived.
        while !connection.update_keys() {
            sleep(PAUSE).await;
        }
        fetch_all(fetcher, paths.get(..1).unwrap_or_default()).await?;
    }
    Ok(())
}

async fn fetch_all(fetcher: &Fetcher, paths: &[String]) -> Result<()> {
    let mut running = JoinSet::new();
    for path in paths {
        let (fetcher, path) = (fetcher.clone(), path.clone());
        running.spawn(async move { fetcher.fetch(&path).await });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

#[derive(Clone)]
struct Fetcher {
    connection: Connection,
    h3: Option<H3Requests>,
    directory: PathBuf,
}

impl Fetcher {
    async fn fetch(self, path: &str) -> Result<()> {
        let body = match &self.h3 {
            Some(requests) => ask(requests.clone(), path).await?,
            None => ask_barely(&self.connection, path).await?,
        };
        let name = path.rsplit('/').next().unwrap_or_default();
        Ok(std::fs::write(self.directory.join(name), body)?)
    }
}

async fn ask(requests: H3Requests, path: &str) -> Result<Vec<u8>> {
    let request = http::Request::get(format!("https://server{path}")).body(())?;
    let (mut sender, mut response) = requests.open().await?;
    sender.section(request_lines(&request));
    sender.finish().await?;
    let head = response_head(&response.head().await?)?;
    if head.status() != http::StatusCode::OK {
        return Err(format!("{path}: {}", head.status()).into());
    }
    let mut body = Vec::new();
    while let Some(part) = response.next(1 << 16).await? {
        if let MessagePart::Data(data) = part {
            body.extend_from_slice(&data);
        }
    }
    Ok(body)
}

async fn ask_barely(connection: &Connection, path: &str) -> Result<Vec<u8>> {
    let closed = |reason| format!("{reason:?}");
    let (mut sending, mut receiving) = connection.open_bi().await.map_err(closed)?;
    sending
        .write_chunk(Bytes::from(format!("GET {path}\r\n")))
        .await?;
    sending.finish()?;
    let mut body = Vec::new();
    while let Some(bytes) = receiving.read_chunk().await? {
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}
