//! An artificial outcome of transfers, and its page.

use crate::experiment::{Measure, PathWords};
use crate::html::page;
use crate::outcome::{ArmOutcome, Carried, Figures, LabOutcome, RunSample};
use proptest::prelude::*;

use super::document::text;
use super::samples::{bare, head, outcome};

/// Four arms without offloads, two with, and a control.
pub(crate) fn carrying() -> LabOutcome {
    let mut arms = vec![
        arm("tcp", "tcp", 0.2, 0.4),
        arm("tls", "tls", 0.4, 0.4),
        arm("quic", "quic+ack2+gso1+datagram1280", 1.0, 0.4),
        arm("quic+all", "quic", 0.5, 0.4),
        arm("quinn", "quic/quinn", 2.0, 0.4),
        arm("tls@offload", "tls", 0.2, 0.2),
        arm("quic+all@offload", "quic", 0.4, 0.2),
        arm("tls (A/A)", "tls", 0.4, 0.4),
    ];
    for arm in &mut arms {
        arm.offload = Some(arm.name.ends_with("@offload"));
        arm.control = arm.name.ends_with("(A/A)");
    }
    arms[2].published_ratio = Some(0.42);
    LabOutcome {
        experiment: "quic-vs-tcp".into(),
        path: PathWords::default(),
        rtt_ms: None,
        measure: Measure::Cost,
        unit: "s/GB".into(),
        arms,
        curves: Vec::new(),
        published: Vec::new(),
        claims: Vec::new(),
        ..outcome()
    }
}

/// Makes an arm whose gigabyte costs `cost` seconds, and `tls` seconds over TLS.
fn arm(name: &str, client: &str, cost: f64, tls: f64) -> ArmOutcome {
    let samples: Vec<RunSample> = (0..3).map(|run| sample(run, cost, "sender")).collect();
    ArmOutcome {
        client: client.into(),
        path: PathWords::default(),
        unit: "s/GB".into(),
        figures: Figures::from_samples(&samples),
        samples,
        ratio_to_tls: Some(tls / cost),
        ..bare(name, 0)
    }
}

fn sample(run: usize, value: f64, bottleneck: &'static str) -> RunSample {
    RunSample {
        run,
        value,
        round_trips: None,
        waited: None,
        cpu_us: None,
        carried: Some(Carried {
            gbit_per_s: 8.0 / value,
            receiver: value,
            bottleneck,
            is_apart: true,
        }),
        phases: Vec::new(),
    }
}

#[test]
fn each_set_of_conditions_has_its_stairs() {
    let html = page(&[carrying()], &head());
    assert_eq!(html.matches("<svg class=\"stairs\"").count(), 2);
    let text = text(&html);
    for words in [
        "One experiment, measured over a bare wire",
        "Path: a bare wire",
        "A core that sends over QUIC carries up to 0.80 of what it carries over TLS and TCP (quic+all), and as little as 0.40 (quic).",
        "If the interface does the segmentation, a core that sends over QUIC carries up to 0.50",
        "tcp 2.00; tls 1.00; quic 0.40, published 0.42; quic+all 0.80; quinn 0.20.",
        "tls@offload 1.00; quic+all@offload 0.50.",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    assert!(!text.contains("parties that it waited for"), "{text}");
}

/// The length of a bar is its ratio: TLS has the length one, and the published ratio is below.
#[test]
fn bars_share_a_scale_with_what_was_published() {
    let html = page(&[carrying()], &head());
    let widths = |class: &str| -> Vec<f64> {
        let start = format!("<rect class=\"{class}\" x=\"0\" width=\"");
        let cut = |rest: &str| rest.split('%').next()?.parse::<f64>().ok();
        html.split(&start).skip(1).filter_map(cut).collect()
    };
    let (ours, others) = (widths("ours"), widths("ours other"));
    let theirs = widths("theirs");
    assert_eq!(
        (ours.len(), others.len(), theirs.len()),
        (3, 4, 1),
        "{html}"
    );
    // TLS: others[1] is TLS itself.
    for (width, ratio) in [
        (ours[0], 0.4),
        (ours[1], 0.8),
        (others[0], 2.0),
        (theirs[0], 0.42),
    ] {
        assert!((width / others[1] - ratio).abs() < 0.01, "{width}, {ratio}");
    }
}

#[test]
fn a_disturbance_is_reported_once() {
    let mut disturbed = carrying();
    assert_eq!(disturbed.disturbance(), None);
    disturbed.arms[0].samples[1] = sample(1, 0.2, "others");
    let text = text(&page(&[disturbed.clone()], &head()));
    assert!(
        text.contains("In 1 of 24 runs other programs used part of a core"),
        "{text}"
    );
    for sample in &mut disturbed.arms[1].samples {
        sample.carried = sample.carried.map(|carried| Carried {
            is_apart: false,
            ..carried
        });
    }
    let told = disturbed.disturbance().unwrap();
    assert!(told.contains("shared one core"), "{told}");
}

proptest! {
    #[test]
    fn any_ratio_becomes_a_page(values in proptest::collection::vec(any::<f64>(), 3..6), ratio: f64) {
        let mut odd = carrying();
        for arm in &mut odd.arms {
            for (sample, value) in arm.samples.iter_mut().zip(&values) {
                sample.value = *value;
            }
            arm.figures = Figures::from_samples(&arm.samples);
            arm.ratio_to_tls = Some(ratio);
            arm.published_ratio = Some(ratio);
        }
        let html = page(&[odd], &head());
        prop_assert!(html.ends_with("</html>"));
        let in_attributes = html.split('"').any(|value| value.contains("NaN") || value.starts_with("inf"));
        prop_assert!(!in_attributes);
    }
}
