//! Scales and figures that several pictures share.

use roundtrip_model::Waited;
use roundtrip_report::ms;

use crate::LabOutcome;
use crate::experiment::Measure;
use crate::outcome::{ArmOutcome, RunSample, WaitedFor};

/// The scale from zero to a little beyond the largest value, in the experiment's unit.
pub(super) fn reach(outcome: &LabOutcome) -> f64 {
    let arms = outcome.arms.iter();
    let all = arms.flat_map(|arm| {
        let samples = arm.samples.iter().map(|sample| sample.value);
        samples.chain(arm.published)
    });
    all.filter(|value| value.is_finite()).fold(0.0, f64::max) * 1.02
}

/// The path's round trip, if the unit can be compared with it.
pub(super) fn rtt(arm: &ArmOutcome) -> Option<f64> {
    let rtt = arm.path.rtt_ms()?;
    (arm.unit == "ms" && rtt > 0.0).then_some(rtt)
}

/// The round trip of the path, if it is the same for all arms.
pub(super) fn common_rtt(arms: &[&ArmOutcome]) -> Option<f64> {
    let first = rtt(arms.first()?)?;
    arms.iter()
        .all(|arm| rtt(arm) == Some(first))
        .then_some(first)
}

/// The run that represents the arm: the one nearest to its median.
pub(super) fn median_run(arm: &ArmOutcome) -> Option<&RunSample> {
    let median = arm.figures.median?;
    let distance = |sample: &&RunSample| (sample.value - median).abs();
    arm.samples
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// Whether the arm carries bytes over QUIC with the engine of this program; an arm of `perf` does
/// not name it.
pub(super) fn is_own_quic(arm: &ArmOutcome) -> bool {
    arm.client.split('+').next() == Some("quic")
}

pub(super) fn waited(waited: WaitedFor) -> Waited {
    Waited {
        network: waited.network_ms,
        server: waited.server_ms,
        client: waited.client_ms,
        resolver: waited.resolver_ms,
        loss: waited.loss_ms,
        unknown: waited.unknown_ms,
    }
}

/// A figure with its unit.
pub(super) fn with_unit(value: f64, unit: &str) -> String {
    let number = match unit {
        "round trips" => trips(value),
        _ => ms(value),
    };
    format!("{} {unit}", with_minus(&number))
        .trim_end()
        .to_owned()
}

/// `−12.5 %`.
pub(super) fn percents(share: f64) -> String {
    with_minus(&format!("{:.1} %", share * 100.0))
}

/// A hyphen before a number becomes a minus.
pub(super) fn with_minus(number: &str) -> String {
    number.replace('-', "−")
}

/// `9`, `1.1`.
pub(super) fn trips(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The quantity that the arms' figures measure.
pub(super) fn measure(outcome: &LabOutcome) -> &'static str {
    match outcome.measure {
        Measure::Total => "all requests of a run, from the first's beginning to the last's end",
        Measure::Mean => "a request, on average over those of a run",
        Measure::Rate => "requests that are answered per second",
        Measure::Cost => "processor time of the side that sends, for each gigabyte of payload",
        Measure::Appconnect => "to the end of the TLS or QUIC handshake",
    }
}
