//! `gate run --log LEVEL`: each level has the events that the guide promises, and no others.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::process::{Process, eventually, wait_until};

struct LoggingGate {
    // Ended before its home is removed.
    process: Process,
    home: TempDir,
}

fn renew_certificate(home: &Path) {
    let made = rcgen::generate_simple_self_signed(["gate.test".to_owned()]).unwrap();
    let key = home.join("key.pem");
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(key, PermissionsExt::from_mode(0o600)).unwrap();
    fs::write(home.join("chain.pem"), made.cert.pem()).unwrap();
}

/// A gate whose backend does not exist.
fn write_config(home: &Path, more: &str) {
    let at = home.display();
    let config = format!(
        "[listen]\nhttp = [\"127.0.0.1:0\"]\nhttps = [\"127.0.0.1:0\"]\n\
         [[tls.certificate]]\nchain = \"{at}/chain.pem\"\nkey = \"{at}/key.pem\"\n\
         [[route]]\nupstream = \"b\"\nauth = false\n\
         [upstream.b]\nservers = [\"http://127.0.0.1:1\"]\n{more}"
    );
    fs::write(home.join("gate.toml"), config).unwrap();
}

impl LoggingGate {
    fn start(level: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
        command.args(["gate", "run", "--log", level, "--config", "gate.toml"]);
        Self::run(&mut command, "")
    }

    fn run(command: &mut Command, more: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        renew_certificate(home.path());
        write_config(home.path(), more);
        let log = fs::File::create(home.path().join("log")).unwrap();
        let spawned = command
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let gate = Self {
            home,
            process: Process(spawned.unwrap()),
        };
        gate.says("SIGHUP reloads");
        gate
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap()
    }

    /// Waits for this text, and returns all lines so far.
    fn says(&self, part: &str) -> String {
        let said = || Some(self.log()).filter(|log| log.contains(part));
        eventually(said).unwrap_or_else(|| panic!("{part} is not in {}", self.log()))
    }

    fn ask(&self) {
        let said = self.says("SIGHUP reloads");
        let (_, rest) = said.split_once("gate: http://").unwrap();
        let address = rest.split(',').next().unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let request = b"GET /secret HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        stream.write_all(request).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }

    /// Does everything that has an event, and returns the log of it.
    fn lives(mut self) -> String {
        self.ask();
        self.process.signal("HUP");
        self.says("the configuration was reloaded");
        write_config(self.home.path(), "[nonsense]\n");
        self.process.signal("HUP");
        self.says("the previous configuration stays in use");
        renew_certificate(self.home.path());
        self.says("chain.pem was replaced");
        self.process.signal("TERM");
        self.process.0.wait().unwrap();
        self.log()
    }
}

const DEBUG: [&str; 2] = [
    " DEBUG gate::accept::admission: a connection was accepted client=127.0.0.1 protocol=\"h1\"",
    " DEBUG gate::accept::thread: an exchange ended client=127.0.0.1 id=",
];
const INFO: [&str; 3] = [
    " INFO  gate::run::gate: the configuration was reloaded",
    " INFO  gate::run::gate: a certificate was replaced path=",
    " INFO  gate::run::gate: ended",
];
const WARN: [&str; 2] = [
    " WARN  gate::run::gate: the configuration was not reloaded error=",
    " WARN  gate::forward::upstream::group::open: no connection server=",
];

#[test]
fn each_level_has_the_events_that_are_promised() {
    for (level, shown, hidden) in [
        ("off", Vec::new(), [&DEBUG[..], &INFO, &WARN].concat()),
        ("warn", WARN.to_vec(), [&DEBUG[..], &INFO].concat()),
        ("info", [&INFO[..], &WARN].concat(), DEBUG.to_vec()),
        ("debug", [&DEBUG[..], &INFO, &WARN].concat(), Vec::new()),
    ] {
        let log = LoggingGate::start(level).lives();
        for event in shown {
            assert!(log.contains(event), "{level}: {event}: {log}");
        }
        for event in hidden {
            assert!(!log.contains(event), "{level}: {event}: {log}");
        }
        assert!(!log.contains("/secret"), "{level}: {log}");
    }
}

/// `ulimit -f` counts KiB.
#[test]
fn a_log_that_may_not_grow_ends_nothing() {
    let script = "ulimit -f 8; exec \"$0\" gate run --config gate.toml";
    let mut limited = Command::new("bash");
    limited.args(["-c", script, env!("CARGO_BIN_EXE_roundtrip")]);
    let gate = LoggingGate::run(&mut limited, "[log]\naccess = \"access.log\"\n");
    let size = || fs::metadata(gate.home.path().join("access.log")).map_or(0, |file| file.len());
    wait_until("8 KiB", || {
        gate.ask();
        size() >= 8 << 10
    });
    for _ in 0..50 {
        gate.ask();
    }
}
