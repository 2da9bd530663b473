//! The page says what was measured, in words and pictures, and loads nothing.

mod phone;

use std::time::Duration;

use super::costs::parts;
use super::*;
use crate::account::{Core, Usage};
use crate::outcome::tests::{plan, visit};

fn outcome() -> PerfOutcome {
    let visits = |costs: [u64; 3]| costs.map(visit).to_vec();
    PerfOutcome::new(
        plan(&["tls", "quic", "quic/proto+gso44"]),
        vec![
            visits([210, 200, 900]),
            visits([420, 410, 440]),
            visits([140, 150, 140]),
        ],
    )
}

fn head() -> PageHead {
    PageHead {
        made_by: "roundtrip 9".into(),
        machine: "Linux <b>6</b>".into(),
        ..PageHead::default()
    }
}

#[test]
fn the_answer_the_ratios_and_all_figures_are_on_it() {
    let page = page(&outcome(), &head());
    for part in [
        "What does it cost the processor to carry a gigabyte?",
        "quic/proto+gso44 costs the sender least: 0.140 s/GB; tls costs 0.210.",
        "could carry 1.50 times what it could with TLS",
        "In s/GB. tls: sender 0.210, receiver 0.500; quic: sender 0.420, receiver 0.500;",
        "tls 1.00; quic 0.50; quic/proto+gso44 1.50.",
        "0.420 (0.410–0.440)",
        // Rounds in pairs: 210/420, 200/410, 900/440; and with 500 of the receiver each.
        "0.50 [0.49–2.05]",
        "0.77 [0.77–1.49]",
        "Linux &lt;b&gt;6&lt;/b&gt;",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for foreign in ["<script", "http://", "https://", "Interrupted before"] {
        assert!(!page.contains(foreign), "{foreign}: {page}");
    }
}

#[test]
fn what_was_interrupted_says_so() {
    let mut short = outcome();
    short.interrupted = true;
    assert!(page(&short, &head()).contains("Interrupted before everything was measured"));
}

#[test]
fn a_cost_is_divided_as_the_time_was() {
    let ms = Duration::from_millis;
    let usage = Usage {
        thread: ms(300),
        user: ms(20),
        system: ms(40),
        core: Some(Core {
            beside: ms(100),
            ..Core::default()
        }),
        ..Usage::default()
    };
    let [program, kernel, interrupts] = parts(&usage, 0.8);
    for (part, expected) in [(program, 0.2), (kernel, 0.4), (interrupts, 0.2)] {
        assert!((part - expected).abs() < 1e-9, "{part} is not {expected}");
    }
    assert!(
        parts(&Usage::default(), 0.8)
            .iter()
            .all(|part| *part < 1e-9)
    );
}
