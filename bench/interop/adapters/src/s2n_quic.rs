//! s2n-quic as a client and as a server of the interop matrix, over rustls. It has no HTTP/3 of its
//! own, so it plays with HTTP/0.9.

mod game;

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, KeyLogFile, RootCertStore, ServerConfig};
use s2n_quic::client::Connect;
use s2n_quic::connection::Handle;
use s2n_quic::provider::endpoint_limits::{ConnectionAttempt, Limiter, Outcome};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls as tls;
use s2n_quic::stream::BidirectionalStream;
use s2n_quic::{Client, Connection, Server};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use game::{ClientGame, Game, MAX_LINE, Result, ServerGame};

const HANDSHAKE_TIMEOUT: Duration = Duration::from_mins(1);
/// The wait for tickets, and the time limit for the last packets of a connection.
const PAUSE: Duration = Duration::from_millis(300);
const MAX_STREAMS: u64 = 2000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match Game::from_args()? {
        Game::Client(game) => ask(Arc::new(game)).await,
        Game::Server(game) => serve(Arc::new(game)).await,
    }
}

fn limits() -> Result<Limits> {
    Ok(Limits::new()
        .with_max_handshake_duration(HANDSHAKE_TIMEOUT)?
        .with_max_open_local_bidirectional_streams(MAX_STREAMS)?
        .with_max_open_remote_bidirectional_streams(MAX_STREAMS)?)
}

fn provider(case: &str) -> Arc<CryptoProvider> {
    let mut provider = default_provider();
    if case == "chacha20" {
        provider.cipher_suites = vec![cipher_suite::TLS13_CHACHA20_POLY1305_SHA256];
    }
    Arc::new(provider)
}

async fn ask(game: Arc<ClientGame>) -> Result<()> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&game.authority)? {
        roots.add(certificate?)?;
    }
    let mut config = ClientConfig::builder_with_provider(provider(&game.case))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![game.protocol.clone().into_bytes()];
    config.key_log = Arc::new(KeyLogFile::new());
    let config = Arc::new(config);
    for paths in game.visits() {
        visit(&game, config.clone(), paths).await?;
    }
    Ok(())
}

async fn visit(game: &Arc<ClientGame>, config: Arc<ClientConfig>, paths: &[String]) -> Result<()> {
    let from = if game.server.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let mut client = Client::builder()
        .with_tls(tls::Client::from(config))?
        .with_io(from)?
        .with_limits(limits()?)?
        .start()?;
    let server = Connect::new(game.server).with_server_name("server");
    let connection = client.connect(server).await?;
    let mut running = JoinSet::new();
    for path in paths {
        running.spawn(fetch(game.clone(), connection.handle(), path.clone()));
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    sleep(PAUSE).await;
    connection.close(0_u8.into());
    timeout(PAUSE, client.wait_idle()).await.ok();
    Ok(())
}

async fn fetch(game: Arc<ClientGame>, mut connection: Handle, path: String) -> Result<()> {
    let mut stream = connection.open_bidirectional_stream().await?;
    stream.send(format!("GET {path}\r\n").into()).await?;
    stream.finish()?;
    let mut body = Vec::new();
    while let Some(part) = stream.receive().await? {
        body.extend_from_slice(&part);
    }
    game.save(&path, &body)
}

async fn serve(game: Arc<ServerGame>) -> Result<()> {
    let chain = CertificateDer::pem_file_iter(&game.certificate)?;
    let chain = chain.collect::<std::result::Result<Vec<_>, _>>()?;
    let mut config = ServerConfig::builder_with_provider(provider(&game.case))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(&game.key)?)?;
    config.alpn_protocols = vec![b"hq-interop".to_vec()];
    config.key_log = Arc::new(KeyLogFile::new());
    let mut server = Server::builder()
        .with_tls(tls::Server::from(config))?
        .with_io(game.address)?
        .with_limits(limits()?)?
        .with_endpoint_limits(Attempts {
            are_retried: game.case == "retry",
        })?
        .start()?;
    while let Some(connection) = server.accept().await {
        tokio::spawn(attend(game.clone(), connection));
    }
    Ok(())
}

struct Attempts {
    are_retried: bool,
}

impl Limiter for Attempts {
    fn on_connection_attempt(&mut self, _: &ConnectionAttempt) -> Outcome {
        if self.are_retried {
            Outcome::retry()
        } else {
            Outcome::allow()
        }
    }
}

async fn attend(game: Arc<ServerGame>, mut connection: Connection) {
    while let Ok(Some(stream)) = connection.accept_bidirectional_stream().await {
        let game = game.clone();
        tokio::spawn(async move {
            if let Err(error) = answer(&game, stream).await {
                eprintln!("a stream: {error}");
            }
        });
    }
}

async fn answer(game: &ServerGame, mut stream: BidirectionalStream) -> Result<()> {
    let mut line = Vec::new();
    while let Some(part) = stream.receive().await? {
        line.extend_from_slice(&part);
        if line.len() > MAX_LINE {
            return Err("the request is too long".into());
        }
    }
    stream
        .send(game.answer(&line).ok_or("no such document")?.into())
        .await?;
    Ok(stream.finish()?)
}
