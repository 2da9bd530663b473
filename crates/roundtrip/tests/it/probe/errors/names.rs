//! Names, as the system's resolver file says: on an emulated path, with our name server.

use std::process::Command;
use std::time::Duration;

use roundtrip_path::Path;

use super::{advice, assert_failure, message};
use crate::probe::peer::Nginx;
use crate::probe::report::Report;
use crate::probe::run::{self, Job};
use crate::process::await_some;

const SCRIPT: &str = include_str!("../peer/name_server.py");

struct Scene {
    path: Path,
    directory: tempfile::TempDir,
    _server: Job,
}

impl Scene {
    fn start() -> Self {
        let path = Path::builder()
            .rtt(Duration::from_millis(4))
            .build()
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let address = path.server().address_v4().to_string();
        std::fs::write(
            file("resolv.conf"),
            format!("nameserver {address}\noptions timeout:1 attempts:2\n"),
        )
        .unwrap();
        let mut server = run::cleaned(path.server().command("python3"));
        server
            .args(["-c", SCRIPT, &address, &address])
            .arg(file("ready"));
        let mut server = Job::start(server);
        await_some("a name server", || {
            assert!(!server.has_ended(), "python3 does not run the name server");
            std::fs::metadata(file("ready"))
                .is_ok_and(|m| m.len() > 0)
                .then_some(())
        });
        Self {
            path,
            directory,
            _server: server,
        }
    }

    /// `probe`, with the scene's /etc/resolv.conf.
    fn probe(&self, arguments: &[&str]) -> Report {
        let mut command: Command = run::cleaned(self.path.client().command("unshare"));
        let conf = self.directory.path().join("resolv.conf");
        let mount = "mount --bind \"$0\" \"$(readlink -f /etc/resolv.conf)\" && exec \"$@\"";
        command.args(["--mount", "sh", "-c", mount]).arg(conf);
        command
            .args([env!("CARGO_BIN_EXE_roundtrip"), "probe", "--json"])
            .args(arguments);
        Report::from(run::said(command))
    }
}

#[test]
fn a_name_is_asked_where_the_file_says() {
    let scene = Scene::start();
    let server = scene.path.server();
    let _nginx = Nginx::within(server.command("nginx"), "198.18.0.2", "", "");
    let report = scene.probe(&["http://one.test/page"]);
    report.assert_status(200);
    assert_eq!(report.at("/name/source"), "server");
    assert_eq!(report.at("/name/server"), "198.18.0.2:53");
    assert_eq!(report.at("/name/ttl"), 60);
}

#[test]
fn a_name_that_is_none_or_that_nobody_knows() {
    let scene = Scene::start();
    for (name, kind, words) in [
        (
            "none.test",
            "no-such-name",
            "the name none.test does not exist",
        ),
        ("broken.test", "resolver-failed", "SERVFAIL"),
        (
            "silent.test",
            "resolver-silent",
            "no answer about silent.test",
        ),
    ] {
        let report = scene.probe(&[&format!("http://{name}/")]);
        assert_failure(&report, kind, "name");
        assert!(message(&report).contains(words), "{}", message(&report));
        assert!(
            message(&report).contains("198.18.0.2:53"),
            "{}",
            message(&report)
        );
        assert!(advice(&report).contains("--resolve") || advice(&report).contains("--doh-url"));
    }
}

#[test]
fn a_silent_resolver_does_not_outlast_the_limit() {
    let scene = Scene::start();
    let report = scene.probe(&["-m", "0.5", "http://silent.test/"]);
    assert_failure(&report, "resolver-silent", "name");
}
