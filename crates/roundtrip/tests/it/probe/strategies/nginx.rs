//! nginx from Debian: each strategy that it and OpenSSL support.

use super::scene::{Scene, Seen};
use crate::probe::peer::Nginx;
use crate::probe::report::Report;

/// A second server that requires a certain group, and so causes a HelloRetryRequest.
const SECOND: &str = "ssl_early_data on;\n}\nserver {\nlisten 198.18.0.2:8443 ssl;\nssl_protocols TLSv1.2 TLSv1.3;\nssl_ecdh_curve secp384r1;\n\
    ssl_certificate chain.pem;\nssl_certificate_key key.pem;\nlocation / { return 200 retried; }\n";

struct Stage {
    scene: Scene,
    nginx: Nginx,
    reports: Vec<Report>,
}

impl Stage {
    fn start() -> Self {
        let scene = Scene::start("3");
        let nginx = Nginx::within(scene.server("nginx"), "198.18.0.2", "fastopen=256", SECOND);
        Self {
            scene,
            nginx,
            reports: Vec::new(),
        }
    }

    fn ask(&mut self, word: &str) {
        let scheme = if word.contains("clear") {
            "http"
        } else {
            "https"
        };
        self.ask_at(word, &format!("{scheme}://198.18.0.2/page"));
    }

    fn ask_at(&mut self, word: &str, url: &str) {
        let report = self.scene.probe(&self.nginx.ca(), word, url);
        self.reports.push(report);
    }

    fn judge(self) -> Vec<Seen> {
        self.scene.judge(self.reports)
    }
}

#[test]
fn what_needs_no_memory() {
    let mut stage = Stage::start();
    for word in [
        "h1+clear",
        "h1+tls1.2",
        "h1+tls1.3",
        "h2+tls1.2",
        "h2+tls1.3",
        "h1+tls1.3-pq",
    ] {
        stage.ask(word);
    }
    for seen in stage.judge() {
        seen.assert_facts();
        seen.assert_as_asked();
    }
}

#[test]
fn sessions_are_resumed() {
    let mut stage = Stage::start();
    for word in [
        "h1+tls1.2+resume",
        "h1+tls1.3+resume",
        "h2+tls1.3+resume",
        "h2+tls1.2+resume",
    ] {
        stage.ask(word);
    }
    for seen in stage.judge() {
        seen.assert_facts();
        seen.assert_as_asked();
        assert_eq!(seen.report.at("/tls/resumed"), true);
    }
}

#[test]
fn fast_open_saves_a_round_trip_where_the_first_flight_fits() {
    let mut stage = Stage::start();
    for word in [
        "h1+clear+tfo",
        "h1+tls1.2+tfo-pq",
        "h1+tls1.3+tfo-pq",
        "h2+tls1.3+tfo+resume-pq",
    ] {
        stage.ask(word);
    }
    for seen in stage.judge() {
        seen.assert_facts();
        seen.assert_as_asked();
        assert!(seen.wire.syn_data > 0);
        assert_eq!(seen.report.at("/tcp/fast_open/saved_round_trips"), 1);
    }
}

#[test]
fn fast_open_saves_nothing_where_the_first_flight_is_too_long() {
    let mut stage = Stage::start();
    stage.ask("h1+tls1.3+tfo");
    for seen in stage.judge() {
        seen.report.assert_status(200);
        seen.assert_facts();
        assert!(seen.wire.syn_data > 0, "{:?}", seen.wire);
        assert_eq!(seen.report.at("/tcp/fast_open/saved_round_trips"), 0);
        assert_eq!(seen.report.at("/strategy"), "h1+tls1.3");
        assert_eq!(seen.report.at("/round_trips"), 3);
    }
}

#[test]
fn a_syn_has_room_for_so_much_and_no_more() {
    let mut stage = Stage::start();
    let url = "http://198.18.0.2/page?";
    stage.ask_at("h1+clear", url);
    let plain = stage.reports[0].at("/http/request_bytes").as_u64().unwrap();
    // A segment of 1460 bytes, less the 40 that options may take.
    for size in [1415, 1420, 1421] {
        let padding = "x".repeat(usize::try_from(size - plain).unwrap());
        stage.ask_at("h1+clear+tfo", &format!("{url}{padding}"));
    }
    let seen = stage.judge();
    for (one, saved) in seen.iter().zip([0, 1, 1, 0]) {
        one.assert_facts();
        let fast_open = one.report.at("/tcp/fast_open");
        assert_eq!(fast_open["saved_round_trips"], saved, "{fast_open}");
    }
}

#[test]
fn early_data_leaves_before_the_handshake_is_over() {
    let mut stage = Stage::start();
    for word in [
        "h1+tls1.3+0rtt",
        "h1+tls1.3+0rtt-pq",
        "h1+tls1.3+tfo+0rtt-pq",
        "h2+tls1.3+0rtt",
    ] {
        stage.ask(word);
    }
    for seen in stage.judge() {
        seen.assert_facts();
        seen.assert_as_asked();
        assert_eq!(seen.report.at("/tls/early_data"), true);
    }
}

#[test]
fn a_group_that_was_not_guessed_costs_a_retry() {
    let mut stage = Stage::start();
    stage.ask_at("h1+tls1.3", "https://198.18.0.2:8443/");
    stage.ask_at("h1+tls1.2", "https://198.18.0.2:8443/");
    let seen = stage.judge();
    for one in &seen {
        one.assert_facts();
        one.report.assert_status(200);
    }
    assert_eq!(seen[0].report.at("/tls/hello_retry"), true);
    assert_eq!(seen[0].report.at("/round_trips"), 4);
    assert_eq!(seen[0].report.at("/tls/group"), "secp384r1");
    assert_eq!(seen[1].report.at("/tls/hello_retry"), false);
}
