//! QUIC connections of quinn: the same knobs, HTTP/3 alone.

mod incoming;
mod redeemed;
mod transport;

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{
    Endpoint, EndpointConfig, Incoming, ServerConfig, TokioRuntime, ValidationTokenConfig,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::incoming::take_in;
use self::redeemed::UsedTokens;
use self::transport::transport_config;
use super::{BEFORE_REQUESTS, HANDSHAKE_TIMEOUT, HandshakeConfig};
use crate::serve::carrier::QuinnCarrier;
use crate::serve::h3;
use crate::site::OriginState;
use crate::tcp::ListenerContext;
use crate::{FaultKind, Knobs, OriginError};

const TOKEN_LIFETIME: Duration = Duration::from_hours(24);

pub(crate) fn crypto(tls: rustls::ServerConfig) -> Result<Arc<QuicServerConfig>, OriginError> {
    Ok(Arc::new(QuicServerConfig::try_from(tls)?))
}

pub(crate) fn open(
    socket: UdpSocket,
    crypto: Arc<QuicServerConfig>,
    knobs: &Knobs,
) -> io::Result<Endpoint> {
    let (tokens, streams) = (knobs.listen.quic_tokens, knobs.http.streams);
    let config = server_config(crypto, tokens, streams);
    let runtime = Arc::new(TokioRuntime);
    Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)
}

/// Makes the configuration. Each client that has proven its address gets `tokens` tokens, so that
/// its next connections are not challenged (RFC 9000, section 8.1.3).
fn server_config(
    crypto: Arc<dyn quinn::crypto::ServerConfig>,
    tokens: u32,
    streams: u32,
) -> ServerConfig {
    let mut given = ValidationTokenConfig::default();
    given
        .sent(tokens)
        .lifetime(TOKEN_LIFETIME)
        .log(Arc::new(UsedTokens::default()));
    let mut config = ServerConfig::with_crypto(crypto);
    config.validation_token_config(given);
    let mut transport = transport_config();
    transport.max_concurrent_bidi_streams(streams.into());
    config.transport_config(Arc::new(transport));
    config
}

/// Accepts connections until this future is dropped; that also ends the connections.
pub(crate) async fn accept(
    endpoint: Endpoint,
    handshake_config: HandshakeConfig,
    context: ListenerContext,
) {
    let mut connections = JoinSet::new();
    loop {
        let Some(incoming) = endpoint.accept().await else {
            return;
        };
        if let Some(incoming) = admit(incoming, handshake_config, &context.site) {
            let Ok(place) = context.places.clone().acquire_owned().await else {
                return;
            };
            let site = context.site.clone();
            connections.spawn(async move {
                serve_one(incoming, handshake_config, &site).await;
                site.counters.quic_over.increment();
                drop(place);
            });
        }
        while connections.try_join_next().is_some() {}
    }
}

fn admit(
    incoming: Incoming,
    handshake_config: HandshakeConfig,
    site: &OriginState,
) -> Option<Incoming> {
    if handshake_config.retry && !incoming.remote_address_validated() {
        // RFC 9000, section 8.1.2.
        if incoming.retry().is_ok() {
            site.counters.quic_retries.increment();
        }
        return None;
    }
    // The token of a Retry validates the address as well, and forbids a second Retry.
    if incoming.remote_address_validated() && incoming.may_retry() {
        site.counters.quic_tokens_taken.increment();
    }
    match site.fault_at(&BEFORE_REQUESTS) {
        None => return Some(incoming),
        Some(FaultKind::Stall) => incoming.ignore(),
        Some(FaultKind::Reset | FaultKind::Close | FaultKind::Garbage) => incoming.refuse(),
    }
    None
}

async fn serve_one(incoming: Incoming, handshake_config: HandshakeConfig, site: &Arc<OriginState>) {
    site.counters.quic_connections.increment();
    let taken = timeout(
        HANDSHAKE_TIMEOUT,
        take_in(incoming, handshake_config.early_data),
    )
    .await;
    if let Ok(Ok((connection, confirmation))) = taken {
        h3::serve(QuinnCarrier::new(connection, confirmation), site.clone()).await;
    }
}
