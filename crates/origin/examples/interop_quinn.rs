//! quinn as a client of the interop matrix (`scripts/interop`), with the same arguments and output
//! as our own (`interop.rs`).
//!
//! `interop_quinn CASE h3|hq-interop CA DIRECTORY HOST:PORT PATH...`

use std::error::Error;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, VarInt};
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{KeyLogFile, RootCertStore};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

type Failure = Box<dyn Error + Send + Sync>;
type Result<T> = std::result::Result<T, Failure>;
type H3 = h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>;

/// The wait for tickets, and between key updates.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST: usize = 64 << 20;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let mut word = || {
        let usage = "interop_quinn CASE ALPN CA DIRECTORY HOST:PORT PATH...";
        words.next().ok_or(usage)
    };
    let (case, alpn, ca, directory, server) = (word()?, word()?, word()?, word()?, word()?);
    let client = Client {
        server: server.parse()?,
        config: config(&case, &alpn, &ca)?,
        is_h3: alpn == "h3",
        directory: directory.into(),
        case,
    };
    let paths: Vec<String> = words.collect();
    println!("{}", json!({ "connections": client.run(&paths).await? }));
    Ok(())
}

fn config(case: &str, alpn: &str, ca: &str) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca)? {
        roots.add(certificate?)?;
    }
    let mut provider = default_provider();
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
    let initial = cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    let initial = initial.and_then(rustls::Tls13CipherSuite::quic_suite);
    let quic = QuicClientConfig::with_initial(Arc::new(tls), initial.ok_or("no initial suite")?)?;
    Ok(ClientConfig::new(Arc::new(quic)))
}

struct Client {
    case: String,
    server: SocketAddr,
    config: ClientConfig,
    is_h3: bool,
    directory: PathBuf,
}

impl Client {
    async fn run(&self, paths: &[String]) -> Result<Vec<Value>> {
        let visits: Vec<&[String]> = match self.case.as_str() {
            "resumption" | "zerortt" => vec![&paths[..1], &paths[1..]],
            "handshakeloss" | "handshakecorruption" => paths.chunks(1).collect(),
            _ => vec![paths],
        };
        let mut said = Vec::new();
        for paths in visits {
            said.push(self.visit(paths).await?);
        }
        Ok(said)
    }

    fn bind(&self) -> std::io::Result<UdpSocket> {
        match self.server {
            SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)),
        }
    }

    async fn visit(&self, paths: &[String]) -> Result<Value> {
        let runtime = Arc::new(quinn::TokioRuntime);
        let endpoint = Endpoint::new(
            quinn::EndpointConfig::default(),
            None,
            self.bind()?,
            runtime,
        )?;
        let connecting = endpoint.connect_with(self.config.clone(), self.server, "server")?;
        let (connection, early) = match connecting.into_0rtt() {
            Ok((connection, accepted)) => (connection, Some(accepted)),
            Err(connecting) => (connecting.await?, None),
        };
        let fetcher = self.fetcher(&connection).await?;
        if self.case == "keyupdate" {
            for _ in 0..2 {
                connection.force_key_update();
                fetch_all(&fetcher, paths.get(..1).unwrap_or_default()).await?;
                sleep(PAUSE).await;
            }
        }
        let fetching = fetch_all(&fetcher, paths);
        if self.case == "connectionmigration" {
            let moving = async {
                sleep(PAUSE).await;
                Ok(endpoint.rebind(self.bind()?)?)
            };
            tokio::try_join!(fetching, moving)?;
        } else {
            fetching.await?;
        }
        let accepted = match early {
            Some(accepted) => Some(accepted.await),
            None => None,
        };
        sleep(PAUSE).await;
        connection.close(VarInt::from_u32(if self.is_h3 { 0x100 } else { 0 }), b"");
        endpoint.wait_idle().await;
        Ok(json!({ "early_accepted": accepted }))
    }

    async fn fetcher(&self, connection: &Connection) -> Result<Fetcher> {
        let mut h3 = None;
        if self.is_h3 {
            let over = h3_quinn::Connection::new(connection.clone());
            let (mut driver, requests) = h3::client::new(over).await?;
            tokio::spawn(async move { driver.wait_idle().await });
            h3 = Some(requests);
        }
        Ok(Fetcher {
            connection: connection.clone(),
            h3,
            directory: self.directory.clone(),
        })
    }
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
    h3: Option<H3>,
    directory: PathBuf,
}

impl Fetcher {
    async fn fetch(self, path: &str) -> Result<()> {
        let body = match self.h3 {
            Some(requests) => ask(requests, path).await?,
            None => {
                let (mut sending, mut receiving) = self.connection.open_bi().await?;
                let line = format!("GET {path}\r\n");
                sending.write_all(line.as_bytes()).await?;
                sending.finish()?;
                receiving.read_to_end(LONGEST).await?
            }
        };
        let name = path.rsplit('/').next().unwrap_or_default();
        Ok(std::fs::write(self.directory.join(name), body)?)
    }
}

async fn ask(mut requests: H3, path: &str) -> Result<Vec<u8>> {
    let request = http::Request::get(format!("https://server{path}")).body(())?;
    let mut stream = requests.send_request(request).await?;
    stream.finish().await?;
    let head = stream.recv_response().await?;
    if head.status() != http::StatusCode::OK {
        return Err(format!("{path}: {}", head.status()).into());
    }
    let mut body = Vec::new();
    while let Some(mut data) = stream.recv_data().await? {
        body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    Ok(body)
}
