//! How soon a server that is back is noticed: until then, sessions continue by grace.

use std::net::TcpStream as BlockingStream;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_store::{Address, Redis, RedisSettings, Source, Store};
use tokio::io::AsyncReadExt;
use tokio::net::TcpSocket;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep};

use crate::{eventually, on_a_thread};

/// The promised time until a revocation takes effect.
const PROMISED: Duration = Duration::from_millis(100);

/// Runs in virtual time: a connect to a Unix socket succeeds or fails without waiting.
#[test]
fn a_server_is_noticed_as_soon_after_a_long_outage_as_after_a_short_one() {
    for away in [1, 10, 100, 1_000].map(Duration::from_secs) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        LocalSet::new().block_on(&runtime, async {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("socket");
            let settings = RedisSettings::new(Address::Unix(path.clone()));
            let store = Redis::new(Arc::new(settings));
            assert!(store.get("a").await.unwrap_err().is_outage());
            spawn_local(async move { store.changed().await });
            sleep(away).await;
            let listener = UnixListener::bind(&path).unwrap();
            listener.set_nonblocking(true).unwrap();
            let back = Instant::now();
            while listener.accept().is_err() {
                sleep(Duration::from_millis(1)).await;
                let waited = back.elapsed();
                assert!(waited < PROMISED, "away for {away:?}: {waited:?} and more");
            }
        });
    }
}

/// The kernel drops the SYN, as if it were lost on a path that is cut. The kernel repeats it later
/// than the store begins another connection.
#[test]
fn a_lost_syn_does_not_delay_the_next_attempt() {
    on_a_thread(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        // Only one connection can wait to be accepted.
        let listener = socket.listen(0).unwrap();
        let at = listener.local_addr().unwrap();
        let _first = BlockingStream::connect(at).unwrap();
        let plain = std::thread::spawn(move || BlockingStream::connect(at).unwrap());
        let mut settings = RedisSettings::new(Address::Tcp {
            host: at.ip().to_string(),
            port: at.port(),
        });
        settings.connect = Duration::from_secs(20);
        let store = Redis::new(Arc::new(settings));
        spawn_local(async move { store.check().await.map(drop) });
        // Both have sent a SYN.
        sleep(Duration::from_millis(50)).await;
        let _ = listener.accept().await.unwrap();
        let (mut next, _) = eventually("a connection", listener.accept()).await.unwrap();
        let mut word = [0; 32];
        let length = tokio::select! {
            read = next.read(&mut word) => read.unwrap(),
            () = sleep(Duration::from_secs(5)) => 0,
        };
        let said = String::from_utf8_lossy(&word[..length]);
        assert!(said.contains("HELLO"), "the plain connection was first");
        drop(listener);
        let _ = plain.join();
    });
}
