//! Whether the store and each server answer. The checks change nothing there.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_model::Recorder;
use roundtrip_net::SystemClock;
use roundtrip_store::{Store, TakesOnce};
use roundtrip_tls::{Client, Offer, Roots};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use super::CheckReport;
use super::upstream::server;
use crate::config::meaning::{StoreKind, place};
use crate::config::{Config, Resumption, Upstream, UpstreamProtocol};
use crate::judge::acme::AcmeClient;
use crate::judge::openid::OpenIdProvider;

/// The store's own deadlines are shorter.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);
/// The name of a session that does not exist.
const NOBODY: &str = "roundtrip-gate-check";

/// Adds an error for each server that does not answer.
pub async fn reach(config: &Config, report: &mut CheckReport) {
    store(config, report).await;
    provider(config, report).await;
    authority(config, report).await;
    for (name, upstream) in &config.upstream {
        for (n, text) in upstream.servers.iter().enumerate() {
            // Invalid URLs were reported before.
            let Ok(url) = server(text) else { continue };
            if let Err(why) = ask(&url, upstream).await {
                let place = format!("upstream.{name}.servers[{n}]");
                report.error(place, format!("{text} does not answer: {why}"));
            }
        }
    }
}

/// The CA of `[acme]`.
async fn authority(config: &Config, report: &mut CheckReport) {
    let Some(acme) = &config.acme else {
        return;
    };
    if let Ok(client) = AcmeClient::new(acme)
        && let Err(error) = client.answers().await
    {
        report.error("acme.directory", error);
    }
}

async fn store(config: &Config, report: &mut CheckReport) {
    let session = &config.session;
    if StoreKind::parse(&session.store) == StoreKind::Memory {
        return;
    }
    // A missing file would be created.
    if let StoreKind::File(path) = StoreKind::parse(&session.store)
        && !path.exists()
    {
        return;
    }
    let found = match place(session) {
        Ok(place) => {
            let store = place.on_this_thread();
            let found = timeout(STORE_TIMEOUT, store.get(NOBODY)).await;
            if config.tls.resumption == Resumption::SingleUse
                && let Ok(Ok(_)) = found
            {
                let taken = timeout(STORE_TIMEOUT, store.take(NOBODY.as_bytes())).await;
                if let Ok(Err(error)) = taken {
                    let what = format!("clients cannot resume sessions of TLS: {error}");
                    report.error("tls.resumption", what);
                }
            }
            found
        }
        // Reported already when the configuration was checked, except for a damaged file.
        Err(error) => {
            if matches!(StoreKind::parse(&session.store), StoreKind::File(_)) {
                report.error("session.store", error);
            }
            return;
        }
    };
    match found {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => report.error("session.store", error),
        Err(_) => report.error("session.store", "the store did not answer in time"),
    }
}

/// Requests the provider's metadata and keys. Invalid settings were reported before.
async fn provider(config: &Config, report: &mut CheckReport) {
    let Some(login) = &config.login else {
        return;
    };
    if let Ok(provider) = OpenIdProvider::new(login)
        && let Err(error) = provider.answers().await
    {
        report.error("login.issuer", error);
    }
}

async fn ask(url: &Url, upstream: &Upstream) -> Result<(), String> {
    let bound = upstream.connect.0;
    match timeout(bound, connect(url, upstream)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("there was no answer within {bound:?}")),
    }
}

async fn connect(url: &Url, upstream: &Upstream) -> Result<(), String> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or(80);
    let stream = TcpStream::connect((host, port)).await;
    let stream = stream.map_err(|error: io::Error| error.to_string())?;
    if url.scheme() != "https" {
        return Ok(());
    }
    let roots = upstream.ca.clone().map_or(Roots::System, Roots::File);
    let tls = Client::new(roots, None).map_err(|error| error.to_string())?;
    let recorder = Recorder::new(Arc::new(SystemClock::start()));
    let mut stream = tls
        .connect(stream, &offer(upstream.protocol), host, &recorder)
        .map_err(|error| error.to_string())?;
    let handshake = stream.handshake().await;
    handshake.map_err(|error| format!("TLS: {error}"))?;
    let chosen = stream.connection().alpn_protocol();
    if upstream.protocol == UpstreamProtocol::H2 && chosen != Some(b"h2") {
        return Err("it does not speak HTTP/2; set protocol = \"h1\"".into());
    }
    Ok(())
}

fn offer(protocol: UpstreamProtocol) -> Offer {
    let alpn = match protocol {
        UpstreamProtocol::H1 => "http/1.1",
        UpstreamProtocol::H2 => "h2",
    };
    Offer {
        tls12: true,
        tls13: true,
        post_quantum: true,
        early_data: false,
        resume: false,
        alpn: vec![alpn],
        quic: false,
    }
}
