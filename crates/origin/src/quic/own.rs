//! QUIC connections of our own engine: the same knobs, and `hq-interop` in addition to HTTP/3.

use std::sync::Arc;

use roundtrip_quic::{Retry, ServerConfig, Transport};
use roundtrip_quic_tokio::{Connection, Endpoint, Incoming, random_seed};
use roundtrip_wire::h3::Code;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{BEFORE_REQUESTS, HANDSHAKE_TIMEOUT, HandshakeConfig};
use crate::serve::carrier::OwnCarrier;
use crate::serve::{h3, hq};
use crate::site::OriginState;
use crate::tcp::ListenerContext;
use crate::{FaultKind, Knobs, OriginError};

const HQ: &str = "hq-interop";
/// ALPN protocols, preferred first.
pub(crate) const PROTOCOLS: [&str; 2] = ["h3", HQ];

pub(crate) fn engine(
    tls: rustls::ServerConfig,
    knobs: &Knobs,
) -> Result<roundtrip_quic::Endpoint, OriginError> {
    let seed = random_seed(tls.crypto_provider().secure_random)?;
    let transport = Transport {
        bidi_streams: knobs.http.streams.into(),
        given_up_code: Code::H3_REQUEST_INCOMPLETE.value(),
        ..Transport::default()
    };
    let mut config = ServerConfig::new(Arc::new(tls), Arc::new(transport));
    if knobs.listen.quic_retry {
        config.retry = Retry::Always;
    }
    config.tokens = u8::try_from(knobs.listen.quic_tokens).unwrap_or(u8::MAX);
    Ok(roundtrip_quic::Endpoint::new(Some(config), seed))
}

/// Accepts until the future is dropped, and its connections with it.
pub(crate) async fn accept(
    endpoint: Endpoint,
    handshake_config: HandshakeConfig,
    context: ListenerContext,
) {
    let mut connections = JoinSet::new();
    while let Some(incoming) = endpoint.accept().await {
        if let Some(link) = admit(incoming, &context.site) {
            let Ok(place) = context.places.clone().acquire_owned().await else {
                return;
            };
            let site = context.site.clone();
            connections.spawn(async move {
                serve_one(link, handshake_config, &site).await;
                site.counters.quic_over.increment();
                drop(place);
            });
        }
        while connections.try_join_next().is_some() {}
    }
}

fn admit(incoming: Incoming, site: &OriginState) -> Option<Connection> {
    match site.fault_at(&BEFORE_REQUESTS) {
        None => return Some(incoming.accept()),
        Some(FaultKind::Stall) => incoming.ignore(),
        Some(FaultKind::Reset | FaultKind::Close | FaultKind::Garbage) => incoming.refuse(),
    }
    None
}

async fn serve_one(link: Connection, handshake_config: HandshakeConfig, site: &Arc<OriginState>) {
    site.counters.quic_connections.increment();
    // An answer to early data leaves as soon as the ClientHello has stated the client's limits.
    let taken = async {
        if handshake_config.early_data {
            link.hello_received().await
        } else {
            link.connected().await
        }
    };
    if !matches!(timeout(HANDSHAKE_TIMEOUT, taken).await, Ok(Ok(()))) {
        return;
    }
    if link.alpn().is_some_and(|name| name == HQ.as_bytes()) {
        hq::serve(link.clone(), site.clone()).await;
    } else {
        h3::serve(OwnCarrier::new(link.clone()), site.clone()).await;
    }
    if let Some(stats) = link.stats() {
        site.counters.quic_key_updates.add(stats.key_updates);
        site.counters.quic_migrations.add(stats.migrations);
    }
}
