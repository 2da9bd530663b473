//! TCP connections: accepted, counted, and passed to a fault or to their protocol.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use roundtrip_net::TcpInfo;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::connection::{EarlyFlag, TcpConnectionInfo};
use crate::fuse::{Fuse, FusedStream};
use crate::serve::{self, GARBAGE, STALL_TIME, h1, h2};
use crate::site::OriginState;
use crate::{FaultKind, FaultPhase, tls};

/// The time limit of a whole handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause after a failed accept, for example without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What a listener serves.
#[derive(Clone)]
pub(crate) enum ListenerRole {
    Clear,
    Tls(Arc<ServerConfig>),
    Echo,
}

#[derive(Clone)]
pub(crate) struct ListenerContext {
    pub(crate) site: Arc<OriginState>,
    pub(crate) places: Arc<Semaphore>,
    /// Whether to ask the kernel about data in the SYN.
    pub(crate) fast_open: bool,
}

/// Accepts until the future is dropped, and its connections with it.
pub(crate) async fn accept(listener: TcpListener, role: ListenerRole, context: ListenerContext) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((tcp, peer)) => {
                debug!(%peer, "a connection was accepted");
                // One connection beyond the limit is accepted but not served; the kernel holds the
                // others.
                let Ok(place) = context.places.clone().acquire_owned().await else {
                    return;
                };
                let (role, context) = (role.clone(), context.clone());
                connections.spawn(async move {
                    serve_one(tcp, role, &context).await;
                    drop(place);
                });
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_one(tcp: TcpStream, role: ListenerRole, context: &ListenerContext) {
    let site = &context.site;
    site.counters.tcp_connections.increment();
    if context.fast_open && TcpInfo::from_socket(&tcp).is_some_and(|info| info.took_syn_data()) {
        site.counters.fast_open_accepted.increment();
    }
    // Otherwise the second small write of an answer would wait for an acknowledgement.
    let _ = tcp.set_nodelay(true);
    let link = TcpConnectionInfo {
        fuse: Fuse::default(),
        secure: matches!(role, ListenerRole::Tls(_)),
        early: EarlyFlag::default(),
    };
    let wire = FusedStream::new(tcp, link.fuse.clone());
    match role {
        ListenerRole::Echo => crate::echo::serve(wire, &site.counters).await,
        ListenerRole::Clear => {
            let phases = [FaultPhase::Accept, FaultPhase::Hello, FaultPhase::Handshake];
            match site.fault_at(&phases) {
                Some(kind) => carry_out(wire, kind, &link).await,
                None => h1::serve(wire, BytesMut::new(), link, site.clone()).await,
            }
        }
        ListenerRole::Tls(config) => serve_tls(wire, &config, link, site).await,
    }
}

async fn serve_tls(
    mut wire: FusedStream,
    config: &Arc<ServerConfig>,
    link: TcpConnectionInfo,
    site: &Arc<OriginState>,
) {
    if let Some(kind) = site.fault_at(&[FaultPhase::Accept]) {
        return carry_out(wire, kind, &link).await;
    }
    for phase in [FaultPhase::Hello, FaultPhase::Handshake] {
        if let Some(kind) = site.fault_at(&[phase]) {
            let reached = timeout(HANDSHAKE_TIMEOUT, tls::approach(&mut wire, config, phase)).await;
            if matches!(reached, Ok(Ok(()))) {
                carry_out(wire, kind, &link).await;
            }
            return;
        }
    }
    let limit = HANDSHAKE_TIMEOUT.max(site.http.keep_alive);
    let handshake = tls::establish(wire, config, link.early.clone(), &site.counters);
    let Ok(Some((secure, first))) = timeout(limit, handshake).await else {
        return debug!("a TLS handshake failed");
    };
    if secure.is_h2() {
        h2::serve(serve::Prefixed::new(first, secure), link, site.clone()).await;
    } else {
        h1::serve(secure, first, link, site.clone()).await;
    }
}

/// Carries out a fault below HTTP.
async fn carry_out<IO: AsyncRead + AsyncWrite + Unpin>(
    mut io: IO,
    kind: FaultKind,
    link: &TcpConnectionInfo,
) {
    match kind {
        FaultKind::Reset => {
            // Earlier bytes should have been sent.
            sleep(serve::FLUSH_TIME).await;
            link.fuse.blow();
        }
        FaultKind::Close => end(io).await,
        FaultKind::Stall => {
            let _ = timeout(STALL_TIME, h1::drain(&mut io, usize::MAX)).await;
        }
        FaultKind::Garbage => {
            let _ = timeout(HANDSHAKE_TIMEOUT, io.write_all(GARBAGE)).await;
            end(io).await;
        }
    }
}

/// Sends FIN, then continues to read: closing with unread bytes would send RST.
async fn end<IO: AsyncRead + AsyncWrite + Unpin>(mut io: IO) {
    let _ = io.shutdown().await;
    let _ = timeout(Duration::from_secs(1), h1::drain(&mut io, usize::MAX)).await;
}
