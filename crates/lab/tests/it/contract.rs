//! The JSON that programs read, and the text for people.

use roundtrip_lab::experiment::read;
use roundtrip_lab::text;
use roundtrip_report::terminal::Style;
use serde_json::Value;

use crate::run;

const SMALL: &str = "
question = 'Is it as written?'
article = 'A0: none'
measure = 'total'
runs = 3
requests = 2
baseline = 'off'
[path]
rtt = '20ms'
[client]
sysctl = { 'net.ipv4.tcp_fastopen' = 1 }
[[server]]
name = 'origin'
knobs = { fast-open = 8 }
sysctl = { 'net.ipv4.tcp_fastopen' = 3 }
place = '/bytes/10'
[[arm]]
name = 'off'
strategy = 'h1+clear'
[[arm]]
name = 'on'
strategy = 'h1+clear+tfo'
warm = true
[[arm]]
name = 'absent'
program = 'no-such-client'
scheme = 'http'
[[sweep]]
word = 'requests'
values = [1, 3]
arms = ['off', 'on']
[[published]]
name = 'off'
value = 44
unit = 'ms'
[[claim]]
text = 'half is saved'
holds = 'saving(on, off) >= 20%'
published = 50
[[claim]]
text = 'what was not run'
holds = 'median(absent) > 1 R'
";

#[test]
fn the_keys_are_there() {
    let outcome = run(read("small", "small.toml", SMALL).unwrap(), 6, None);
    assert!(outcome.is_good(), "{outcome:?}");
    let document = serde_json::to_value(&outcome).unwrap();
    let at = |pointer: &str| {
        let found = document.pointer(pointer);
        found
            .unwrap_or_else(|| panic!("no {pointer} in {document:#}"))
            .clone()
    };
    assert_eq!(at("/schema"), "roundtrip/lab/1");
    assert_eq!(at("/experiment"), "small");
    assert_eq!(at("/path/rtt"), "20ms");
    assert_eq!(at("/arms/0/name"), "off");
    assert_eq!(at("/arms/0/runs"), 6);
    assert_eq!(at("/arms/0/unit"), "ms");
    assert_eq!(at("/arms/0/round_trips"), 4);
    assert_eq!(at("/arms/1/round_trips"), 2);
    for key in [
        "median",
        "min",
        "p90",
        "network_ms",
        "server_ms",
        "client_ms",
    ] {
        assert!(at(&format!("/arms/0/{key}")).is_number(), "{key}");
    }
    assert_eq!(at("/arms/0/samples").as_array().unwrap().len(), 6);
    assert_eq!(at("/arms/0/phases/0/name"), "setup");
    assert_eq!(at("/arms/1/saving/against"), "off");
    assert_eq!(at("/arms/1/saving/shown"), true);
    assert_eq!(at("/arms/2/runs"), 0);
    assert_eq!(at("/arms/2/median"), Value::Null);
    assert!(
        at("/arms/2/not_run")
            .as_str()
            .unwrap()
            .contains("not installed")
    );
    assert_eq!(at("/arms/3/control"), true);
    assert_eq!(at("/published/0/value"), 44.0);
    assert_eq!(at("/claims/0/text"), "half is saved");
    assert_eq!(at("/claims/0/published"), 50);
    assert_eq!(at("/claims/0/unit"), "%");
    assert_eq!(at("/claims/0/holds"), true);
    assert!(at("/claims/0/measured").as_f64().unwrap() > 20.0);
    assert_eq!(at("/claims/1/holds"), Value::Null);
    let trips: Vec<Value> = (0..2)
        .map(|point| at(&format!("/curves/0/lines/1/points/{point}/round_trips")))
        .collect();
    assert_eq!(trips, [1, 3]);
    shown(&outcome);
}

fn shown(outcome: &roundtrip_lab::LabOutcome) {
    let text = text::render(outcome, Style::default());
    for part in [
        "small: Is it as written?",
        "rtt 20ms",
        "on (warm)",
        "not run: no-such-client is not installed (apt-get install no-such-client)",
        "✓ half is saved",
        "published 50.0 %",
        "? what was not run (not measured)",
        "again: again",
    ] {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "no colour was asked for");
    let ascii = Style {
        unicode: false,
        ..Style::default()
    };
    let text = text::render(outcome, ascii);
    assert!(text.is_ascii(), "{text}");
}
