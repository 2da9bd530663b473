//! Metrics of each server of the upstreams, in Prometheus' text format. Their labels are names from
//! the configuration, so the number of rows is the number of configured servers.

use super::dependencies::UpstreamView;
use crate::forward::upstream::{ServerState, ServerView};
use crate::record::prometheus::{head, line};

/// Appends the metrics of servers to the other metrics.
pub(super) fn append(text: &mut String, upstreams: &[UpstreamView]) {
    let servers: Vec<(&str, &ServerView)> = upstreams
        .iter()
        .flat_map(|upstream| {
            upstream
                .servers
                .iter()
                .map(|server| (&*upstream.name, server))
        })
        .collect();
    let name = "roundtrip_gate_server_exchanges_total";
    head(
        text,
        name,
        "Exchanges with each server of an upstream: answered, or failed there.",
        "counter",
    );
    for (upstream, server) in &servers {
        for (outcome, value) in [("answered", server.answered), ("failed", server.failed)] {
            let labels = [
                ("upstream", *upstream),
                ("server", &*server.address),
                ("outcome", outcome),
            ];
            line(text, name, &labels, value);
        }
    }
    let name = "roundtrip_gate_server_up";
    head(
        text,
        name,
        "Whether this server may be used: not while its health check fails or it is ejected.",
        "gauge",
    );
    for (upstream, server) in &servers {
        let labels = [("upstream", *upstream), ("server", &*server.address)];
        line(
            text,
            name,
            &labels,
            u64::from(server.state == ServerState::Up),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_its_rows_and_no_name_breaks_them() {
        let server = |address: &str, state, answered| ServerView {
            address: address.into(),
            state,
            answered,
            failed: 1,
        };
        let upstreams = [UpstreamView {
            name: "a\"b\\c".into(),
            servers: vec![
                server("10.0.0.1:80", ServerState::Up, 7),
                server("10.0.0.2:80", ServerState::Unhealthy, 0),
            ],
        }];
        let mut text = String::new();
        append(&mut text, &upstreams);
        let rows: Vec<&str> = text.lines().filter(|l| !l.starts_with('#')).collect();
        let exchanges = |server: &str, outcome: &str, value: u64| {
            format!(
                "roundtrip_gate_server_exchanges_total{{upstream=\"a\\\"b\\\\c\",\
                 server=\"{server}\",outcome=\"{outcome}\"}} {value}"
            )
        };
        let up = |server: &str, value: u64| {
            format!(
                "roundtrip_gate_server_up{{upstream=\"a\\\"b\\\\c\",server=\"{server}\"}} {value}"
            )
        };
        assert_eq!(
            rows,
            [
                exchanges("10.0.0.1:80", "answered", 7),
                exchanges("10.0.0.1:80", "failed", 1),
                exchanges("10.0.0.2:80", "answered", 0),
                exchanges("10.0.0.2:80", "failed", 1),
                up("10.0.0.1:80", 1),
                up("10.0.0.2:80", 0),
            ]
        );
    }
}
