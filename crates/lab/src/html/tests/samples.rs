//! Artificial outcomes, so that every page is the same in every run.

use crate::experiment::{Measure, PathWords, Published};
use crate::outcome::{
    ArmOutcome, ClaimOutcome, Curve, CurveLine, CurvePoint, Figures, LabOutcome, PhaseSpan,
    RunSample, SCHEMA, SavingOutcome, WaitedFor,
};
use crate::packets::{FastOpen, PacketEnd, PacketProtocol, Repeated, TracedPacket};
use roundtrip_model::{Random, Saving};
use roundtrip_report::html::PageHead;
use roundtrip_wire::packet::Flags;

pub(crate) const R: f64 = 90.0;

pub(crate) fn head() -> PageHead {
    PageHead {
        made_by: "roundtrip 0.1.0".into(),
        when: "Sun, 06 Nov 1994 08:49:37 GMT".into(),
        machine: "Linux 6.1 on x86_64, 2 cores".into(),
        command: "roundtrip lab run all --html page.html".into(),
    }
}

/// Two arms, their control, one that failed, one that was not run, one that cannot succeed, and a
/// curve.
pub(crate) fn outcome() -> LabOutcome {
    let mut arms = vec![
        arm("no-reuse", 9, 830.0),
        arm("reuse", 5, 462.0),
        arm("no-reuse (A/A)", 9, 830.5),
        bare("broken", 0),
        bare("absent", 0),
        bare("swallowed", 0),
    ];
    let base = arms[0].samples.clone();
    for held in arms.iter_mut().skip(1).filter(|a| !a.samples.is_empty()) {
        held.saving = saving(&base, &held.samples);
    }
    arms[0].published = Some(1104.0);
    arms[1].packets = packets();
    arms[1].notes = vec!["the second byte was late".into()];
    arms[2].control = true;
    arms[3].failures = vec!["it fell over".into(), "it fell over".into()];
    arms[4].not_run = Some("httping is not installed".into());
    arms[5].expected_failures = vec!["request 2: no answer".into()];
    LabOutcome {
        schema: SCHEMA,
        experiment: "persistence".into(),
        question: "What does a kept connection save?".into(),
        article: "A1: persistent connections".into(),
        path: words(),
        rtt_ms: Some(R),
        measure: Measure::Total,
        unit: "ms".into(),
        runs: 6,
        seed: 1,
        interrupted: false,
        took_s: 31.4,
        again: "roundtrip lab run persistence --seed 1".into(),
        arms,
        curves: vec![curve()],
        published: vec![Published {
            name: "best of others".into(),
            value: 344.7,
            unit: "ms".into(),
        }],
        claims: vec![
            claim("reuse saves a third", Some(true)),
            claim("pigs fly", Some(false)),
            claim("nobody knows", None),
        ],
    }
}

fn words() -> PathWords {
    let mut words = PathWords::default();
    words.say("rtt", vec![format!("{R}ms")]);
    words
}

fn claim(text: &str, holds: Option<bool>) -> ClaimOutcome {
    ClaimOutcome {
        text: text.into(),
        published: Some(36.0),
        measured: holds.map(|_| 44.25),
        unit: "%".into(),
        holds,
    }
}

fn arm(name: &str, turns: u32, median: f64) -> ArmOutcome {
    let around = [-2.0, -1.5, -0.5, 0.5, 1.0, 4.0].iter().enumerate();
    let samples = around.map(|(run, away)| sample(run, turns, median + away));
    let samples: Vec<RunSample> = samples.collect();
    ArmOutcome {
        figures: Figures::from_samples(&samples),
        phases: samples[1].phases.clone(),
        samples,
        ..bare(name, turns)
    }
}

pub(crate) fn bare(name: &str, turns: u32) -> ArmOutcome {
    ArmOutcome {
        name: name.into(),
        client: "h1+tls1.3, a connection each".into(),
        server: "origin".into(),
        warm: turns == 5,
        control: false,
        requests: 3,
        path: words(),
        offload: None,
        figures: Figures::default(),
        unit: "ms".into(),
        published: None,
        ratio_to_tls: None,
        published_ratio: None,
        saving: None,
        failures: Vec::new(),
        expected_failures: Vec::new(),
        requests_seen: None,
        not_run: None,
        notes: Vec::new(),
        samples: Vec::new(),
        phases: Vec::new(),
        packets: Vec::new(),
    }
}

/// A SYN that is lost, and the server's first packet.
pub(crate) fn packets() -> Vec<TracedPacket> {
    let syn = TracedPacket {
        connection: 0,
        from: PacketEnd::Client,
        sent_ms: Some(0.0),
        arrived_ms: None,
        kind: PacketProtocol::Tcp(Flags::SYN),
        fast_open: Some(FastOpen::Cookie),
        bytes: 93,
        again: false,
        acknowledges: None,
        path: vec!["lost: drop-syn-data".into()],
        repeated: Repeated::default(),
    };
    let answer = TracedPacket {
        from: PacketEnd::Server,
        sent_ms: Some(1046.0),
        arrived_ms: Some(1092.0),
        kind: PacketProtocol::Tcp(Flags::SYN | Flags::ACK),
        fast_open: None,
        bytes: 0,
        path: Vec::new(),
        ..syn.clone()
    };
    vec![syn, answer]
}

fn sample(run: usize, turns: u32, value: f64) -> RunSample {
    let network_ms = f64::from(turns) * R;
    let waited = WaitedFor {
        network_ms,
        server_ms: value - network_ms,
        ..WaitedFor::default()
    };
    RunSample {
        run,
        value,
        round_trips: Some(turns.into()),
        waited: Some(waited),
        cpu_us: None,
        carried: None,
        phases: vec![PhaseSpan {
            request: 0,
            name: "tcp",
            start_ms: 0.0,
            ms: value,
            round_trips: turns,
            waited,
        }],
    }
}

fn saving(before: &[RunSample], after: &[RunSample]) -> Option<SavingOutcome> {
    let pairs = before.iter().zip(after).map(|(b, a)| (b.value, a.value));
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let saving = Saving::from_pairs(&pairs, &mut Random::seeded(1))?;
    Some(SavingOutcome {
        against: "no-reuse".into(),
        saving,
        shown: saving.is_shown(),
    })
}

fn curve() -> Curve {
    let line = |arm: &str, slope: f64| CurveLine {
        arm: arm.into(),
        points: [1, 10, 50].map(|n| point(arm, n, slope)).to_vec(),
    };
    Curve {
        word: "requests".into(),
        unit: "ms".into(),
        lines: vec![line("no-reuse", 276.0), line("reuse", 92.0)],
    }
}

fn point(arm: &str, n: u32, slope: f64) -> CurvePoint {
    CurvePoint {
        value: n.to_string(),
        name: format!("{arm}@{n}"),
        figures: Figures::from_samples(&[sample(0, n, f64::from(n) * slope)]),
        rtt_ms: Some(R),
        failures: Vec::new(),
        not_run: None,
    }
}
