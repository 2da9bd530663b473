//! Another process takes over the same addresses: every request is answered, by one or the other.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use bytes::Buf;
use roundtrip_gate::Gate;
use roundtrip_gate::config::Config;

use crate::lifecycle::quic::{Caller, run};
use crate::lifecycle::scene::{Client, PATIENCE, Scene, backend};
use crate::readings::h2::Connection;

/// Each process takes over from the one before.
const UPGRADES: usize = 3;
/// Requests of all clients before and after each step.
const REQUESTS: usize = 400;
/// Requests on one HTTP/2 connection, unless gate asks to leave it.
const ON_ONE: usize = 20;

/// Where clients send requests, and for which session.
#[derive(Clone)]
struct Target {
    http: SocketAddr,
    https: SocketAddr,
    /// One certificate for all processes.
    certificate: String,
    field: String,
}

/// The results of all clients.
#[derive(Default)]
struct Seen {
    served: AtomicUsize,
    lost: AtomicUsize,
    of_last: AtomicUsize,
    over: AtomicBool,
}

impl Seen {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn answer(&self, answered: Option<(u16, &str)>) {
        match answered {
            Some((200, body)) => {
                self.served.fetch_add(1, Ordering::SeqCst);
                let last = body.starts_with("last");
                self.of_last.fetch_add(usize::from(last), Ordering::SeqCst);
            }
            _ => {
                self.lost.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Waits until this many more requests have been answered.
    fn reach(&self, more: usize) {
        let until = self.served.load(Ordering::SeqCst) + more;
        let begun = Instant::now();
        while self.served.load(Ordering::SeqCst) < until && begun.elapsed() < PATIENCE {
            sleep(Duration::from_millis(2));
        }
    }
}

fn on_new_connections(to: &Target, seen: &Seen) {
    while !seen.is_over() {
        let got = Client::to(to.http).try_get("/", &to.field);
        seen.answer(got.as_ref().map(|(status, body)| (*status, body.as_str())));
    }
}

/// The client leaves its connection only when gate asks it to.
fn on_kept_connections(to: &Target, seen: &Seen) {
    while !seen.is_over() {
        let mut client = Client::to(to.http);
        while !seen.is_over() {
            let got = client.try_get("/", &to.field);
            seen.answer(got.as_ref().map(|(status, body)| (*status, body.as_str())));
            if got.is_none() || client.is_told_to_leave() {
                break;
            }
        }
    }
}

fn on_http_2(to: &Target, seen: &Seen) {
    let (_, value) = to.field.split_once(": ").unwrap();
    let fields: [(&str, &[u8]); 5] = [
        (":method", b"GET"),
        (":scheme", b"https"),
        (":authority", b"a.example"),
        (":path", b"/"),
        ("cookie", value.as_bytes()),
    ];
    while !seen.is_over() {
        let mut connection = Connection::open_to(to.https, &to.certificate, &[]);
        for _ in 0..ON_ONE {
            let id = connection.ask(&fields, true);
            let answered = connection.answer(id);
            let body = String::from_utf8(answered.body).unwrap();
            seen.answer(Some((answered.status, &body)));
            if answered.over {
                break;
            }
        }
    }
}

/// Kept connections, whichever process the kernel gives their datagrams to.
fn on_http_3(to: &Target, seen: &Seen) {
    run(async {
        let caller = Caller::to(to.https, &to.certificate);
        while !seen.is_over() {
            let connecting = caller.endpoint.connect(caller.to, "localhost").unwrap();
            match connecting.await {
                Ok(connection) => ask_until_told_to_leave(connection, to, seen).await,
                Err(error) => {
                    println!("no HTTP/3: {error}");
                    seen.answer(None);
                }
            }
        }
    });
}

async fn ask_until_told_to_leave(connection: quinn::Connection, to: &Target, seen: &Seen) {
    let carrier = h3_quinn::Connection::new(connection.clone());
    let Ok((mut driver, mut sender)) = h3::client::new(carrier).await else {
        return seen.answer(None);
    };
    let closing = async { std::future::poll_fn(|cx| driver.poll_close(cx)).await };
    let (name, value) = to.field.split_once(": ").unwrap();
    let asking = async {
        for _ in 0..10 * ON_ONE {
            let request = http::Request::get("https://localhost/").header(name, value);
            let Ok(mut stream) = sender.send_request(request.body(()).unwrap()).await else {
                // It may not begin another request.
                return;
            };
            let answered = async {
                stream.finish().await?;
                let status = stream.recv_response().await?.status().as_u16();
                let mut body = Vec::new();
                while let Some(mut data) = stream.recv_data().await? {
                    body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
                }
                Ok::<_, h3::error::StreamError>((status, String::from_utf8(body).unwrap()))
            };
            match answered.await {
                Ok((status, body)) => seen.answer(Some((status, &body))),
                Err(error) => {
                    println!("over HTTP/3: {error}");
                    return seen.answer(None);
                }
            }
        }
    };
    tokio::select! {
        biased;
        () = asking => {}
        _ = closing => {}
    }
    connection.close(0x100_u32.into(), b"");
}

fn clients(to: &Target, seen: &Arc<Seen>) -> Vec<JoinHandle<()>> {
    let kinds: [fn(&Target, &Seen); 4] = [
        on_new_connections,
        on_kept_connections,
        on_http_2,
        on_http_3,
    ];
    let each = kinds.into_iter().flat_map(|kind| [kind, kind]);
    each.map(|kind| {
        let (to, seen) = (to.clone(), seen.clone());
        thread::spawn(move || kind(&to, &seen))
    })
    .collect()
}

#[test]
fn processes_that_take_over_lose_no_request() {
    let ((first, _first), (last, _last)) = (backend("first"), backend("last"));
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let paths = ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], certified.cert.pem()).unwrap();
    std::fs::write(&paths[1], certified.signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(&paths[1], PermissionsExt::from_mode(0o600)).unwrap();
    let with_tls = |config: &mut Config| {
        let [chain, key] = paths.clone();
        config.tls.certificate = vec![roundtrip_gate::config::CertificateFiles { chain, key }];
    };
    let mut scene = Scene::tuned(first, "", |config| {
        config.listen.https = vec!["127.0.0.1:0".parse().unwrap()];
        config.listen.h3 = true;
        with_tls(config);
    });
    let field = scene.session("s1", "somebody:secret");
    let addresses = scene.gate().addresses().clone();
    let target = Target {
        http: addresses.http[0],
        https: addresses.https[0],
        certificate: certified.cert.pem(),
        field,
    };
    let seen = Arc::<Seen>::default();
    let clients = clients(&target, &seen);
    seen.reach(REQUESTS);
    for _ in 0..UPGRADES {
        // The configuration is the same, except for the upstream.
        let mut config = Scene::config(&scene.folder, last, "");
        config.listen.http = addresses.http.clone();
        config.listen.https = addresses.https.clone();
        config.listen.h3 = true;
        config.admin.listen = addresses.admin;
        with_tls(&mut config);
        let next = Gate::start(config, |_| ()).unwrap();
        assert_eq!(next.addresses(), &addresses);
        seen.reach(REQUESTS);
        let before = scene.gate.replace(next).unwrap();
        assert_eq!(before.drain(PATIENCE), 0, "nobody was cut off");
        seen.reach(REQUESTS);
    }
    seen.over.store(true, Ordering::SeqCst);
    for client in clients {
        client.join().unwrap();
    }
    let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    let (served, of_last) = (count(&seen.served), count(&seen.of_last));
    println!("{served} requests, {of_last} of them by later processes");
    assert_eq!(count(&seen.lost), 0, "of {served}");
    assert!(of_last >= UPGRADES * REQUESTS, "{of_last} of {served}");
    assert!(
        Client::to(target.http)
            .get("/", &target.field)
            .1
            .starts_with("last")
    );
}

/// Its admin address is taken, which is found last. Until then, the kernel must not give it
/// clients.
#[test]
fn a_process_that_cannot_start_takes_no_clients() {
    const ATTEMPTS: usize = 10;
    let (backend, _release) = backend("one");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = |http: SocketAddr, admin: SocketAddr| {
        let text = format!(
            "[listen]\nhttp = [\"{http}\"]\nthreads = 2\n[admin]\nlisten = \"{admin}\"\n\
             [session]\nstore = \"memory:\"\n[upstream.b]\nservers = [\"http://{backend}\"]\n\
             [[route]]\nauth = false\nupstream = \"b\"\n"
        );
        Config::parse(&text, "test").unwrap()
    };
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let gate = Gate::start(config(any, any), |_| ()).unwrap();
    let http = gate.addresses().http[0];
    let seen = Seen::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !seen.is_over() {
                    let answer = std::panic::catch_unwind(|| Client::to(http).get("/", ""));
                    let answer = answer.ok();
                    seen.answer(
                        answer
                            .as_ref()
                            .map(|(status, body)| (*status, body.as_str())),
                    );
                }
            });
        }
        for _ in 0..ATTEMPTS {
            let failed = Gate::start(config(http, taken.local_addr().unwrap()), |_| ());
            assert!(failed.is_err());
        }
        seen.over.store(true, Ordering::SeqCst);
    });
    assert_eq!(seen.lost.load(Ordering::SeqCst), 0);
}
