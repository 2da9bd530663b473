//! `--baseline`: counts in a file, and what raises them. Each fault is put into a second server;
//! the file is rewritten as if it had been made there.

use std::fs;

use roundtrip_origin::{EarlyData, Group, Knobs, Tickets, TlsVersions};

use crate::probe::peer::Site;
use crate::process::Said;

/// The baseline of one site, and another site to hold against it.
struct Scene {
    good: Site,
    other: Site,
}

impl Scene {
    fn new(usual: fn(&mut Knobs), fault: fn(&mut Knobs)) -> Self {
        let both = move |knobs: &mut Knobs| {
            usual(knobs);
            fault(knobs);
        };
        Self {
            good: Site::with(usual),
            other: Site::with(both),
        }
    }

    /// The output for `path` at the other site, asked with `flags`, after `/` of the good site was
    /// recorded.
    fn compared(&self, flags: &[&str], path: &str) -> Said {
        let file = self.good.path("counts.json");
        let recorded = with(&self.good, flags, &file, &["--update"], "/");
        assert_eq!(recorded.code, 0, "{}", recorded.err);
        let text = fs::read_to_string(&file).unwrap();
        let (was, is) = (self.good.https("/"), self.other.https(path));
        fs::write(&file, text.replace(&was, &is)).unwrap();
        with(&self.other, flags, &file, &[], path)
    }
}

fn with(site: &Site, flags: &[&str], file: &str, more: &[&str], path: &str) -> Said {
    let url = site.https(path);
    site.probe(&[&["-q", "--baseline", file], flags, more, &[&url]].concat())
}

fn nothing(_: &mut Knobs) {}

/// How the good server behaves, what the other does in addition, and the count that rises.
struct Fault {
    name: &'static str,
    usual: fn(&mut Knobs),
    change: fn(&mut Knobs),
    flags: &'static [&'static str],
    path: &'static str,
    count: &'static str,
}

impl Fault {
    const fn new(
        name: &'static str,
        fault: fn(&mut Knobs),
        flags: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            usual: nothing,
            change: fault,
            flags,
            path: "/",
            count: "round_trips",
        }
    }
}

const FAULTS: [Fault; 7] = [
    Fault::new("TLS 1.2", |k| k.tls.versions = TlsVersions::Tls12, &[]),
    Fault::new("HelloRetryRequest", retry, &[]),
    Fault {
        path: "/redirect/1",
        ..Fault::new("a redirect", nothing, &["-L"])
    },
    Fault::new("QUIC Retry", |k| k.listen.quic_retry = true, &["--http3"]),
    Fault {
        usual: |k| k.tls.early_data = EarlyData::On,
        ..Fault::new("no early data", refuse, &["--early-data"])
    },
    Fault {
        count: "full_handshakes",
        ..Fault::new("no resumption", forget, &["--tls1.2", "--resume"])
    },
    Fault {
        count: "connections",
        ..Fault::new("not kept", close, &["--http1.1", "--reuse"])
    },
];

fn retry(knobs: &mut Knobs) {
    knobs.tls.groups = vec![Group::Secp384r1];
}

fn refuse(knobs: &mut Knobs) {
    knobs.tls.early_data = EarlyData::Refused;
}

fn forget(knobs: &mut Knobs) {
    knobs.tls.tickets = Tickets::Refused;
}

fn close(knobs: &mut Knobs) {
    knobs.http.close_after = Some(1);
}

#[test]
fn each_extra_round_trip_is_caught() {
    for Fault {
        name,
        usual,
        change,
        flags,
        path,
        count,
    } in FAULTS
    {
        let scene = Scene::new(usual, change);
        let said = scene.compared(flags, path);
        assert_eq!(said.code, 3, "{name}: {}", said.err);
        let rose = format!("{count} rose from");
        assert!(said.err.contains(&rose), "{name}: {}", said.err);
        assert!(said.err.contains("the least of 5"), "{name}: {}", said.err);
    }
}

#[test]
fn more_bytes_are_caught_and_fewer_are_told() {
    let scene = Scene::new(
        |k| k.http.body_bytes = Some(5000),
        |k| k.http.body_bytes = Some(6000),
    );
    let said = scene.compared(&["--http1.1"], "/");
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(
        said.err.contains("bytes_received rose from"),
        "{}",
        said.err
    );
    let chain = Scene::new(nothing, |k| k.tls.chain_bytes = 5000);
    let said = chain.compared(&[], "/");
    assert!(
        said.code == 3 && said.err.contains("bytes_received rose"),
        "{}",
        said.err
    );
    let smaller = Scene::new(
        |k| k.http.body_bytes = Some(5000),
        |k| k.http.body_bytes = Some(100),
    );
    let said = smaller.compared(&["--http1.1"], "/");
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(
        said.err.contains("bytes_received fell from"),
        "{}",
        said.err
    );
}

#[test]
fn the_same_again_is_never_a_rise() {
    let site = Site::start();
    let file = site.path("counts.json");
    for flags in [&[][..], &["--http1.1"], &["--http3"], &["--resume"]] {
        let recorded = with(&site, flags, &file, &["--update"], "/bytes/70000");
        assert_eq!(recorded.code, 0, "{}", recorded.err);
        for _ in 0..5 {
            let said = with(&site, flags, &file, &[], "/bytes/70000");
            assert_eq!(said.code, 0, "{flags:?}: {}", said.err);
        }
    }
    let text = fs::read_to_string(&file).unwrap();
    for strategy in ["auto", "h1", "h3", "auto+resume"] {
        assert!(
            text.contains(&format!("\"strategy\": \"{strategy}\"")),
            "{text}"
        );
    }
}

#[test]
fn a_request_that_is_not_in_the_file_fails_until_it_is_recorded() {
    let site = Site::start();
    let file = site.path("counts.json");
    let missing = with(&site, &[], &file, &[], "/");
    assert_eq!(missing.code, 2, "{}", missing.err);
    assert!(
        missing.err.contains("--update writes one"),
        "{}",
        missing.err
    );
    // Another user may have planted a link.
    let other = site.path("other");
    std::fs::write(&other, "kept").unwrap();
    std::os::unix::fs::symlink(&other, format!("{file}.new")).unwrap();
    assert_eq!(with(&site, &[], &file, &["--update"], "/").code, 0);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "kept");
    let other = with(&site, &[], &file, &[], "/bytes/1");
    assert_eq!(other.code, 3, "{}", other.err);
    assert!(other.err.contains("not in the file"), "{}", other.err);
    assert_eq!(with(&site, &[], &file, &["--update"], "/bytes/1").code, 0);
    // The first entry stayed.
    assert_eq!(with(&site, &[], &file, &[], "/").code, 0);
    let broken = site.write("broken.json", "[]");
    let said = with(&site, &[], &broken, &[], "/");
    assert!(
        said.code == 2 && said.err.contains("schema"),
        "{}",
        said.err
    );
}

#[test]
fn unsafe_methods_are_not_repeated() {
    let site = Site::start();
    let file = site.path("counts.json");
    let post = ["-d", "x"];
    assert_eq!(with(&site, &post, &file, &["--update"], "/").code, 0);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"method\": \"POST\""), "{text}");
    let fewer = text.replace("\"round_trips\": ", "\"round_trips\": 0, \"was\": ");
    fs::write(&file, fewer).unwrap();
    let said = with(&site, &post, &file, &[], "/");
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(!said.err.contains("the least of"), "{}", said.err);
}
