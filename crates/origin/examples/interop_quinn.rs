//! quinn as a client of the interop matrix (`scripts/interop`), with the same arguments and output
//! as our own (`interop.rs`).
//!
//! `interop_quinn CASE h3|hq-interop CA DIRECTORY HOST:PORT PATH...`

#[path = "interop_client/game.rs"]
mod game;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, VarInt};
use rustls::crypto::aws_lc_rs::cipher_suite;
use serde_json::{Value, json};
use tokio::time::sleep;

use game::{Fetch, Game, Result, fetch_all};

type H3 = h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>;

/// The wait for tickets, and between key updates.
const PAUSE: Duration = Duration::from_millis(200);
const MAX_BODY: usize = 64 << 20;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let game = Game::from_args()?;
    let config = config(game.tls.clone())?;
    let client = Client { game, config };
    let connections = client.run().await?;
    println!("{}", json!({ "connections": connections }));
    Ok(())
}

fn config(tls: rustls::ClientConfig) -> Result<ClientConfig> {
    let initial = cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    let initial = initial.and_then(rustls::Tls13CipherSuite::quic_suite);
    let quic = QuicClientConfig::with_initial(Arc::new(tls), initial.ok_or("no initial suite")?)?;
    Ok(ClientConfig::new(Arc::new(quic)))
}

struct Client {
    game: Game,
    config: ClientConfig,
}

impl Client {
    async fn run(&self) -> Result<Vec<Value>> {
        let paths = &self.game.paths[..];
        let visits: Vec<&[String]> = match self.game.case.as_str() {
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

    async fn visit(&self, paths: &[String]) -> Result<Value> {
        let runtime = Arc::new(quinn::TokioRuntime);
        let endpoint = Endpoint::new(
            quinn::EndpointConfig::default(),
            None,
            self.game.bind()?,
            runtime,
        )?;
        let connecting = endpoint.connect_with(self.config.clone(), self.game.server, "server")?;
        let (connection, early) = match connecting.into_0rtt() {
            Ok((connection, accepted)) => (connection, Some(accepted)),
            Err(connecting) => (connecting.await?, None),
        };
        let fetcher = self.fetcher(&connection).await?;
        if self.game.case == "keyupdate" {
            for _ in 0..2 {
                // Not before the handshake is confirmed, nor before the last update is
                // acknowledged: quinn does not see to it. RFC 9001 §6.1.
                fetch_all(&fetcher, paths.get(..1).unwrap_or_default()).await?;
                sleep(PAUSE).await;
                connection.force_key_update();
            }
        }
        let fetching = fetch_all(&fetcher, paths);
        if self.game.case == "connectionmigration" {
            let moving = async {
                sleep(PAUSE).await;
                Ok(endpoint.rebind(self.game.bind()?)?)
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
        connection.close(
            VarInt::from_u32(if self.game.is_h3 { 0x100 } else { 0 }),
            b"",
        );
        endpoint.wait_idle().await;
        Ok(json!({ "early_accepted": accepted }))
    }

    async fn fetcher(&self, connection: &Connection) -> Result<Fetcher> {
        let mut h3 = None;
        if self.game.is_h3 {
            let over = h3_quinn::Connection::new(connection.clone());
            let (mut driver, requests) = h3::client::new(over).await?;
            tokio::spawn(async move { driver.wait_idle().await });
            h3 = Some(requests);
        }
        Ok(Fetcher {
            connection: connection.clone(),
            h3,
            directory: self.game.directory.clone(),
        })
    }
}

#[derive(Clone)]
struct Fetcher {
    connection: Connection,
    h3: Option<H3>,
    directory: PathBuf,
}

impl Fetch for Fetcher {
    fn directory(&self) -> &Path {
        &self.directory
    }

    async fn fetch(self, path: &str) -> Result<Vec<u8>> {
        match self.h3 {
            Some(requests) => ask(requests, path).await,
            None => {
                let (mut sending, mut receiving) = self.connection.open_bi().await?;
                let line = format!("GET {path}\r\n");
                sending.write_all(line.as_bytes()).await?;
                sending.finish()?;
                Ok(receiving.read_to_end(MAX_BODY).await?)
            }
        }
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
