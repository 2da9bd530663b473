//! Every form of a comparison states when, where and by which version each side was measured.

use roundtrip_diff::{Diff, html, json, read, text};
use roundtrip_report::html::PageHead;
use roundtrip_report::terminal::Style;
use serde_json::{Value, json};

use crate::samples::result;

const FILES: (&str, &str) = ("a.json", "b.json");

fn forms(a: &Value, b: &Value) -> [String; 3] {
    let report = |value: &Value| read(value.to_string().as_bytes(), None).unwrap();
    let diff = Diff::new(&report(a), &report(b)).unwrap();
    let page = text::TextOptions {
        style: Style {
            colour: false,
            unicode: true,
            width: 100,
        },
        files: FILES,
        quiet: false,
        verbose: false,
    };
    [
        text::render(&diff, &page),
        html::page(&diff, FILES, &PageHead::default()),
        json::document(&diff, FILES).to_string(),
    ]
}

/// A report of either kind that was made at `host`.
fn report(schema: &str, host: &str) -> Value {
    json!({
        "schema": schema, "started": format!("2026-03-01T12:00:00.000Z-{host}"), "host": host,
        "version": format!("0.1-{host}"), "root": null, "checks": [], "summary": {},
        "results": [result(20.0, &[("tcp", 1, [20.0, 0.0, 0.0, 0.0, 0.0])])],
    })
}

#[test]
fn each_form_has_the_dates_the_hosts_and_the_versions_of_both() {
    for schema in ["roundtrip/probe/1", "roundtrip/doctor/1"] {
        for form in forms(&report(schema, "tick"), &report(schema, "tock")) {
            for told in ["tick", "tock"] {
                let date = format!("2026-03-01T12:00:00.000Z-{told}");
                let version = format!("0.1-{told}");
                assert!(form.contains(&date) && form.contains(&version), "{form}");
            }
        }
    }
}

#[test]
fn lines_of_ndjson_say_it_in_the_first() {
    let mut line = result(20.0, &[("tcp", 1, [20.0, 0.0, 0.0, 0.0, 0.0])]);
    line["host"] = json!("tick");
    let made = forms(&line, &line);
    assert!(made[0].contains("on tick"), "{}", made[0]);
}

#[test]
fn a_report_that_says_nothing_adds_no_line() {
    let [text, page, _] = forms(
        &json!({"schema": "roundtrip/doctor/1", "checks": []}),
        &json!({"schema": "roundtrip/doctor/1", "checks": []}),
    );
    assert!(
        !text.contains("roundtrip") && !page.contains("Measured A"),
        "{text}"
    );
}
