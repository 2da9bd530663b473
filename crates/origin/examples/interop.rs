//! Our QUIC client for the interop matrix (`scripts/interop`): a case, an application protocol, and
//! what to fetch. It prints a JSON report on its connections.
//!
//! `interop CASE h3|hq-interop CA DIRECTORY HOST:PORT PATH...`

#[path = "interop_client/game.rs"]
mod game;

use std::future::{pending, poll_fn};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use roundtrip_quic::{ClientConfig, Endpoint as Engine, Transport};
use roundtrip_quic_tokio::{
    Connection, Endpoint, H3Requests, MessagePart, connect, random_seed, request_lines,
    response_head,
};
use roundtrip_tls::{Client, Offer, Roots};
use roundtrip_wire::h3::SectionLimits;
use roundtrip_wire::quic::Version;
use rustls::crypto::aws_lc_rs::default_provider;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use game::{Fetch, Game, Result, fetch_all};

/// The time limit for what a second connection needs from the server, after the first answer.
const TICKET_TIMEOUT: Duration = Duration::from_secs(3);
/// The pause between attempts to update the keys.
const PAUSE: Duration = Duration::from_millis(20);
const KEY_UPDATES: u64 = 2;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut game = Game::from_args()?;
    // Tickets, and the clock that their age is counted by, are those of `probe` and `rdap`.
    let offer = Offer {
        tls12: false,
        tls13: true,
        post_quantum: false,
        early_data: true,
        resume: true,
        alpn: Vec::new(),
        quic: true,
    };
    let memory = Client::new(Roots::Empty, None)?.config(&offer)?;
    game.tls.resumption = memory.resumption;
    game.tls.time_provider = memory.time_provider;
    let config = ClientConfig::new(Arc::new(game.tls.clone()), Arc::new(Transport::default()));
    let mut client = InteropClient { game, config };
    if client.game.case == "v2" {
        client.config.version = Version::V2;
    }
    let paths = client.game.paths.clone();
    let connections = client.run(&paths).await?;
    println!("{}", json!({ "connections": connections }));
    Ok(())
}

struct InteropClient {
    game: Game,
    config: ClientConfig,
}

impl InteropClient {
    async fn run(&mut self, paths: &[String]) -> Result<Vec<Value>> {
        match self.game.case.as_str() {
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
        let seed = random_seed(default_provider().secure_random)?;
        let endpoint = Endpoint::new(self.game.bind()?, Engine::new(None, seed))?;
        let connection = endpoint.connect(&self.config, self.game.server, "server")?;
        let early = connection.is_early();
        if !early {
            connection
                .connected()
                .await
                .map_err(|reason| format!("{reason:?}"))?;
        }
        let fetcher = self.fetcher(&connection).await?;
        if self.game.case == "keyupdate" {
            update_keys(&connection, &fetcher, paths).await?;
        }
        let fetching = fetch_all(&fetcher, paths);
        if self.game.case == "connectionmigration" {
            let moving = async {
                sleep(PAUSE).await;
                // Not before the handshake is confirmed.
                while endpoint.rebind(self.game.bind()?).is_err() {
                    sleep(PAUSE).await;
                }
                pending().await
            };
            tokio::select! {
                done = fetching => done?,
                failed = moving => return failed,
            }
        } else {
            fetching.await?;
        }
        if lingers {
            self.config.token = timeout(TICKET_TIMEOUT, connection.next_token())
                .await
                .ok()
                .flatten();
            sleep(10 * PAUSE).await;
        }
        let said = describe(&connection, early);
        drop(fetcher);
        connection.close(if self.game.is_h3 { 0x100 } else { 0 }, b"");
        timeout(TICKET_TIMEOUT, endpoint.wait_idle()).await.ok();
        Ok(said)
    }

    async fn fetcher(&self, connection: &Connection) -> Result<Fetcher> {
        let h3 = if self.game.is_h3 {
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
            directory: self.game.directory.clone(),
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

#[derive(Clone)]
struct Fetcher {
    connection: Connection,
    h3: Option<H3Requests>,
    directory: PathBuf,
}

impl Fetch for Fetcher {
    fn directory(&self) -> &Path {
        &self.directory
    }

    async fn fetch(self, path: &str) -> Result<Vec<u8>> {
        match self.h3 {
            Some(requests) => ask(requests, path).await,
            None => ask_barely(&self.connection, path).await,
        }
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
