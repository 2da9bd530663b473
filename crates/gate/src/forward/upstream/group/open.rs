//! Opens a connection to a server: TCP, and TLS if configured, up to the end of the handshake.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use roundtrip_net::Plain;
use roundtrip_tls::join;
use rustls::HandshakeKind;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use super::{Group, GroupServer};
use crate::config::UpstreamProtocol;
use crate::forward::upstream::error::UpstreamError;
use crate::forward::upstream::wire::Wire;

#[derive(Debug)]
pub(in crate::forward::upstream) struct OpenedWire {
    pub(in crate::forward::upstream) wire: Wire,
    pub(in crate::forward::upstream) resumed: bool,
}

impl Group {
    /// With `fast_open`, the first write may open a clear-text connection. Names, TCP and TLS share
    /// one deadline.
    pub(in crate::forward::upstream) async fn open(
        &self,
        server: usize,
        fast_open: bool,
        deadline: Instant,
    ) -> Result<OpenedWire, UpstreamError> {
        let shown = self.shown(server);
        let server = self
            .servers
            .get(server)
            .ok_or_else(|| UpstreamError::NoneWell {
                upstream: self.name.clone(),
            })?;
        let began = Instant::now();
        let opening = self.open_unbounded(server, fast_open, deadline);
        let silent = || UpstreamError::Silent {
            server: shown.clone(),
            within: began.elapsed(),
        };
        let opened = match timeout_at(deadline, opening).await {
            // An address has its share of the time, and the kernel may give up even earlier.
            Ok(Err(UpstreamError::Connect { source, .. }))
                if source.kind() == io::ErrorKind::TimedOut =>
            {
                Err(silent())
            }
            Ok(opened) => opened,
            Err(_) => Err(silent()),
        };
        match &opened {
            Ok(opened) => {
                debug!(server = %shown, resumed = opened.resumed, took = ?began.elapsed(), "connected");
            }
            Err(error) => warn!(server = %shown, %error, "no connection"),
        }
        opened
    }

    async fn open_unbounded(
        &self,
        server: &GroupServer,
        fast_open: bool,
        deadline: Instant,
    ) -> Result<OpenedWire, UpstreamError> {
        let addresses = server.addresses().await?;
        let plain = connect(&addresses, fast_open, deadline).await;
        let plain = plain.map_err(|source| UpstreamError::Connect {
            server: server.shown.clone(),
            source,
        })?;
        let Some(config) = &self.tls else {
            return Ok(OpenedWire {
                wire: Wire::Clear(plain),
                resumed: false,
            });
        };
        let failed = |source| UpstreamError::Tls {
            server: server.shown.clone(),
            source,
        };
        let mut stream = join(plain, config, &server.address.name()).map_err(failed)?;
        stream.handshake().await.map_err(failed)?;
        let tls = stream.connection();
        let resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
        if self.config.protocol == UpstreamProtocol::H2 && tls.alpn_protocol() != Some(b"h2") {
            return Err(other_protocol(&server.shown, tls.alpn_protocol()));
        }
        Ok(OpenedWire {
            wire: Wire::Secure(Box::new(stream)),
            resumed,
        })
    }
}

/// Tries one address after another; each gets its share of the remaining time.
async fn connect(
    addresses: &[SocketAddr],
    fast_open: bool,
    deadline: Instant,
) -> io::Result<Plain> {
    let mut failure = io::ErrorKind::AddrNotAvailable.into();
    for (at, address) in addresses.iter().enumerate() {
        let now = Instant::now();
        let left = deadline.saturating_duration_since(now);
        let share = left / u32::try_from(addresses.len() - at).unwrap_or(u32::MAX);
        match timeout_at(now + share, Plain::connect(*address, fast_open)).await {
            Ok(Ok(plain)) => return Ok(plain),
            Ok(Err(error)) => failure = error,
            Err(_) => failure = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(failure)
}

fn other_protocol(server: &Arc<str>, chosen: Option<&[u8]>) -> UpstreamError {
    let chosen = chosen.map_or("nothing".into(), |p| {
        String::from_utf8_lossy(p).into_owned()
    });
    UpstreamError::Protocol {
        server: server.clone(),
        chosen,
    }
}
