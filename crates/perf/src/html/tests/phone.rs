//! Chromium lays the page out as wide as a phone: nothing may overflow it.
//!
//! It is not among the tests of `it`, because Chromium would take the processor from their
//! measurements.

use std::time::Duration;

use crate::html::page;
use crate::plan::{Amount, Pattern, Pin, Terrain, Work};
use crate::{PerfOutcome, PerfPlan, SideReport, Usage, Visit};
use roundtrip_report::html::PageHead;

#[path = "../../../../../tests/phone.rs"]
mod laid_out;
#[path = "../../../../../tests/skip.rs"]
mod skip;

/// Makes a visit: a gigabyte in a second, which cost each side this many milliseconds.
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
    if !laid_out::fits(&page, 2) {
        skip::lacking(name, "chromium");
    }
}
