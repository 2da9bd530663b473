//! A thread's listeners: opened once, and closed when the thread has to end.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use roundtrip_quic::StrayCounts;
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_local};
use tokio::time::{Instant, sleep_until};

use super::thread_plan::ThreadPlan;
use crate::GateError;
use crate::accept::admission::{Admission, ListenerRole};
use crate::accept::connection_limits::ConnectionLimits;
use crate::accept::listener::{Listener, QuicListener, SingleUseCounts, ThreadSockets};
use crate::accept::thread::Thread;
use crate::forward::upstream;
use crate::record::{
    Gauge, LabelValue, Ledger, Limit, QuicStray, SingleUse, SpanSender, ThreadLog, Tracer,
};
use crate::run::plan::Plan;

pub(super) struct Listeners {
    thread_plan: ThreadPlan,
    admission: Rc<Admission>,
    quic: Vec<Rc<QuicListener>>,
    /// What has been reported to the ledger.
    single_use: SingleUseCounts,
    retries: u64,
    over_budget: u64,
    strays: [u64; QuicStray::COUNT],
    accepting: JoinSet<()>,
    close: watch::Sender<bool>,
}

impl Listeners {
    pub(super) fn open(
        thread_plan: ThreadPlan,
        sockets: ThreadSockets,
        ledger: Arc<Ledger>,
        connection_limits: Arc<ConnectionLimits>,
        log: Option<ThreadLog>,
        spans: Option<SpanSender>,
    ) -> Result<Self, GateError> {
        let exchanges = connection_limits.exchanges().clone();
        let thread = Thread::new(thread_plan.site()?, ledger, log, exchanges);
        let thread = Rc::new(thread.traced(spans.map(Tracer::new).transpose()?));
        let admission = Admission::new(
            thread.clone(),
            thread_plan.accept_config()?,
            connection_limits,
        );
        let ticking = thread.clone();
        spawn_local(async move { ticking.deadlines.run().await });
        let (close, closing) = watch::channel(false);
        let mut accepting = JoinSet::new();
        let failures = Arc::new(AtomicU64::new(0));
        let authz = sockets.authz;
        let backlog = thread_plan.plan.config.listen.backlog;
        for (sockets, secure, role) in [
            (sockets.http, false, ListenerRole::Clients),
            (sockets.https, true, ListenerRole::Clients),
            (authz.http, false, ListenerRole::Proxies),
            (authz.grpc, false, ListenerRole::GrpcProxies),
            (authz.https, true, ListenerRole::Proxies),
        ] {
            for socket in sockets {
                let listener = Listener::open(socket, backlog, secure, failures.clone());
                let listener = listener.map_err(GateError::Thread)?;
                accepting.spawn_local(admission.clone().receive(listener, role, closing.clone()));
            }
        }
        let mut quic = Vec::new();
        for socket in sockets.quic {
            let listener = admission.open_quic(
                socket,
                &thread_plan.plan.config.limits,
                sockets.quic_memory,
                &thread_plan.plan.seed,
            )?;
            accepting.spawn_local(
                admission
                    .clone()
                    .receive_quic(listener.clone(), closing.clone()),
            );
            quic.push(listener);
        }
        thread.ledger.raise(Gauge::Accepting);
        Ok(Self {
            thread_plan,
            admission,
            quic,
            single_use: SingleUseCounts::default(),
            retries: 0,
            over_budget: 0,
            strays: [0; QuicStray::COUNT],
            accepting,
            close,
        })
    }

    /// The plan's parts were already made once without an error; if an error occurs here
    /// nevertheless, the thread keeps its old plan.
    pub(super) fn follow(&mut self, plan: Arc<Plan>) {
        let next = ThreadPlan::begin(
            plan,
            &self.admission.thread().ledger,
            Some(&self.thread_plan),
        );
        let (Ok(site), Ok(accept_config)) = (next.site(), next.accept_config()) else {
            return;
        };
        self.admission.thread().replace(site);
        for listener in &self.quic {
            listener.follow(accept_config.tls.clone(), &next.plan.config.limits);
        }
        self.admission.change(accept_config);
        self.thread_plan = next;
    }

    /// Accepts the clients whose connections have begun, then closes the listeners; open exchanges
    /// may finish.
    pub(super) async fn empty(mut self, until: Instant) -> usize {
        let thread = self.admission.thread().clone();
        thread.ledger.lower(Gauge::Accepting);
        thread.drain();
        self.close.send_replace(true);
        let emptied = async {
            while self.accepting.join_next().await.is_some() {}
            thread.emptied().await;
        };
        tokio::select! {
            () = emptied => {}
            () = sleep_until(until) => {}
        }
        thread.inside()
    }

    /// Adds the counts of the listeners to the ledger.
    pub(super) fn tell(&mut self) {
        let ledger = &self.admission.thread().ledger;
        upstream::report(self.thread_plan.upstreams.values(), ledger);
        let now = self.admission.single_use();
        let before = std::mem::replace(&mut self.single_use, now);
        ledger.add(SingleUse::Taken, now.taken.saturating_sub(before.taken));
        ledger.add(SingleUse::Absent, now.absent.saturating_sub(before.absent));
        ledger.add(SingleUse::Failed, now.failed.saturating_sub(before.failed));
        let retries = self.quic.iter().map(|listener| listener.retries()).sum();
        let before = std::mem::replace(&mut self.retries, retries);
        ledger.add(Limit::Unproved, retries.saturating_sub(before));
        let refused = self.quic.iter().map(|listener| listener.over_budget());
        let refused = refused.sum();
        let before = std::mem::replace(&mut self.over_budget, refused);
        ledger.add(Limit::QuicMemory, refused.saturating_sub(before));
        for (fate, count) in strays(&self.quic) {
            if let Some(before) = self.strays.get_mut(fate.index()) {
                ledger.add(fate, count.saturating_sub(*before));
                *before = count;
            }
        }
        let memory = self
            .quic
            .iter()
            .map(|listener| listener.memory_used())
            .sum();
        ledger.set(Gauge::QuicMemory, memory);
    }
}

fn strays(listeners: &[Rc<QuicListener>]) -> [(QuicStray, u64); QuicStray::COUNT] {
    let all: Vec<StrayCounts> = listeners.iter().map(|listener| listener.strays()).collect();
    let sum = |count: fn(&StrayCounts) -> u64| all.iter().map(count).sum();
    [
        (QuicStray::Retried, sum(|c| c.retried)),
        (QuicStray::OtherVersion, sum(|c| c.other_version)),
        (QuicStray::BadToken, sum(|c| c.bad_token)),
        (QuicStray::Refused, sum(|c| c.refused)),
        (QuicStray::Reset, sum(|c| c.reset)),
        (QuicStray::HandedOver, sum(|c| c.handed_over)),
        (QuicStray::Overtook, sum(|c| c.overtook)),
        (QuicStray::Dropped, sum(|c| c.dropped)),
    ]
}
