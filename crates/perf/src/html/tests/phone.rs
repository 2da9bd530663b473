//! Chromium lays the page out as wide as a phone: nothing may overflow it.
//!
//! It is not among the tests of `it`, because Chromium would take the processor from their
//! measurements.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::html::page;
use crate::plan::{Amount, Pattern, Pin, Terrain, Work};
use crate::{PerfOutcome, PerfPlan, SideReport, Usage, Visit};
use roundtrip_report::html::PageHead;

#[path = "../../../../../tests/skip.rs"]
mod skip;

/// In a frame of the width of a phone, since a window cannot be that narrow. An element that
/// scrolls may be wider inside. Texts of the pictures must not overlap, either.
const MEASURE: &str = r#"
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const page = frame.contentDocument;
  const scrolls = element => element.closest(".scroll");
  const name = e => e.tagName + " " + e.textContent.slice(0, 40);
  const wide = [...page.body.querySelectorAll("*")].filter(e => !scrolls(e.parentElement))
    .filter(e => e.getBoundingClientRect().right > 390.5 || e.getBoundingClientRect().left < -0.5).map(name);
  const texts = [...page.querySelectorAll("svg text")].map(e => [name(e), e.getBoundingClientRect()]);
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
  const upon = texts.flatMap(([n, a], i) => texts.slice(i + 1).filter(([, b]) => meet(a, b)).map(([m]) => n + " / " + m));
  document.title = "laid out: " + page.querySelectorAll("figure svg[role=img]").length + " pictures, page "
    + page.documentElement.scrollWidth + ", wide [" + wide.join("; ") + "], upon [" + upon.join("; ") + "]";
});
frame.srcdoc = document.querySelector("template").innerHTML;
"#;

/// A gigabyte in a second, which cost each side this many milliseconds.
fn visit(milliseconds: u64) -> Visit {
    let side = |sent, received| SideReport {
        sent,
        received,
        usage: Usage {
            wall: Duration::from_secs(1),
            thread: Duration::from_millis(milliseconds),
            user: Duration::from_millis(milliseconds / 3),
            system: Duration::from_millis(milliseconds / 2),
            ..Usage::default()
        },
        ..SideReport::default()
    };
    Visit {
        server: side(1_000_000_000, 0),
        client: side(0, 1_000_000_000),
        pause: Duration::ZERO,
    }
}

fn outcome() -> PerfOutcome {
    let costs = [
        ("tcp", 150),
        ("tls", 212),
        ("quic/quinn", 900),
        ("quic/proto+ack50+gso44+mirror1452", 188),
    ];
    let plan = PerfPlan {
        arms: costs.iter().map(|(arm, _)| arm.parse().unwrap()).collect(),
        work: Work {
            pattern: Pattern::Down,
            streams: 1,
            connections: 1,
            amount: Amount::For(Duration::from_secs(1)),
        },
        rounds: 2,
        pin: Pin::default(),
        terrain: Terrain::default(),
    };
    let visits = costs.map(|(_, cost)| vec![visit(cost), visit(cost + 9)]);
    PerfOutcome::new(plan, visits.to_vec())
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let name = "nothing_is_wider_than_a_phone";
    let head = PageHead {
        made_by: "roundtrip 9".into(),
        machine: "A processor of many names @ 2.00 GHz; Linux 6.1.0-99-with-a-long-name on x86_64"
            .into(),
        command: format!("roundtrip perf {}", "quic/proto+ack50+gso44 ".repeat(20)),
        ..PageHead::default()
    };
    let page = page(&outcome(), &head);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("frame.html");
    let frame = r#"<!DOCTYPE html><iframe width="390" height="2000" style="border:0"></iframe>"#;
    // Attributes of `html` and `body` do not matter; the parser of a template drops both elements.
    let wrapped = format!("{frame}<template>{page}</template><script>{MEASURE}</script>");
    fs::write(&file, wrapped).unwrap();
    let profile = folder.path().join("profile");
    let asked = Command::new("timeout")
        .args(["120", "chromium", "--headless", "--no-sandbox"])
        .args(["--disable-gpu", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("file://{}", file.display()))
        .env("HOME", folder.path())
        .output();
    let answer = match asked {
        Ok(answer) if answer.status.code() != Some(127) => answer,
        _ => return skip::lacking(name, "chromium"),
    };
    let dom = String::from_utf8_lossy(&answer.stdout);
    let title = dom
        .split_once("<title>laid out: ")
        .and_then(|(_, rest)| rest.split_once("</title>"))
        .unwrap_or_else(|| panic!("{dom}\n{}", String::from_utf8_lossy(&answer.stderr)));
    assert_eq!(title.0, "2 pictures, page 390, wide [], upon []");
}
