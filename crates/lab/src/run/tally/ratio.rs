//! Compares transfers with TLS over TCP: by the cost of the sender's core, and by published
//! figures.

use roundtrip_perf::plan::ArmTransport;

use crate::experiment::{ArmClient, Cell, Experiment};
use crate::outcome::ArmOutcome;

/// Adds each arm's ratio to TLS. `arms` are the experiment's cells, in their order.
pub(super) fn add(experiment: &Experiment, arms: &mut [ArmOutcome]) {
    let cells = &experiment.cells;
    let medians: Vec<Option<f64>> = arms.iter().map(|arm| arm.figures.median).collect();
    for (cell, arm) in cells.iter().zip(arms) {
        let Some(place) = cells.iter().position(|tls| is_tls_of(tls, cell)) else {
            continue;
        };
        let tls = medians.get(place).copied().flatten();
        arm.ratio_to_tls = quotient(tls, arm.figures.median);
        let tls = cells.get(place);
        arm.published_ratio = tls.and_then(|tls| published(experiment, &cell.name, &tls.name));
    }
}

/// Whether `tls` is TLS over TCP under the conditions of `cell`. The first such cell is not a
/// repetition.
fn is_tls_of(tls: &Cell, cell: &Cell) -> bool {
    let transport = |cell: &Cell| match &cell.arm.client {
        ArmClient::Transfer(transfer) => Some(transfer.arm.transport),
        _ => None,
    };
    let is_transfer = transport(cell).is_some();
    is_transfer
        && transport(tls) == Some(ArmTransport::Tls)
        && (tls.offload, &tls.path) == (cell.offload, &cell.path)
}

/// The ratio of two published throughputs in the same unit.
fn published(experiment: &Experiment, name: &str, tls: &str) -> Option<f64> {
    let throughput = |name: &str, unit: &str| {
        let mut all = experiment.published.iter();
        all.find(|p| p.name == name && p.unit == unit && is_throughput(&p.unit))
            .map(|p| p.value)
    };
    let units = experiment.published.iter().map(|p| p.unit.as_str());
    units
        .filter(|unit| is_throughput(unit))
        .find_map(|unit| quotient(throughput(name, unit), throughput(tls, unit)))
}

fn is_throughput(unit: &str) -> bool {
    unit.ends_with("b/s") || unit.ends_with("bit/s")
}

fn quotient(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    let (above, below) = (above?, below?);
    (below > 0.0).then(|| above / below)
}
