//! The authenticating reverse proxy: `guard` says who passes, `credentials` what a session is worth, `exchange` carries.

mod backend;
pub mod config;
pub mod credentials;
mod door;
mod error;
mod exchange;
pub mod guard;
mod h1;
mod halves;
mod request;
mod secret;
mod upstream;

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use tokio::net::TcpListener;

pub use door::Door;
pub use error::GateError;
use guard::Sessions;
pub use secret::Secret;

/// For measuring: relays until it is ended.
pub async fn relay(listener: TcpListener, to: SocketAddr) -> io::Result<()> {
    accept(listener, to, Rc::new(Door::open())).await
}

/// For measuring: relays what the guard lets pass, until it is ended.
pub async fn guarded<S: Sessions + 'static>(
    listener: TcpListener,
    to: SocketAddr,
    door: Door<S>,
) -> io::Result<()> {
    accept(listener, to, Rc::new(door)).await
}

async fn accept<S: Sessions + 'static>(
    listener: TcpListener,
    to: SocketAddr,
    door: Rc<Door<S>>,
) -> io::Result<()> {
    let backend = Rc::new(backend::Backend::new(to, backend::PoolLimits::default()));
    loop {
        let (stream, peer) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (backend, door) = (backend.clone(), door.clone());
        tokio::task::spawn_local(async move {
            let client = exchange::Client::new(stream, peer.ip(), false);
            let _ = client.serve(&backend, &door).await;
        });
    }
}
