//! Apache from Debian, which uses fast open without knowing: `tcp_fastopen=0x403` makes the kernel
//! enable it for every listener.

use super::scene::Scene;
use crate::probe::peer::Apache;

#[test]
fn strategies_that_apache_knows() {
    let scene = Scene::start("0x403");
    let apache = Apache::within(
        |program| scene.server(program),
        "198.18.0.2",
        (8080, 8443),
        "",
    );
    let mut reports = Vec::new();
    for word in [
        "h1+clear",
        "h1+clear+tfo",
        "h2+clear",
        "h1+tls1.2",
        "h1+tls1.2+resume",
        "h1+tls1.3",
        "h1+tls1.3+resume",
        "h1+tls1.3+tfo-pq",
        "h2+tls1.3",
        "h2+tls1.3+tfo+resume-pq",
    ] {
        let url = if word.contains("clear") {
            "http://198.18.0.2:8080/page"
        } else {
            "https://198.18.0.2:8443/page"
        };
        reports.push(scene.probe(&apache.ca(), word, url));
    }
    for seen in scene.judge(reports) {
        seen.assert_facts();
        seen.assert_as_asked();
        let asked = seen.report.at("/asked").as_str().unwrap();
        let saved = seen.report.at("/tcp/fast_open/saved_round_trips");
        assert_eq!(saved, u64::from(asked.contains("tfo")), "{asked}");
    }
}
