//! A transfer: bytes over a wire that is made for it, by `perf`, which says what either side cost the processor.

use roundtrip_net::cpu::allowed_cpus;
use roundtrip_perf::plan::Pin;
use roundtrip_perf::{Bottleneck, PerfError};

use super::scene::{Mishap, Taken};
use crate::experiment::{Cell, Transfer};
use crate::outcome::{Carried, Sample};

/// Each side is kept on a core of its own, where there are two.
pub(super) fn sample(transfer: &Transfer, cell: &Cell, seed: u64) -> Result<Taken, Mishap> {
    let plan = transfer.plan(&cell.path, cell.offload, seed);
    let mut plan = plan.map_err(PerfError::from)?;
    plan.pin = Pin::among(&allowed_cpus().unwrap_or_default());
    let is_apart = plan.pin.sender.is_some();
    let measured = roundtrip_perf::run(plan, &mut |_| {})?;
    let arm = measured.arms.first().ok_or(Mishap::Nothing)?;
    let figures = &arm.figures;
    let cost = figures.sender.ok_or(Mishap::Nothing)?;
    let carried = Carried {
        gbit_per_s: figures.gigabits.ok_or(Mishap::Nothing)?.median,
        receiver: figures.receiver.ok_or(Mishap::Nothing)?.median,
        bottleneck: figures.bottleneck.word(),
    };
    let sample = Sample {
        run: 0,
        value: cost.median,
        round_trips: None,
        waited: None,
        cpu_us: None,
        carried: Some(carried),
        phases: Vec::new(),
    };
    Ok(Taken {
        sample,
        notes: notes(is_apart, figures.bottleneck),
    })
}

/// What makes a figure worse than it looks.
fn notes(is_apart: bool, bottleneck: Bottleneck) -> Vec<String> {
    let shared = "there is one core for both sides, and what one cost is not told apart from the other";
    let crowded = "in some runs others had part of a core";
    [
        (!is_apart, shared),
        (bottleneck == Bottleneck::Others, crowded),
    ]
    .into_iter()
    .filter_map(|(is_so, words)| is_so.then(|| words.to_owned()))
    .collect()
}
