//! TLS to servers: sessions are resumed, names and chains are verified.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use roundtrip_tls::ServerStream;
use rustls::{HandshakeKind, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::spawn_local;

use super::authority::Authority;
use super::scene::{ANY, ask, exchange, run, until, upstream};
use crate::forward::upstream::{Fate, UpstreamError};

/// Answers each request with a few bytes, and counts the handshakes that resumed a session.
async fn serve(config: Arc<ServerConfig>) -> (SocketAddr, Rc<Cell<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let resumed: Rc<Cell<usize>> = Rc::default();
    let count = resumed.clone();
    spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = ServerStream::new(stream, config.clone()).unwrap();
            let count = count.clone();
            spawn_local(async move {
                let mut buffer = [0; 1024];
                let mut first = true;
                while stream.read(&mut buffer).await.is_ok_and(|n| n > 0) {
                    let kind = stream.connection().handshake_kind();
                    if std::mem::take(&mut first) && kind == Some(HandshakeKind::Resumed) {
                        count.set(count.get() + 1);
                    }
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                    stream.write_all(answer).await.unwrap();
                    stream.flush().await.unwrap();
                }
            });
        }
    });
    (address, resumed)
}

#[test]
fn sessions_are_resumed_also_by_other_threads() {
    run(async || {
        let authority = Authority::new(&["http/1.1"]);
        let (address, resumed) = serve(authority.server.clone()).await;
        let upstream = upstream(&[format!("https://{address}")], |config| {
            config.ca = Some(authority.ca());
        });
        assert!(!exchange(&upstream).await);
        // Tickets that come after the answer do not count as unexpected bytes.
        assert!(exchange(&upstream).await);
        assert_eq!(resumed.get(), 0);
        let mut link = upstream.fresh(None, ANY).await.unwrap();
        assert!(link.is_secure() && !link.is_reused());
        ask(&mut link).await.unwrap();
        assert_eq!(resumed.get(), 1);
        // Another thread's upstream is made of the same group.
        let other = crate::forward::upstream::Upstream::new(upstream.group());
        assert!(!exchange(&other).await);
        assert_eq!(resumed.get(), 2);
        link.finish(Fate::Kept);
        let counts = upstream.group().counts();
        assert_eq!((counts.opened, counts.resumed, counts.reused), (3, 2, 1));
    });
}

#[test]
fn spare_connections_finish_their_handshake_unasked() {
    run(async || {
        let authority = Authority::new(&[]);
        let (address, _) = serve(authority.server.clone()).await;
        let upstream = upstream(&[format!("https://{address}")], |config| {
            config.ca = Some(authority.ca());
            config.warm = 1;
        });
        spawn_local(upstream.maintain());
        until(|| upstream.pools.spare(0, 1).is_none() && upstream.group().counts().opened == 1)
            .await;
        // The server's tickets may have come meanwhile.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert!(exchange(&upstream).await);
    });
}

#[test]
fn a_server_that_is_not_trusted_gets_nothing() {
    run(async || {
        let (one, other) = (Authority::new(&[]), Authority::new(&[]));
        let (address, _) = serve(one.server.clone()).await;
        for (host, ca, status) in [
            ("127.0.0.1", other.ca(), 502),
            // The certificate is for another name.
            ("localhost", one.ca(), 502),
        ] {
            let server = format!("https://{host}:{}", address.port());
            let upstream = upstream(&[server], |config| config.ca = Some(ca));
            spawn_local(upstream.group().clone().maintain());
            let trouble = upstream.lease(ANY).await.unwrap_err();
            assert!(matches!(trouble, UpstreamError::Tls { .. }), "{trouble}");
            assert_eq!(trouble.status(), status);
            assert!(trouble.to_string().contains(host), "{trouble}");
        }
    });
}
