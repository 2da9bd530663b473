//! Peers that cannot be reached: refused, no route, an unanswered SYN, a name that does not exist.

use roundtrip_path::{Direction, Path};

use super::{assert_failure, message};
use crate::probe::peer::free_port;
use crate::probe::report::{Report, report};
use crate::probe::run;

fn within(path: &Path, arguments: &[&str]) -> Report {
    let mut command = run::cleaned(path.client().command(env!("CARGO_BIN_EXE_roundtrip")));
    command.args(["probe", "--json"]).args(arguments);
    Report::from(run::said(command))
}

#[test]
fn nobody_listens() {
    let port = free_port();
    let report = report(&[&format!("http://localhost:{port}/")]);
    assert_failure(&report, "refused", "tcp");
    assert!(
        message(&report).contains(&format!("127.0.0.1:{port}")),
        "{}",
        message(&report)
    );
    assert_eq!(report.at("/attempts/0/outcome"), "failed");
}

#[test]
fn there_is_no_way() {
    let path = Path::builder().build().unwrap();
    for url in [
        "http://192.0.2.1/",
        "https://192.0.2.1/",
        "http://[2001:db8::1]/",
    ] {
        let report = within(&path, &["-m", "20", url]);
        assert_failure(&report, "unreachable", "tcp");
        assert!(
            message(&report).contains("unreachable"),
            "{}",
            message(&report)
        );
    }
}

#[test]
fn the_syn_is_lost() {
    // The first SYN and those that follow it within the limit: the kernel repeats after 1, 3 and 7
    // seconds.
    let path = (1..=4)
        .fold(Path::builder(), |p, n| p.drop_nth(Direction::Up, n))
        .build()
        .unwrap();
    // Neighbour discovery sends no IP packet; the loss is counted on the wire, so more is dropped
    // than needed.
    let url = format!("http://{}/", path.server().address_v4());
    let report = within(&path, &["-m", "2", &url]);
    assert_failure(&report, "connect-timeout", "tcp");
    assert!(
        message(&report).contains("198.18.0.2:80"),
        "{}",
        message(&report)
    );
}

#[test]
fn a_name_without_a_resolver() {
    // Names under localhost need no name server, and a port without a listener needs no Internet.
    let port = free_port();
    let report = report(&[&format!("http://shop.localhost:{port}/")]);
    assert_failure(&report, "refused", "tcp");
    assert_eq!(report.at("/name/source"), "hosts");
}
