//! Relays without a configuration, for examples, tests and benchmarks that measure gate.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};

use crate::accept::front;
use crate::accept::stream::Peer;
use crate::accept::thread::Thread;
use crate::config::{self, Config, Route};
use crate::forward::site::Site;
use crate::forward::upstream::{Group, Upstream};
use crate::judge::authenticator::Authenticator;
use crate::judge::guard::Sessions;

/// Relays until it is ended.
pub async fn relay(listener: TcpListener, to: SocketAddr) -> io::Result<()> {
    accept(listener, to, Authenticator::open(), false).await
}

/// Relays HTTP/2 without TLS until it is ended.
pub async fn relay_h2(listener: TcpListener, to: SocketAddr) -> io::Result<()> {
    let thread = thread(to, Authenticator::open(), false)?;
    loop {
        let (stream, peer) = met(&listener).await?;
        let thread = thread.clone();
        tokio::task::spawn_local(async move {
            let _ = front::h2::serve(stream, peer, &thread).await;
        });
    }
}

/// Relays the requests that the guard lets pass, until it is ended.
pub async fn guarded<S: Sessions + 'static>(
    listener: TcpListener,
    to: SocketAddr,
    authenticator: Authenticator<S>,
) -> io::Result<()> {
    accept(listener, to, authenticator, true).await
}

async fn accept<S: Sessions + 'static>(
    listener: TcpListener,
    to: SocketAddr,
    authenticator: Authenticator<S>,
    auth: bool,
) -> io::Result<()> {
    let thread = thread(to, authenticator, auth)?;
    loop {
        let (stream, peer) = met(&listener).await?;
        let thread = thread.clone();
        tokio::task::spawn_local(async move {
            let _ = front::h1::serve(stream, peer, &thread).await;
        });
    }
}

async fn met(listener: &TcpListener) -> io::Result<(TcpStream, Peer)> {
    let (stream, peer) = listener.accept().await?;
    stream.set_nodelay(true)?;
    let peer = Peer {
        address: peer.ip(),
        secure: false,
        resumed: false,
        asks: false,
    };
    Ok((stream, peer))
}

/// One route, to one backend.
fn thread<S: Sessions + 'static>(
    to: SocketAddr,
    authenticator: Authenticator<S>,
    auth: bool,
) -> io::Result<Rc<Thread<S>>> {
    let config = Config {
        route: vec![Route {
            upstream: "backend".into(),
            auth,
            ..Route::default()
        }],
        ..Config::default()
    };
    let backend = config::Upstream {
        servers: vec![format!("http://{to}")],
        ..config::Upstream::default()
    };
    let group = Group::new("backend", 0, &backend).map_err(io::Error::other)?;
    let backend = Upstream::new(&group);
    tokio::task::spawn_local(backend.maintain());
    let upstreams = [("backend".to_owned(), backend)].into();
    let site = Site::new(&config, authenticator, Arc::default(), &upstreams, None);
    let site = site.map_err(io::Error::other)?;
    let thread = Rc::new(Thread::new(site, Arc::default(), None, Arc::default()));
    let ticking = thread.clone();
    tokio::task::spawn_local(async move { ticking.deadlines.run().await });
    Ok(thread)
}
