//! Names resolved over HTTPS.

use std::net::Ipv4Addr;

use crate::probe::peer::{Doh, Site};
use crate::probe::report::{Report, report};

fn ask(doh: &Doh, arguments: &[&str]) -> Report {
    let directory = tempfile::tempdir().unwrap();
    doh.authority.write(directory.path());
    let ca = directory.path().join("ca.pem").display().to_string();
    let server = format!("https://{}/dns-query", doh.address);
    report(&[&["--cacert", &ca, "--doh-url", &server], arguments].concat())
}

#[test]
fn a_name_is_asked_over_https() {
    let (site, doh) = (
        Site::start(),
        Doh::start("shop.example", Ipv4Addr::LOCALHOST),
    );
    let url = site.http("/").replace("localhost", "shop.example");
    let report = ask(&doh, &[&url]);
    report.assert_status(200);
    assert_eq!(report.at("/name/source"), "doh");
    assert_eq!(report.at("/name/addresses/0"), "127.0.0.1");
    assert_eq!(report.at("/name/ttl"), 60);
    let server = report.at("/name/server").as_str().unwrap();
    assert!(server.contains(&doh.address.to_string()), "{server}");
}

#[test]
fn a_name_that_the_server_does_not_know_is_not_resolved() {
    let doh = Doh::start("shop.example", Ipv4Addr::LOCALHOST);
    let report = ask(&doh, &["http://other.example/"]);
    assert_eq!(
        (report.code, report.at("/failure/kind").as_str()),
        (1, Some("no-such-name"))
    );
    assert_eq!(report.at("/failure/phase"), "name");
}

#[test]
fn a_server_that_cannot_be_asked_is_named() {
    let doh = Doh::start("shop.example", Ipv4Addr::LOCALHOST);
    let server = format!("https://127.0.0.1:{}/", crate::probe::peer::free_port());
    let gone = report(&["--doh-url", &server, "http://shop.example/"]);
    assert_eq!(gone.at("/failure/kind"), "resolver-failed");
    // An untrusted certificate is refused as well.
    let server = format!("https://{}/", doh.address);
    let stranger = report(&["--doh-url", &server, "http://shop.example/"]);
    assert_eq!(stranger.at("/failure/kind"), "resolver-failed");
    let message = stranger.at("/failure/message").as_str().unwrap();
    assert!(message.contains(&doh.address.to_string()), "{message}");
}
