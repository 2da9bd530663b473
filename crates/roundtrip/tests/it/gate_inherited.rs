//! What the service manager passes: sockets, which stay open while one process follows another, so
//! that no client is refused; and credentials. And its units.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use super::gate::{Running, User, backend};
use crate::skip;

/// Starts gate as a service manager does: the sockets are descriptors 3 and 4.
fn start(user: &User, config: &str, sockets: [&dyn AsRawFd; 2], lines: usize) -> (Running, String) {
    start_by(&[], user, config, sockets, lines)
}

/// The same by another program, which starts gate.
fn start_by(
    by: &[&str],
    user: &User,
    config: &str,
    sockets: [&dyn AsRawFd; 2],
    lines: usize,
) -> (Running, String) {
    let script = format!(
        "export LISTEN_FDS=2 LISTEN_PID=$$; exec \"$@\" 3<&{} 4<&{}",
        sockets[0].as_raw_fd(),
        sockets[1].as_raw_fd()
    );
    let gate = user.command(&["run", "--config", config]);
    let mut shell = Command::new("bash");
    shell.args(["-c", &script, "-"]).args(by);
    shell.arg(gate.get_program());
    shell
        .args(gate.get_args())
        .current_dir(gate.get_current_dir().unwrap());
    Running::spawn(&mut shell, lines)
}

/// Lets programs that this process starts use the descriptor.
fn pass_on(socket: &impl AsFd) {
    rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::empty()).unwrap();
}

/// A socket whose port is free for TCP as well. Closed connections keep thousands of ports for a
/// minute.
fn udp_beside_tcp() -> UdpSocket {
    let mut sockets = (0..100).map(|_| UdpSocket::bind(("127.0.0.1", 0)).unwrap());
    let is_free = |udp: &UdpSocket| TcpListener::bind(udp.local_addr().unwrap()).is_ok();
    sockets.find(is_free).unwrap()
}

fn config(user: &User, listen: &str) -> String {
    let backend = backend();
    user.write(
        "gate.toml",
        &format!(
            "[listen]\nthreads = 2\n{listen}\n[session]\nstore = \"memory:\"\n\
             [upstream.b]\nservers = [\"{backend}\"]\n[[route]]\nauth = false\nupstream = \"b\"\n"
        ),
    )
}

fn ask(port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .unwrap();
    stream
}

fn is_answered(mut stream: TcpStream) -> bool {
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 200 ")
}

#[test]
fn clients_that_come_between_two_processes_are_served_by_the_second() {
    let user = User::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = udp_beside_tcp();
    let (port, quic) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap());
    pass_on(&tcp);
    pass_on(&udp);
    // HTTP/3 has the port of HTTPS, whose TCP socket gate opens itself.
    let config = config(
        &user,
        &format!("http = [\"127.0.0.1:{port}\"]\nhttps = [\"{quic}\"]\nh3 = true"),
    );
    for _ in 0..2 {
        // They connect while no process serves.
        let waiting: Vec<_> = (0..20).map(|_| ask(port)).collect();
        let (mut gate, told) = start(&user, &config, [&tcp, &udp], 1);
        assert!(told.contains("gate: "), "{told}");
        assert!(waiting.into_iter().all(is_answered));
        for _ in 0..20 {
            assert!(is_answered(ask(port)));
        }
        let probe = Command::new(env!("CARGO_BIN_EXE_roundtrip"))
            .args(["probe", "--http3", "--insecure", "--json"])
            .arg(format!("https://{quic}/"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&probe.stdout);
        assert!(probe.status.success() && said.contains("\"h3\""), "{said}");
        gate.process.signal("TERM");
        assert!(gate.process.0.wait().unwrap().success());
    }
    // The socket has stayed as it was: it drops no SYN.
    let late = ask(port);
    let (_gate, _) = start(&user, &config, [&tcp, &udp], 1);
    assert!(is_answered(late));
}

#[test]
fn a_socket_that_nothing_uses_is_an_error() {
    let user = User::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    pass_on(&tcp);
    pass_on(&other);
    let (at, unused) = (tcp.local_addr().unwrap(), other.local_addr().unwrap());
    let config = config(&user, &format!("http = [\"{at}\"]\nh3 = false"));
    let (mut gate, told) = start(&user, &config, [&tcp, &other], 9);
    assert_eq!(gate.process.0.wait().unwrap().code(), Some(1), "{told}");
    let expected = format!("passed a socket for {unused} (TCP), which the configuration");
    assert!(told.contains(&expected), "{told}");
}

/// The kernel gives each of them a part of the clients.
#[test]
fn more_sockets_of_an_address_than_threads_are_an_error() {
    let user = User::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    pass_on(&tcp);
    let at = tcp.local_addr().unwrap();
    let config = config(&user, &format!("http = [\"{at}\"]\nh3 = false"));
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("threads = 2", "threads = 1")).unwrap();
    let (mut gate, told) = start(&user, &config, [&tcp, &tcp], 9);
    assert_eq!(gate.process.0.wait().unwrap().code(), Some(1), "{told}");
    assert!(told.contains("opened 2 sockets for it"), "{told}");
}

/// Whether this program of systemd is here; otherwise says so.
fn has(test: &str, program: &str) -> bool {
    let is_here = Command::new(program).arg("--version").output().is_ok();
    if !is_here {
        skip::lacking(test, program);
    }
    is_here
}

/// LoadCredential= of systemd.exec(5) makes files that their group can read, in a directory that
/// belongs to the service.
#[test]
fn sockets_and_credentials_that_systemd_passes_are_used() {
    const ACTIVATE: &str = "systemd-socket-activate";
    if !has(
        "sockets_and_credentials_that_systemd_passes_are_used",
        ACTIVATE,
    ) {
        return;
    }
    let user = User::new();
    let [tcp, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    pass_on(&tcp);
    pass_on(&other);
    let ports = [&tcp, &other].map(|socket| socket.local_addr().unwrap());
    let given = tempfile::tempdir().unwrap();
    let jwks = r#"{"keys":[{"kty":"oct","alg":"HS256","kid":"1","k":"QUJBQkFCQUJBQkFCQUJBQkFCQUJBQkFCQUJBQkFCQUI"}]}"#;
    for (name, secret) in [("token.key", &*"ab".repeat(40)), ("keys.json", jwks)] {
        let path = given.path().join(name);
        fs::write(&path, secret).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
    }
    let listen = format!("http = [\"{}\", \"{}\"]\nh3 = false", ports[0], ports[1]);
    let config = config(&user, &listen);
    let from = given.path().display();
    let more = format!(
        "[[token.key]]\nalgorithm = \"HS512\"\nfrom = {{ file = \"{from}/token.key\" }}\n\
         [token.jwks]\nfile = \"{from}/keys.json\"\nalgorithms = [\"HS256\"]\n"
    );
    let text = fs::read_to_string(&config).unwrap() + &more;
    fs::write(&config, text).unwrap();
    let client = ask(ports[0].port());
    let credentials = format!("CREDENTIALS_DIRECTORY={from}");
    let by = [ACTIVATE, "--setenv", &credentials];
    // Five lines of the program, and then gate's first.
    let (mut gate, told) = start_by(&by, &user, &config, [&tcp, &other], 6);
    assert!(told.contains("gate: http://"), "{told}");
    assert!(!told.contains("may read"), "{told}");
    assert!(is_answered(client));
    assert!(is_answered(ask(ports[1].port())));
    gate.process.signal("TERM");
    assert!(gate.process.0.wait().unwrap().success());
    // Elsewhere, such files are exposed.
    let _client = ask(ports[0].port());
    let (mut gate, told) = start_by(&by[..1], &user, &config, [&tcp, &other], 99);
    assert_eq!(gate.process.0.wait().unwrap().code(), Some(1), "{told}");
    assert!(told.contains("keys.json"), "{told}");
}

#[test]
fn systemd_understands_the_units() {
    const ANALYZE: &str = "systemd-analyze";
    if !has("systemd_understands_the_units", ANALYZE) {
        return;
    }
    let packaging = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
    let folder = tempfile::tempdir().unwrap();
    let units = ["gate.service", "gate.socket", "exporter.service"];
    let units = units.map(|name| format!("roundtrip-{name}"));
    for name in &units {
        let text = fs::read_to_string(format!("{packaging}/{name}")).unwrap();
        let program = env!("CARGO_BIN_EXE_roundtrip");
        let text = text.replace("/usr/local/bin/roundtrip", program);
        fs::write(folder.path().join(name), text).unwrap();
    }
    let mut verify = Command::new(ANALYZE);
    verify.args(["verify", "--man=no"]).args(&units);
    let said = verify.current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && text.is_empty(), "{text}");
}
