//! A listener on this thread that reports what it knows of each client, and clients.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use roundtrip_model::{Moment, Recorder};
use roundtrip_net::InheritedSockets;
use roundtrip_store::SharedStore;
use roundtrip_tls::{Client, Offer, Roots, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::accept::listener::*;
use crate::accept::stream::Stream as _;
use crate::config::{Authz, Limits, Listen, Tls};

pub(super) const WITHIN: Duration = Duration::from_secs(20);

/// Runs a test together with the servers that it starts.
pub(super) fn run<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let bounded = async { tokio::time::timeout(4 * WITHIN, test).await };
    let done = LocalSet::new().block_on(&runtime, bounded);
    done.expect("the test hangs")
}

pub(super) struct Scene {
    pub(super) http: SocketAddr,
    pub(super) https: SocketAddr,
    pub(super) side: Rc<TlsSide>,
    pub(super) tls: Rc<ThreadTls>,
    pub(super) quic: Rc<QuicListener>,
    /// Seconds since 1970, as tickets count them.
    pub(super) now: Arc<AtomicU64>,
    /// Why clients were not accepted.
    pub(super) unmet: Rc<std::cell::RefCell<Vec<String>>>,
    folder: tempfile::TempDir,
}

pub(super) struct Setting {
    pub(super) tls: Tls,
    pub(super) listen: Listen,
    pub(super) seed: u8,
    /// The number of threads; all of them are simulated on this thread.
    pub(super) threads: usize,
    pub(super) quic_memory: QuicMemory,
    pub(super) within: Duration,
    pub(super) place: Option<SharedStore>,
}

impl Default for Setting {
    fn default() -> Self {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        Self {
            tls: Tls::default(),
            listen: Listen {
                http: vec![any],
                https: vec![any],
                h3: true,
                ..Listen::default()
            },
            seed: 7,
            threads: 1,
            quic_memory: QuicMemory::new(1),
            within: WITHIN,
            place: None,
        }
    }
}

impl Scene {
    pub(super) fn start(setting: &Setting) -> Self {
        let seed = Arc::new(Seed::new(&[setting.seed; 32]));
        let now = Arc::new(AtomicU64::new(1_000_000_000));
        let hand = now.clone();
        let clock = move || UNIX_EPOCH + Duration::from_secs(hand.load(Ordering::Relaxed));
        let (tls, listen, place) = (&setting.tls, &setting.listen, setting.place.clone());
        let side = TlsSide::new(tls, listen, &seed, place, Arc::new(clock), None).unwrap();
        let mut sockets = Sockets::bind(
            &setting.listen,
            &Authz::default(),
            &seed,
            setting.threads,
            InheritedSockets::default(),
        )
        .unwrap();
        let (http, https) = (sockets.http()[0], sockets.https()[0]);
        let mine = sockets.of_thread().unwrap();
        let accept_config = Rc::new(AcceptConfig {
            tls: Rc::new(side.on_this_thread().unwrap()),
            proxies: setting.listen.proxy_protocol_from.clone(),
            fast_open: true,
        });
        let tls = accept_config.tls.clone();
        let unmet = Rc::default();
        for (listeners, secure) in [(mine.http, false), (mine.https, true)] {
            for listener in listeners {
                let listener = Listener::open(listener, 16, secure, Arc::default()).unwrap();
                let serving = serve(
                    listener,
                    accept_config.clone(),
                    setting.within,
                    Rc::clone(&unmet),
                );
                tokio::task::spawn_local(serving);
            }
        }
        let others: Vec<_> = std::iter::from_fn(|| sockets.of_thread()).collect();
        let all = [mine.quic]
            .into_iter()
            .chain(others.into_iter().map(|o| o.quic));
        let listeners = all.flatten().map(|(socket, sibling)| {
            let limits = Limits::default();
            let quic = QuicListener::open(
                socket,
                sibling,
                tls.clone(),
                &limits,
                setting.quic_memory,
                &seed,
            )
            .unwrap();
            let quic = Rc::new(quic);
            tokio::task::spawn_local(serve_quic(quic.clone()));
            quic
        });
        let listeners: Vec<_> = listeners.collect();
        let quic = listeners[0].clone();
        let folder = tempfile::tempdir().unwrap();
        if let Some(pem) = side.self_made() {
            std::fs::write(folder.path().join("ca.pem"), pem).unwrap();
        }
        Self {
            http,
            https,
            side: Rc::new(side),
            tls,
            quic,
            now,
            unmet,
            folder,
        }
    }

    pub(super) fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    pub(super) fn client(&self) -> Client {
        Client::new(Roots::File(self.ca()), None).unwrap()
    }

    pub(super) async fn connect(&self, client: &Client, offer: &Offer) -> Stream<TcpStream> {
        let tcp = TcpStream::connect(self.https).await.unwrap();
        let recorder = Recorder::new(Arc::new(Moment::ZERO));
        client.connect(tcp, offer, "localhost", &recorder).unwrap()
    }

    /// What the listener reports about a client that asks once.
    pub(super) async fn ask(&self, client: &Client, offer: &Offer) -> String {
        let mut stream = self.connect(client, offer).await;
        if !stream.takes_early_data() {
            stream.handshake().await.unwrap();
        }
        stream.write_all(b"ask\n").await.unwrap();
        stream.flush().await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        said
    }
}

pub(super) fn offer() -> Offer {
    Offer {
        tls12: true,
        tls13: true,
        post_quantum: true,
        early_data: false,
        resume: true,
        alpn: vec!["h2", "http/1.1"],
        quic: false,
    }
}

type Messages = Rc<std::cell::RefCell<Vec<String>>>;

async fn serve(
    listener: Listener,
    accept_config: Rc<AcceptConfig>,
    within: Duration,
    unmet: Messages,
) {
    loop {
        let arrival = listener.next().await;
        let (accept_config, unmet) = (accept_config.clone(), unmet.clone());
        tokio::task::spawn_local(async move {
            match Box::new(arrival).meet(&accept_config, within).await {
                Ok(met) => describe(met).await,
                Err(error) => unmet.borrow_mut().push(error.to_string()),
            }
        });
    }
}

/// Answers each stream that a client opens with what is known, and with more after the handshake.
async fn serve_quic(listener: Rc<QuicListener>) {
    while let Some(arrival) = listener.next().await {
        tokio::task::spawn_local(async move {
            let met = arrival.meet(WITHIN).await.unwrap();
            while let Ok((mut send, mut receive)) = met.link.accept_bi().await {
                let mut heard = 0;
                while let Some(bytes) = receive.read_chunk().await.unwrap() {
                    heard += bytes.len();
                }
                let said = format!(
                    "resumed={} accepted={} early={} heard={heard}",
                    met.facts.resumed,
                    met.facts.early_data,
                    !met.link.is_connected(),
                );
                send.write_chunk(said.into()).await.unwrap();
                if met.link.connected().await.is_ok() {
                    send.write_chunk(" confirmed".into()).await.unwrap();
                }
                send.finish().unwrap();
            }
        });
    }
}

/// Sends one line with everything that is known about the client, and closes.
async fn describe(mut met: AcceptedConnection) {
    let mut heard = Vec::new();
    while !heard.ends_with(b"\n") {
        let n = met.stream.read_buf(&mut heard).await.unwrap_or(0);
        if n == 0 {
            return;
        }
    }
    let early = matches!(&met.stream, ClientStream::Secure(secure) if secure.is_early());
    let mut said = format!(
        "peer={} resumed={} accepted={} early={early} heard={}",
        met.peer,
        met.facts.resumed,
        met.facts.early_data,
        heard.len(),
    );
    if let ClientStream::Secure(secure) = &mut met.stream {
        let version = met.facts.version.unwrap();
        said = format!("{said} h2={} version={version:?}", secure.is_h2());
        if early {
            // Half of the answer before the handshake's end, and half of it after.
            met.stream.write_all(said.as_bytes()).await.unwrap();
            met.stream.flush().await.unwrap();
            said.clear();
            if let ClientStream::Secure(secure) = &mut met.stream {
                std::future::poll_fn(|cx| secure.poll_confirmed(cx))
                    .await
                    .unwrap();
                assert!(!secure.is_early());
                said += " confirmed";
            }
        }
    }
    let _ = met.stream.write_all(said.as_bytes()).await;
    let _ = met.stream.shutdown().await;
    let _ = met.stream.read(&mut [0]).await;
}

/// What `openssl` received, and its own output.
pub(super) async fn s_client(scene: &Scene, arguments: &[&str], input: &str) -> String {
    let mut child = tokio::process::Command::new("openssl")
        .args(["s_client", "-quiet", "-connect"])
        .arg(scene.https.to_string())
        .arg("-CAfile")
        .arg(scene.ca())
        .args(arguments)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(input.as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    drop(pipe);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said + &String::from_utf8_lossy(&output.stderr)
}
