//! The dashboard of a fleet asks for what `/metrics` has: metrics, labels and their values.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::applications::stage::Stage;

const DASHBOARD: &str = include_str!("../../../../packaging/prometheus/gate.json");
const PREFIX: &str = "roundtrip_gate_";

#[test]
fn the_dashboard_asks_for_metrics_that_there_are() {
    let stage = Stage::new(
        "[upstream.b]\nservers = [\"http://127.0.0.1:9\"]\n\
         [[route]]\nupstream = \"b\"\nauth = false\n",
    );
    // Some rows come with the first request: a failed one here.
    let mut client = TcpStream::connect(stage.http()).unwrap();
    let ask = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    client.write_all(ask.as_bytes()).unwrap();
    client.read_to_string(&mut String::new()).unwrap();
    let metrics = stage.metrics();
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut count = 0;
    for target in targets {
        let expression = target["expr"].as_str().unwrap();
        for selector in expression.split(PREFIX).skip(1) {
            count += 1;
            let (name, rest) = selector.split_once('{').unwrap();
            let (labels, _) = rest.split_once('}').unwrap();
            let mut rows: Vec<&str> = metrics
                .lines()
                .filter_map(|line| line.strip_prefix(PREFIX)?.strip_prefix(name))
                .filter(|row| row.starts_with([' ', '{']))
                .collect();
            // The label `job` is Prometheus' own.
            for label in labels
                .split(", ")
                .filter(|label| !label.starts_with("job="))
            {
                rows.retain(|row| row.contains(label));
            }
            let (by, _) = expression
                .split_once("by (")
                .map_or(("", ""), |(_, by)| by.split_once(')').unwrap());
            for label in by.split(", ").filter(|by| !["", "instance"].contains(by)) {
                rows.retain(|row| row.contains(&format!("{label}=\"")));
            }
            assert!(
                !rows.is_empty(),
                "{expression}: {PREFIX}{name} is not there:\n{metrics}"
            );
        }
    }
    assert!(count >= 27, "{count} selectors");
}
