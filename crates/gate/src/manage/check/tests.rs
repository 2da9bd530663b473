//! Everything that would prevent a start is found, and named by its key.

mod faults;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tempfile::TempDir;

use super::*;
use crate::config::Home;

/// 2026-01-01.
const NOW: u64 = 1_767_225_600;

/// A directory with everything that a start needs, and a configuration that uses it.
struct ConfigDirectory {
    folder: TempDir,
    text: String,
}

impl ConfigDirectory {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        home.furnish().unwrap();
        let bench = Self {
            folder,
            text: SOUND.into(),
        };
        bench.certify("own", "mail.example", 2027);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8], mode: u32) {
        fs::write(self.path(name), bytes).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Makes a certificate for a host, valid from the year before until the end of January of
    /// `year`.
    fn certify(&self, file: &str, host: &str, year: i32) {
        self.certify_since(year - 1, file, host, year);
    }

    fn certify_since(&self, since: i32, file: &str, host: &str, year: i32) {
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.not_before = date_time_ymd(since, 1, 1);
        params.not_after = date_time_ymd(year, 1, 31);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        self.write(&format!("{file}.pem"), certificate.pem().as_bytes(), 0o644);
        let pem = key.serialize_pem();
        self.write(&format!("{file}.key"), pem.as_bytes(), 0o600);
    }

    /// Checks the configuration with some words replaced.
    fn but(&self, changes: &[(&str, &str)]) -> CheckReport {
        let mut text = self.text.clone();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        self.check(&text)
    }

    fn check(&self, text: &str) -> CheckReport {
        let config = self.config(text);
        check(&config, UNIX_EPOCH + Duration::from_secs(NOW))
    }

    fn config(&self, text: &str) -> Config {
        let text = text.replace("DIR", &self.folder.path().display().to_string());
        Config::parse(&text, "test").unwrap()
    }
}

const SOUND: &str = r#"
[listen]
http = ["127.0.0.1:8080"]
https = ["127.0.0.1:8443"]
h3 = true
[[tls.certificate]]
chain = "DIR/own.pem"
key = "DIR/own.key"
[[token.key]]
algorithm = "HS512"
from = { file = "DIR/home/token.key" }
[session]
store = "redb:DIR/home/sessions.redb"
[[session.seal]]
id = "a"
from = { file = "DIR/home/seal.key" }
[upstream.backend]
servers = ["http://127.0.0.1:8000"]
[[route]]
upstream = "backend"
"#;

/// The findings, each as "error place: what".
fn told(report: &CheckReport) -> Vec<String> {
    let line = |f: &ConfigFinding| {
        let severity = match f.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        format!("{severity} {}: {}", f.place, f.what)
    };
    report.findings.iter().map(line).collect()
}

#[test]
fn a_valid_configuration_passes() {
    let report = ConfigDirectory::new().but(&[]);
    assert_eq!(told(&report), [""; 0]);
    assert_eq!(
        report.https_records,
        ["mail.example. 300 IN HTTPS 1 . alpn=\"h3,h2\" port=8443"]
    );
    let home = tempfile::tempdir().unwrap();
    let home = Home::at(home.path());
    home.furnish().unwrap();
    assert_eq!(told(&check(&home.config(), SystemTime::now())), [""; 0]);
}

/// Each change causes exactly the expected findings.
#[test]
fn each_fault_is_named() {
    let bench = ConfigDirectory::new();
    bench.write(
        "open.key",
        b"0123456789012345678901234567890123456789",
        0o640,
    );
    bench.write(
        "world.key",
        b"0123456789012345678901234567890123456789",
        0o644,
    );
    let own = fs::read(bench.path("own.key")).unwrap();
    bench.write("shared.key", &own, 0o640);
    bench.write("everybodys.key", &own, 0o644);
    bench.write("short.key", b"canary", 0o600);
    bench.certify("other", "mail.example", 2027);
    bench.certify("old", "mail.example", 2025);
    bench.certify("soon", "mail.example", 2026);
    bench.certify("later", "mail.example", 2028);
    for (from, to, expected) in faults::CASES {
        let report = bench.but(&[(from, to)]);
        let told = told(&report);
        assert_eq!(told.len(), expected.len(), "{from} → {to}: {told:#?}");
        for (told, expected) in told.iter().zip(*expected) {
            assert!(told.starts_with(expected), "{told}");
            assert!(!told.contains("canary") && !told.contains('\n'), "{told}");
        }
        let errors = expected.iter().any(|e| e.starts_with("error"));
        assert_eq!(report.passes(), !errors, "{told:?}");
    }
}

/// Root may write anywhere, so as root nothing is found.
#[test]
fn sessions_are_not_stored_in_another_users_directory() {
    let bench = ConfigDirectory::new();
    let home = bench.path("home");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o500)).unwrap();
    let may_write = fs::write(home.join("try"), "").is_ok();
    let told = told(&bench.but(&[]));
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    let found = told.concat().contains("cannot create a file in");
    assert_eq!(found, !may_write, "{told:?}");
}

#[test]
fn a_certificate_is_warned_of_two_weeks_before() {
    let bench = ConfigDirectory::new();
    bench.certify("soon", "mail.example", 2026);
    let config = bench.config(&SOUND.replace("own.", "soon."));
    let expiry = NOW + 30 * 24 * 3600;
    let at = |seconds| told(&check(&config, UNIX_EPOCH + Duration::from_secs(seconds)));
    assert_eq!(at(expiry - 15 * 24 * 3600), [""; 0]);
    let soon = at(expiry - 13 * 24 * 3600 - 1);
    assert!(
        soon[0].contains("warning tls.certificate[0].chain: the certificate expires in 13 days"),
        "{soon:?}"
    );
    assert!(at(expiry + 3601)[0].contains("expired an hour ago"));
}

#[test]
fn all_is_told_at_once() {
    let report = ConfigDirectory::new().but(&[
        ("HS512", "none"),
        ("own.pem", "x"),
        ("8443", "8080"),
        ("http://127", "ftp://127"),
    ]);
    assert_eq!(report.findings.len(), 4, "{:?}", told(&report));
    assert!(report.https_records.is_empty());
}

#[test]
fn an_empty_file_says_what_is_needed() {
    let bench = ConfigDirectory::new();
    let told = told(&bench.check(""));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("error listen: ") && told[1].starts_with("error route: "));
}

#[test]
fn the_template_wants_nothing_but_its_key() {
    let report = ConfigDirectory::new().check(crate::config::template::TEMPLATE);
    let places: Vec<&str> = report.findings.iter().map(|f| f.place.as_str()).collect();
    assert_eq!(places, ["token.key[0].from", "session.store"]);
}

fn reached(config: &Config) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut report = CheckReport::default();
    runtime.block_on(reach(config, &mut report));
    told(&report)
}

#[test]
fn servers_and_stores_that_are_there_are_reached() {
    let bench = ConfigDirectory::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = format!("http://{}", listener.local_addr().unwrap());
    let config = bench.config(&SOUND.replace("http://127.0.0.1:8000", &here));
    assert_eq!(reached(&config), [""; 0]);
    // The check created nothing.
    assert!(!bench.path("home/sessions.redb").exists());
    bench.write("home/sessions.redb", b"no database", 0o600);
    drop(listener);
    let told = reached(&config);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("error session.store: "), "{told:?}");
    let gone = format!("error upstream.backend.servers[0]: {here} does not answer: ");
    assert!(told[1].starts_with(&gone), "{told:?}");
}

#[test]
fn a_redis_that_is_not_there_is_said_to_be_down() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut config = Config::default();
    config.session.store = format!("redis://{address}");
    let told = reached(&config);
    assert!(
        told[0].starts_with("error session.store: the session store is down"),
        "{told:?}"
    );
}

/// A server with `protocol = "h2"` must speak HTTP/2, and its certificate must be trusted.
#[test]
fn tls_is_tried_as_it_would_be_used() {
    let bench = ConfigDirectory::new();
    bench.certify_since(2000, "server", "localhost", 2095);
    let server = plain_tls_server(&bench);
    let text = SOUND.replace(
        "http://127.0.0.1:8000",
        &format!("https://localhost:{server}"),
    );
    let told = reached(&bench.config(&text));
    assert!(told[0].contains("does not answer: TLS: "), "{told:?}");
    let vouched = text.replace(
        "[upstream.backend]",
        "[upstream.backend]\nca = \"DIR/server.pem\"",
    );
    assert_eq!(reached(&bench.config(&vouched)), [""; 0]);
    let h2 = vouched.replace(
        "[upstream.backend]",
        "[upstream.backend]\nprotocol = \"h2\"",
    );
    let told = reached(&bench.config(&h2));
    assert!(told[0].contains("does not speak HTTP/2"), "{told:?}");
}

/// A TLS server without ALPN. Its threads end with the process.
fn plain_tls_server(bench: &ConfigDirectory) -> u16 {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let chain = CertificateDer::from_pem_file(bench.path("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(bench.path("server.key")).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .unwrap();
    let config = std::sync::Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (config, mut stream) = (config.clone(), stream.unwrap());
            std::thread::spawn(move || {
                let mut tls = rustls::ServerConnection::new(config).unwrap();
                while tls.is_handshaking() && tls.complete_io(&mut stream).is_ok() {}
            });
        }
    });
    port
}

#[test]
fn check_examines_who_may_write_the_configuration() {
    let bench = ConfigDirectory::new();
    for (mode, expected) in [
        (0o644, &[][..]),
        (0o664, &["warning"][..]),
        (0o666, &["error"][..]),
        (0o602, &["error"][..]),
    ] {
        bench.write("gate.toml", b"", mode);
        let mut report = CheckReport::default();
        file(&bench.path("gate.toml"), &mut report);
        let told = told(&report);
        assert_eq!(told.len(), expected.len(), "{mode:o}: {told:?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(
                told.starts_with(expected) && told.contains("chmod"),
                "{told}"
            );
        }
    }
}

#[test]
fn a_missing_key_comes_with_what_makes_it_and_no_record_with_an_error() {
    let bench = ConfigDirectory::new();
    assert!(!bench.but(&[]).https_records.is_empty());
    let report = bench.but(&[("home/token.key", "gone.key")]);
    let told = told(&report).concat();
    assert!(
        told.contains("openssl rand -base64 64") && told.contains("gone.key)"),
        "{told}"
    );
    assert!(report.https_records.is_empty());
}
