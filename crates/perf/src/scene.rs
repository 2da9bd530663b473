//! The setting of a measurement: two namespaces of this process, joined by a bare wire or an
//! emulated path, and a thread in each, pinned to its core.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use roundtrip_net::cpu::pin_to;
use roundtrip_path::Path;

use crate::account::readings;
use crate::engine::{self, Job, PEER_TIMEOUT, Pulse, SideReport};
use crate::error::{PerfError, PlanError};
use crate::identity::ServerIdentity;
use crate::outcome::Visit;
use crate::pauses::Pauses;
use crate::plan::{Arm, PerfPlan, SideRole, Terrain};
use crate::stop::Stop;

/// How often progress is reported.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub struct PerfScene(Arc<PerfSceneParts>);

/// What both sides use, kept alive while one of them runs.
struct PerfSceneParts {
    path: Path,
    identity: ServerIdentity,
}

impl PerfScene {
    /// The process must be in its sandbox ([`roundtrip_path::enter_sandbox`]), or privileged.
    pub fn build(terrain: &Terrain) -> Result<Self, PerfError> {
        // Tried before anything is measured, where there is a loopback.
        readings::counts_apart();
        Ok(Self(Arc::new(PerfSceneParts {
            path: path(terrain)?,
            identity: ServerIdentity::make()?,
        })))
    }

    /// Measures an arm once. `watch` is called with the payload so far and the time. If it is
    /// stopped, both sides continue unobserved until their work is done.
    pub fn visit(
        &self,
        plan: &PerfPlan,
        arm: &Arm,
        stop: &Stop,
        watch: &mut dyn FnMut(u64, Duration),
    ) -> Result<Visit, PerfError> {
        let pulse = Pulse::default();
        let (tell, hear) = mpsc::channel();
        let on_stage = |role| (self.0.clone(), arm.clone(), plan.job(arm, role, &pulse));
        let (stage, of, job) = on_stage(SideRole::Server);
        let serving = thread::spawn(move || stage.serve(&of, &job, &tell));
        let (stage, of, job) = on_stage(SideRole::Client);
        let driving = thread::spawn(move || stage.drive(&of, &job, hear));
        let began = Instant::now();
        let mut pauses = Pauses::default();
        while !(serving.is_finished() && driving.is_finished()) {
            if stop.is_set() {
                return Err(PerfError::Interrupted);
            }
            let (bytes, elapsed) = (pulse.total(), began.elapsed());
            pauses.see(bytes, elapsed);
            watch(bytes, elapsed);
            thread::sleep(POLL_INTERVAL);
        }
        let join = |thread: JoinHandle<Result<SideReport, PerfError>>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        match (join(serving), join(driving)) {
            (Ok(server), Ok(client)) => Ok(Visit {
                server,
                client,
                pause: pauses.longest(),
            }),
            // The failure of the peer is more informative than a timeout.
            (Err(error), Ok(_) | Err(PerfError::Silence(_))) | (_, Err(error)) => Err(error),
        }
    }
}

impl PerfSceneParts {
    fn serve(
        &self,
        arm: &Arm,
        job: &Job,
        tell: &Sender<SocketAddr>,
    ) -> Result<SideReport, PerfError> {
        let namespace = self.path.server();
        let at = SocketAddr::new(namespace.address_v4().into(), 0);
        namespace.run(|| {
            keep_on(job.core)?;
            let station = engine::by_name(arm.engine).listen(at, &self.identity, job)?;
            // The receiver may have given up already.
            let _ = tell.send(station.address());
            station.serve()
        })?
    }

    fn drive(
        &self,
        arm: &Arm,
        job: &Job,
        hear: Receiver<SocketAddr>,
    ) -> Result<SideReport, PerfError> {
        self.path.client().run(move || {
            keep_on(job.core)?;
            let to = hear
                .recv_timeout(PEER_TIMEOUT)
                .map_err(|_| PerfError::Silence(PEER_TIMEOUT))?;
            engine::by_name(arm.engine).drive(to, &self.identity.trust(), job)
        })?
    }
}

/// Pins the calling thread; threads that it starts inherit that.
pub(crate) fn keep_on(core: Option<usize>) -> Result<(), PerfError> {
    core.map_or(Ok(()), |core| {
        pin_to(core).map_err(|source| PerfError::Pin { core, source })
    })
}

fn path(terrain: &Terrain) -> Result<Path, PerfError> {
    let mut builder = Path::builder();
    match terrain {
        Terrain::Emulated(words, _) => {
            for (word, value) in words {
                builder.set(word, value).map_err(PlanError::from)?;
            }
        }
        _ => builder = builder.bare(),
    }
    if let Some(ends) = terrain.ends() {
        builder = builder.offload(ends.offload).mtu(ends.mtu);
    }
    Ok(builder.build()?)
}
