//! `perf server` and `perf client`: the two halves on two machines.

use std::net::SocketAddr;

use roundtrip_net::cpu::allowed_cpus;
use roundtrip_perf::plan::{Pin, SideRole, Terrain};
use roundtrip_perf::remote::{self, PerfServer};
use roundtrip_perf::{PerfPlan, PlanError};

use super::{ending, measure, plan};
use crate::cli::TaskArgs;
use crate::output::{Outcome, OutputStream, say};

pub(super) fn serve(listen: SocketAddr, cpu: Option<usize>, once: bool) -> Outcome {
    if let Err(error) = only_there(cpu).check(&allowed_cpus().unwrap_or_default()) {
        return Outcome::Usage(error.to_string());
    }
    let server = PerfServer::listen(listen, cpu);
    let (server, address) = match server.and_then(|s| s.address().map(|at| (s, at))) {
        Ok(server) => server,
        Err(error) => return ending(&error),
    };
    OutputStream::Out.print(format!("{address}\n"));
    loop {
        match server.serve_one() {
            Err(error) if once => return ending(&error),
            Ok(()) if once => return Outcome::Done,
            Err(error) => say(&format!("a client was not served: {error}")),
            Ok(()) => {}
        }
    }
}

pub(super) fn visit(host: &str, task: &TaskArgs, cpu: Option<usize>) -> Outcome {
    match meant(host, task, cpu) {
        Ok(plan) => measure(task, |stop, watch| {
            remote::visit_until(plan, host, stop, watch)
        }),
        Err(error) => Outcome::Usage(error.to_string()),
    }
}

fn meant(host: &str, task: &TaskArgs, cpu: Option<usize>) -> Result<PerfPlan, PlanError> {
    let pin = only_there(cpu);
    pin.check(&allowed_cpus().unwrap_or_default())?;
    let mut plan = plan(task, pin, Terrain::Remote(host.to_owned()))?;
    if plan.work.sender() == SideRole::Server {
        // The client receives.
        (plan.pin.sender, plan.pin.receiver) = (None, cpu);
    }
    Ok(plan)
}

/// The pinning of the one side that runs here.
fn only_there(cpu: Option<usize>) -> Pin {
    Pin {
        sender: cpu,
        receiver: None,
    }
}
