//! Measures a transfer: bytes over a separate wire, by `perf`, which reports the processor cost of
//! each side.

use roundtrip_net::cpu::allowed_cpus;
use roundtrip_perf::plan::Pin;
use roundtrip_perf::{PerfError, PlanError};

use super::scene::{SampleError, TakenSample};
use super::tools::MissingToolError;
use crate::experiment::{Cell, Transfer};
use crate::outcome::{Carried, RunSample};

/// Measures one transfer. Each side is pinned to its own core, if there are two.
pub(super) fn sample(
    transfer: &Transfer,
    cell: &Cell,
    seed: u64,
) -> Result<TakenSample, SampleError> {
    let plan = transfer.plan(&cell.path, cell.offload, seed);
    let mut plan = plan.map_err(PerfError::from)?;
    plan.pin = Pin::among(&allowed_cpus().unwrap_or_default());
    let is_apart = plan.pin.sender.is_some();
    let measured = match roundtrip_perf::run(plan, &mut |_| {}) {
        Err(PerfError::Plan(PlanError::Absent(engine))) => {
            return Err(MissingToolError::engine(engine).into());
        }
        measured => measured?,
    };
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
