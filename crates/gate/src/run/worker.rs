//! One thread: its sockets, its runtime, and everything that its connections share. It follows
//! orders: to serve another plan, or to end.

mod busy_poll;
mod listeners;
mod thread_plan;

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::LocalOptions;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::GateError;
use crate::accept::connection_limits::ConnectionLimits;
use crate::accept::listener::ThreadSockets;
use crate::record::{Ledger, SpanSender, ThreadLog};
use crate::run::plan::Plan;
use listeners::Listeners;
use thread_plan::ThreadPlan;

/// How often the upstreams' counts go to the ledger.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// An order to a thread.
#[derive(Clone)]
pub(crate) struct WorkerOrder {
    pub(crate) plan: Arc<Plan>,
    pub(crate) stage: WorkerMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerMode {
    Serve,
    /// Accept nothing new; open exchanges may continue until this time.
    Drain {
        until: Instant,
    },
}

/// Everything that a thread gets when it starts.
pub(crate) struct Worker {
    pub(crate) sockets: ThreadSockets,
    pub(crate) orders: watch::Receiver<WorkerOrder>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) connection_limits: Arc<ConnectionLimits>,
    pub(crate) log: Option<ThreadLog>,
    pub(crate) spans: Option<SpanSender>,
}

impl Worker {
    /// Serves until it gets the order to end, and returns how many connections were cut. `ready` is
    /// called when clients are accepted, or with the error.
    pub(crate) fn run(self, ready: impl FnOnce(Result<(), GateError>)) -> usize {
        let busy_poll = self.orders.borrow().plan.config.listen.busy_poll.0;
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().event_interval(61);
        if !busy_poll.is_zero() {
            builder.on_thread_unpark(busy_poll::thread_woke_up);
        }
        // On a `LocalRuntime`, the driver of a QUIC socket and the tasks of its connections share
        // one queue: with a `LocalSet`, each turn between them would ask the kernel for events.
        let runtime = match builder.build_local(LocalOptions::default()) {
            Ok(runtime) => runtime,
            Err(source) => {
                ready(Err(GateError::Thread(source)));
                return 0;
            }
        };
        if !busy_poll.is_zero() {
            runtime.spawn_local(busy_poll::keep_awake(busy_poll));
        }
        runtime.block_on(self.serve(ready))
    }

    async fn serve(self, ready: impl FnOnce(Result<(), GateError>)) -> usize {
        let mut orders = self.orders;
        let order = orders.borrow_and_update().clone();
        let thread_plan = ThreadPlan::begin(order.plan, &self.ledger, None);
        let listeners = Listeners::open(
            thread_plan,
            self.sockets,
            self.ledger,
            self.connection_limits,
            self.log,
            self.spans,
        );
        let mut listeners = match listeners {
            Ok(listeners) => listeners,
            Err(error) => {
                ready(Err(error));
                return 0;
            }
        };
        ready(Ok(()));
        let mut ticks = interval(REPORT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let changed = tokio::select! {
                changed = orders.changed() => changed.is_ok(),
                _ = ticks.tick() => {
                    listeners.tell();
                    continue;
                }
            };
            let order = orders.borrow_and_update().clone();
            let stage = if changed {
                order.stage
            } else {
                WorkerMode::Drain {
                    until: Instant::now(),
                }
            };
            match stage {
                WorkerMode::Serve => listeners.follow(order.plan),
                WorkerMode::Drain { until } => return listeners.empty(until).await,
            }
        }
    }
}
