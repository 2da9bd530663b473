//! Flags that direct the connection elsewhere: addresses, families, interfaces; and flags that
//! limit its time.

use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use crate::probe::peer::Site;

fn port(url: &str) -> &str {
    url.rsplit(':').next().unwrap().trim_end_matches('/')
}

#[test]
fn resolve_names_the_address() {
    let site = Site::with(|knobs| knobs.tls.names = vec!["shop.example".into()]);
    let url = site.https("/").replace("localhost", "shop.example");
    let entry = format!("shop.example:{}:127.0.0.1", port(&url));
    let report = site.report(&["--resolve", &entry, &url]);
    report.assert_status(200);
    assert_eq!(report.at("/name/source"), "given");
    assert_eq!(report.at("/name/addresses/0"), "127.0.0.1");
    let any = format!("*:{}:127.0.0.1", port(&url));
    site.report(&["--resolve", &any, &url]).assert_status(200);
}

#[test]
fn the_next_address_is_tried_when_the_first_refuses() {
    let site = Site::start();
    let url = site.http("/").replace("localhost", "two.example");
    let entry = format!("two.example:{}:127.0.0.2,127.0.0.1", port(&url));
    let report = site.report(&["--resolve", &entry, &url]);
    report.assert_status(200);
    assert_eq!(report.at("/attempts/0/outcome"), "failed");
    assert_eq!(report.at("/attempts/1/outcome"), "won");
}

#[test]
fn connect_to_leads_elsewhere_and_asks_for_the_same() {
    let site = Site::start();
    let there = site.http("/");
    let entry = format!("shop.example:80:127.0.0.1:{}", port(&there));
    let head = site.body(&["--connect-to", &entry, "http://shop.example/head"]);
    assert!(head.contains("host: shop.example\n"), "{head}");
}

#[test]
fn the_family_can_be_chosen() {
    let site = Site::with(|knobs| {
        knobs.listen.bind = vec![IpAddr::from([127, 0, 0, 1]), Ipv6Addr::LOCALHOST.into()];
    });
    for (flag, start) in [("-4", "127.0.0.1:"), ("-6", "[::1]:")] {
        let report = site.report(&[flag, &site.http("/")]);
        report.assert_status(200);
        let peer = report.at("/tcp/peer").as_str().unwrap();
        assert!(peer.starts_with(start), "{flag} led to {peer}");
    }
    let literal = site.http("/").replace("localhost", "127.0.0.1");
    let report = site.report(&["-6", &literal]);
    assert_eq!(report.at("/failure/kind"), "no-such-name");
    assert_eq!(report.code, 1);
}

#[test]
fn the_connection_leaves_from_where_it_is_told() {
    let site = Site::start();
    let report = site.report(&["--interface", "127.0.0.3", &site.http("/")]);
    report.assert_status(200);
    let local = report.at("/tcp/local").as_str().unwrap();
    assert!(local.starts_with("127.0.0.3:"), "{local}");
    site.report(&["--interface", "host!127.0.0.1", &site.http("/")])
        .assert_status(200);
    let none = site.probe(&["--interface", "203.0.113.9", &site.http("/")]);
    assert_eq!((none.code, none.out.as_str()), (2, ""), "{}", none.err);
}

#[test]
fn time_is_bounded() {
    let site = Site::with(|knobs| knobs.fault = Some("stall@hello".parse().unwrap()));
    for limit in ["-m", "--connect-timeout"] {
        let began = Instant::now();
        let report = site.report(&[limit, "0.5", &site.https("/")]);
        // Half a second, and much more for a busy machine; without the limit it would be fifteen.
        assert!(began.elapsed() < Duration::from_secs(12), "{limit}");
        assert_eq!(report.at("/failure/kind"), "timeout");
        assert_eq!(report.at("/failure/phase"), "tls");
        assert!(report.at("/total_ms").as_f64().unwrap() >= 500.0);
    }
}

#[test]
fn a_limit_of_zero_is_none_as_with_curl() {
    let site = Site::start();
    for limit in ["-m", "--connect-timeout"] {
        let report = site.report(&[limit, "0", &site.https("/delay/200")]);
        assert_eq!(report.code, 0, "{limit}");
    }
}
