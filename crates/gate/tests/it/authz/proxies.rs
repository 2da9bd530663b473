//! Real proxies with the configurations of `packaging/authz`; only the addresses differ.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Asked, LOGIN, ask};
use crate::exchanges::raw_client::{Answer, RawClient, field};
use crate::external_program::{self, ExternalProgram};
use crate::readings::paths::spellings;
use crate::runtime;
use crate::server::Server;
use crate::skip;

/// Subrequests of one page.
const PAGE: usize = 30;

/// Fields that a proxy sets when it asks, or that say who asked for what. A client's never reach
/// the application, whether gate refuses them or the proxy removes them.
const CLAIMS: [&str; 15] = [
    "Forwarded",
    "X-Auth-Request-Redirect",
    "X-Auth-Request-User",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Method",
    "X-Forwarded-Port",
    "X-Forwarded-Proto",
    "X-Forwarded-Server",
    "X-Forwarded-Uri",
    "X-Original-Forwarded-For",
    "X-Original-Host",
    "X-Original-Method",
    "X-Original-URL",
    "X-Real-IP",
];

/// A backend that answers with the head that it got, and counts.
struct Application {
    at: SocketAddr,
    served: Arc<AtomicUsize>,
}

impl Application {
    fn start() -> Self {
        let served = Arc::<AtomicUsize>::default();
        let counter = served.clone();
        let at = RawClient::accept_each(move |mut client| {
            while let Some(message) = client.request() {
                counter.fetch_add(1, Ordering::SeqCst);
                let (head, length) = (&message.head, message.head.len());
                client.send(&format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{head}"
                ));
            }
        });
        Self { at, served }
    }

    fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }
}

fn packaged(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/authz");
    folder.join(name)
}

/// A file of `packaging/authz`, with the addresses of this test.
fn configuration(name: &str, at: SocketAddr, gate: SocketAddr, application: SocketAddr) -> String {
    let text = fs::read_to_string(packaged(name)).unwrap();
    let text = text.replace("http://:8080", &format!("http://:{}", at.port()));
    [
        ("127.0.0.1:8080", at),
        ("127.0.0.1:9190", gate),
        ("127.0.0.1:8000", application),
    ]
    .iter()
    .fold(text, |text, (name, address)| {
        text.replace(name, &address.to_string())
    })
}

fn nginx(asked: &Asked, application: SocketAddr) -> Option<ExternalProgram> {
    let gate = asked.http();
    ExternalProgram::start("nginx asks gate", &["nginx"], |directory, at| {
        let file = directory.join("settings");
        let head = external_program::nginx_head(directory);
        let own = configuration("nginx.conf", at, gate, application);
        fs::write(&file, format!("{head}{own}}}\n")).unwrap();
        external_program::nginx(directory, &file)
    })
}

fn caddy(asked: &Asked, application: SocketAddr) -> Option<ExternalProgram> {
    let gate = asked.http();
    ExternalProgram::start("Caddy asks gate", &["caddy"], |directory, at| {
        let file = directory.join("Caddyfile");
        fs::write(&file, configuration("Caddyfile", at, gate, application)).unwrap();
        let mut command = Command::new("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config"]);
        // Without a home directory, Caddy keeps its files in the current one.
        command.arg(&file).current_dir(directory);
        command
    })
}

fn haproxy(asked: &Asked, application: SocketAddr) -> Option<ExternalProgram> {
    let gate = asked.http();
    ExternalProgram::start("HAProxy asks gate", &["haproxy"], |directory, at| {
        let (file, script) = (directory.join("settings"), directory.join("gate.lua"));
        let own = configuration("haproxy.cfg", at, gate, application);
        let own = own.replace("gate-authz.lua", &script.display().to_string());
        fs::write(&file, own).unwrap();
        let lua = configuration("gate-authz.lua", at, gate, application);
        fs::write(&script, lua).unwrap();
        let mut command = Command::new("haproxy");
        command.arg("-db").arg("-f").arg(&file);
        command
    })
}

/// Over gRPC, whose answers also say what to remove from the request.
fn envoy(asked: &Asked, application: SocketAddr) -> Option<ExternalProgram> {
    const TEST: &str = "Envoy asks gate";
    let found = skip::installed("install-envoy");
    // `scripts/test` reports that it cannot be installed.
    let found = found.inspect_err(|why| eprintln!("SKIPPED {TEST}: {why}"));
    let program = found.ok()?;
    ExternalProgram::start(TEST, &[&program], |directory, at| {
        let file = directory.join("envoy.yaml");
        let addresses = [(8080, at), (9191, asked.grpc()), (8000, application)];
        let text = fs::read_to_string(packaged("envoy.yaml")).unwrap();
        let own = addresses.iter().fold(text, |text, (usual, address)| {
            let port = address.port();
            text.replace(
                &format!("port_value: {usual} "),
                &format!("port_value: {port} "),
            )
        });
        fs::write(&file, own).unwrap();
        let mut command = Command::new(&program);
        command.args(["--concurrency", "1", "--disable-hot-restart", "-c"]);
        command.arg(&file);
        command
    })
}

type Start = fn(&Asked, SocketAddr) -> Option<ExternalProgram>;

/// Checks what each proxy must do.
fn plays(start: Start) {
    let (asked, application) = (Asked::new(""), Application::start());
    let Some(proxy) = start(&asked, application.at) else {
        return;
    };
    let at = proxy.address;
    let cookie = format!("{}\r\n", asked.cookie);
    denies(at, &asked, &application);
    let passed = ask(
        at,
        "POST /x?y",
        &format!("{cookie}Content-Length: 0\r\nAuthorization: Basic eA==\r\n"),
    );
    let seen = passed.whole(200).body;
    assert!(seen.starts_with("POST /x?y HTTP/1.1"), "{seen}");
    assert_eq!(field(&seen, "authorization"), Some(LOGIN));
    assert_eq!(seen.to_lowercase().matches("\r\nauthorization:").count(), 1);
    assert!(ask(at, "GET /open/x", "").status() == 200);
    for name in CLAIMS {
        let answer = ask(at, "GET /open/x", &format!("{name}: forged\r\n"));
        let Answer::Whole(_, message) = answer else {
            panic!("{name}: {answer:?}");
        };
        assert!(!message.body.contains("forged"), "{name}: {message:?}");
    }
    no_tunnel(at);
    // The application drops what this field names. A proxy may also refuse it.
    let named = "Connection: keep-alive, X-Forwarded-For, X-Forwarded-Host, Authorization\r\n";
    let answer = ask(at, "GET /open/x", named);
    if answer.status() != 400 {
        let seen = answer.whole(200).body;
        let connection = field(&seen, "connection").unwrap_or_default();
        assert!(!connection.to_lowercase().contains("x-forwarded"), "{seen}");
    }
    // A page and all that belongs to it.
    let questions = asked.questions();
    assert_eq!(questions, 1);
    let clients: Vec<_> = (0..PAGE)
        .map(|n| {
            let mut client = RawClient::to(at);
            client.send(&format!(
                "GET /{n} HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n{cookie}\r\n"
            ));
            client
        })
        .collect();
    for mut client in clients {
        client.answer().whole(200);
    }
    assert_eq!(asked.questions(), questions, "the session was known");
    asked.revoke();
    let served = || ask(at, "GET /x", &cookie).status() == 200;
    let patience = (0..2000).take_while(|_| served()).count();
    assert!(patience < 2000, "it is never refused");
}

fn denies(at: SocketAddr, asked: &Asked, application: &Application) {
    let before = application.served();
    let denied = ask(at, "GET /x", "Authorization: Basic eA==\r\n").whole(401);
    assert!(
        denied
            .head
            .to_lowercase()
            .contains("www-authenticate: bearer"),
        "{denied:?}"
    );
    // Fields that a client adds are not believed.
    let claims = "X-Original-Method: GET\r\nX-Original-URL: http://open.example/open\r\nX-Original-URI: /open\r\n\
                  X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /open\r\nX-Forwarded-Host: open.example\r\n\
                  X-Forwarded-Proto: https\r\nX-Gate-Secret: x\r\n";
    let status = ask(at, "GET /x", claims).status();
    assert!(status >= 400, "{status}");
    assert_eq!(
        application.served(),
        before,
        "nothing went to the application"
    );
    // No client can claim an identity: the field is refused, or removed.
    let claim = format!("{}\r\nRemote-User: root\r\n", asked.cookie);
    let answer = ask(at, "GET /x", &claim);
    if answer.status() != 403 {
        let seen = answer.whole(200).body.to_lowercase();
        assert!(!seen.contains("remote-user"), "{seen}");
    }
    // What reaches the application in other words is something that gate itself would pass on.
    for path in spellings("/guarded/x", "/open", 0, 1) {
        let Ok(path) = std::str::from_utf8(&path) else {
            continue;
        };
        let Some(answer) = answer_for(at, path).filter(|answer| answer.status() == 200) else {
            continue;
        };
        let seen = answer.whole(200).body;
        let seen = seen.split(' ').nth(1).unwrap_or_default();
        let own = answer_for(asked.stage.http(), seen).map(|answer| answer.status());
        assert!(matches!(own, Some(502 | 503)), "{path}, {seen}: {own:?}");
    }
}

/// The application must not be asked to switch to another protocol, because gate would not judge
/// requests in it.
fn no_tunnel(at: SocketAddr) {
    for upgrade in [
        "h2c",
        "H2C",
        "h2c, websocket",
        "websocket, h2c",
        "h2c\r\nUpgrade: websocket",
        "websocket\r\nUpgrade: h2c",
        "TLS/1.0",
    ] {
        let fields = format!(
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {upgrade}\r\n\
             HTTP2-Settings: AAMAAABkAAQAAP__\r\n"
        );
        let stream = TcpStream::connect(at).unwrap();
        let head = format!("GET /open/x HTTP/1.1\r\nHost: site.example\r\n{fields}\r\n");
        (&stream).write_all(head.as_bytes()).unwrap();
        let answer = RawClient::new(stream).answer();
        // A proxy may also refuse it.
        if answer.status() == 200 {
            let seen = answer.whole(200).body.to_lowercase();
            assert!(!seen.contains("\r\nupgrade:"), "{upgrade}: {seen}");
        }
    }
}

/// `None` if the connection ends without an answer.
fn answer_for(at: SocketAddr, path: &str) -> Option<Answer> {
    let stream = TcpStream::connect(at).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n\r\n");
    (&stream).write_all(head.as_bytes()).ok()?;
    Some(RawClient::new(stream).answer()).filter(|answer| answer.status() > 0)
}

#[test]
fn nginx_asks_gate() {
    plays(nginx);
}

#[test]
fn caddy_asks_gate() {
    plays(caddy);
}

#[test]
fn haproxy_asks_gate() {
    plays(haproxy);
}

#[test]
fn envoy_asks_gate() {
    plays(envoy);
}

/// Redis counts what it is asked. One question, however many ask at once; none when it is known.
#[test]
fn thirty_subrequests_of_one_page_are_one_question_to_the_store() {
    let runtime = runtime();
    let test = "thirty_subrequests_of_one_page_are_one_question_to_the_store";
    let Some(server) = runtime.block_on(Server::start(test, &[])) else {
        return;
    };
    let asked = Asked::with_store(Some(&format!("unix:{}", server.socket().display())), "");
    let lookups = || {
        let told = runtime.block_on(async {
            let mut client = server.client().await;
            client.try_ask(&["INFO", "commandstats"]).await.unwrap()
        });
        let lines = String::from_utf8_lossy(told.bytes().unwrap()).into_owned();
        let calls = |line: &str| {
            let (_, rest) = line.split_once("calls=").unwrap();
            rest.split(',').next().unwrap().parse::<u64>().unwrap()
        };
        let reads = [
            "cmdstat_get:",
            "cmdstat_hgetall:",
            "cmdstat_hmget:",
            "cmdstat_mget:",
        ];
        let of_reads = lines
            .lines()
            .filter(|line| reads.iter().any(|read| line.starts_with(read)));
        of_reads.map(calls).sum::<u64>()
    };
    let before = lookups();
    let fields = format!(
        "X-Original-Method: GET\r\nX-Original-URL: https://site.example/x\r\n{}\r\n",
        asked.cookie
    );
    for page in 1..=2 {
        let clients: Vec<_> = (0..PAGE)
            .map(|_| {
                let mut client = RawClient::to(asked.http());
                client.send(&format!(
                    "GET /original HTTP/1.1\r\nHost: gate\r\n{fields}\r\n"
                ));
                client
            })
            .collect();
        for mut client in clients {
            client.answer().whole(200);
        }
        assert_eq!(lookups() - before, 1, "page {page}");
    }
}
