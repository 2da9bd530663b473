//! What the clients of the interop matrix share: their arguments, TLS, and how they fetch. How a
//! client makes connections belongs to its program.

use std::error::Error;
use std::future::Future;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, KeyLogFile, RootCertStore};
use tokio::task::JoinSet;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// One game of the matrix, as the command line describes it.
pub(crate) struct Game {
    pub(crate) case: String,
    pub(crate) is_h3: bool,
    pub(crate) server: SocketAddr,
    /// Where bodies are stored.
    pub(crate) directory: PathBuf,
    pub(crate) paths: Vec<String>,
    pub(crate) tls: ClientConfig,
}

impl Game {
    /// Reads `CASE h3|hq-interop CA DIRECTORY HOST:PORT PATH...`.
    pub(crate) fn from_args() -> Result<Self> {
        let mut words = std::env::args().skip(1);
        let mut word = || {
            let usage = " CASE ALPN CA DIRECTORY HOST:PORT PATH...";
            words
                .next()
                .ok_or_else(|| format!("{}{usage}", env!("CARGO_BIN_NAME")))
        };
        let (case, alpn, ca, directory, server) = (word()?, word()?, word()?, word()?, word()?);
        Ok(Self {
            tls: tls(&case, &alpn, &ca)?,
            is_h3: alpn == "h3",
            server: server.parse()?,
            directory: directory.into(),
            paths: words.collect(),
            case,
        })
    }

    /// Binds a socket of the server's address family.
    pub(crate) fn bind(&self) -> std::io::Result<UdpSocket> {
        match self.server {
            SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)),
        }
    }
}

fn tls(case: &str, alpn: &str, ca: &str) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca)? {
        roots.add(certificate?)?;
    }
    let mut provider: CryptoProvider = default_provider();
    if case == "chacha20" {
        provider.cipher_suites = vec![cipher_suite::TLS13_CHACHA20_POLY1305_SHA256];
    }
    let mut tls = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    tls.enable_early_data = case == "zerortt";
    tls.key_log = Arc::new(KeyLogFile::new());
    Ok(tls)
}

/// Requests over one connection.
pub(crate) trait Fetch: Clone + Send + 'static {
    fn directory(&self) -> &Path;

    /// Returns the body of the answer.
    fn fetch(self, path: &str) -> impl Future<Output = Result<Vec<u8>>> + Send;
}

/// Requests all paths at once, and stores the bodies.
pub(crate) async fn fetch_all(fetcher: &impl Fetch, paths: &[String]) -> Result<()> {
    let mut running = JoinSet::new();
    for path in paths {
        let (fetcher, path) = (fetcher.clone(), path.clone());
        running.spawn(async move {
            let file = fetcher
                .directory()
                .join(path.rsplit('/').next().unwrap_or_default());
            let body = fetcher.fetch(&path).await?;
            Ok::<(), Failure>(std::fs::write(file, body)?)
        });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}
