//! Measures a transfer: bytes over a wire of its own, by `perf`, which reports what each side cost
//! the processor.

use roundtrip_net::cpu::allowed_cpus;
use roundtrip_perf::PerfError;
use roundtrip_perf::plan::Pin;

use super::scene::{SampleError, TakenSample};
use crate::experiment::{Cell, Transfer};
use crate::outcome::{Carried, RunSample};

/// Each side is pinned to its own core, if there are two.
pub(super) fn sample(
    transfer: &Transfer,
    cell: &Cell,
    seed: u64,
) -> Result<TakenSample, SampleError> {
    let plan = transfer.plan(&cell.path, cell.offload, seed);
    let mut plan = plan.map_err(PerfError::from)?;
    plan.pin = Pin::among(&allowed_cpus().unwrap_or_default());
    let is_apart = plan.pin.sender.is_some();
    let measured = roundtrip_perf::run(plan, &mut |_| {})?;
    let arm = measured.arms.first().ok_or(SampleError::Nothing)?;
    let figures = &arm.figures;
    let cost = figures.sender.ok_or(SampleError::Nothing)?;
    let carried = Carried {
        gbit_per_s: figures.gigabits.ok_or(SampleError::Nothing)?.median,
        receiver: figures.receiver.ok_or(SampleError::Nothing)?.median,
        bottleneck: figures.bottleneck.word(),
        is_apart,
    };
    let sample = RunSample {
        run: 0,
        value: cost.median,
        round_trips: None,
        waited: None,
        cpu_us: None,
        carried: Some(carried),
        phases: Vec::new(),
    };
    Ok(TakenSample {
        sample,
        notes: Vec::new(),
    })
}
