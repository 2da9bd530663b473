//! The authenticating reverse proxy.

mod backend;
mod exchange;
mod h1;
mod halves;
mod request;

/// For measuring: relays until it is ended.
pub async fn relay(listener: tokio::net::TcpListener, to: std::net::SocketAddr) -> std::io::Result<()> {
    let backend = std::rc::Rc::new(backend::Backend::new(to, backend::PoolLimits::default()));
    loop {
        let (stream, peer) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let backend = backend.clone();
        tokio::task::spawn_local(async move {
            let client = exchange::Client::new(stream, peer.ip(), false);
            let _ = client.serve(&backend).await;
        });
    }
}
