//! Where a thread's clients come in: doors that are opened once, and closed when the thread is to end.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_local};
use tokio::time::{Instant, sleep_until};

use super::thread_plan::Present;
use crate::GateError;
use crate::accept::admission::Admission;
use crate::accept::connection_limits::Census;
use crate::accept::listener::{Entrance, QuicEntrance, Tally, ThreadSockets};
use crate::accept::thread::House;
use crate::forward::upstream;
use crate::record::{Gauge, Ledger, Limit, Scribe, SingleUse};
use crate::run::plan::Plan;

pub(super) struct Lobby {
    present: Present,
    admission: Rc<Admission>,
    quic: Vec<Rc<QuicEntrance>>,
    /// What the ledger has heard already.
    single_use: Tally,
    retries: u64,
    doors: JoinSet<()>,
    close: watch::Sender<bool>,
}

impl Lobby {
    pub(super) fn open(
        present: Present,
        sockets: ThreadSockets,
        ledger: Arc<Ledger>,
        census: Arc<Census>,
        scribe: Option<Scribe>,
    ) -> Result<Self, GateError> {
        let house = Rc::new(House::new(
            present.site()?,
            ledger,
            scribe,
            census.exchanges().clone(),
        ));
        let admission = Admission::new(house.clone(), present.manner()?, census);
        let patrolled = house.clone();
        spawn_local(async move { patrolled.patrol.run().await });
        let (close, closing) = watch::channel(false);
        let mut doors = JoinSet::new();
        let failures = Arc::new(AtomicU64::new(0));
        let listeners = sockets.http.into_iter().map(|socket| (socket, false));
        let listeners = listeners.chain(sockets.https.into_iter().map(|socket| (socket, true)));
        for (socket, secure) in listeners {
            let entrance = Entrance::open(socket, secure, failures.clone());
            let entrance = entrance.map_err(GateError::Thread)?;
            doors.spawn_local(admission.clone().receive(entrance, closing.clone()));
        }
        let mut quic = Vec::new();
        for socket in sockets.quic {
            let entrance =
                admission.open_quic(socket, &present.plan.config.limits, &present.plan.seed)?;
            doors.spawn_local(
                admission
                    .clone()
                    .receive_quic(entrance.clone(), closing.clone()),
            );
            quic.push(entrance);
        }
        house.ledger.raise(Gauge::Accepting);
        Ok(Self {
            present,
            admission,
            quic,
            single_use: Tally::default(),
            retries: 0,
            doors,
            close,
        })
    }

    /// Everything was made once already when the plan was; what fails here leaves the thread as it was.
    pub(super) fn follow(&mut self, plan: Arc<Plan>) {
        let next = Present::begin(plan, &self.admission.house().ledger, Some(&self.present));
        let (Ok(site), Ok(manner)) = (next.site(), next.manner()) else {
            return;
        };
        self.admission.house().replace(site);
        for entrance in &self.quic {
            entrance.follow(manner.tls.clone(), &next.plan.config.limits);
        }
        self.admission.change(manner);
        self.present = next;
    }

    /// Who waits at the door is still let in; then the doors close, and whoever is inside may finish.
    pub(super) async fn empty(mut self, until: Instant) -> usize {
        let house = self.admission.house().clone();
        house.ledger.lower(Gauge::Accepting);
        house.drain();
        self.close.send_replace(true);
        let emptied = async {
            while self.doors.join_next().await.is_some() {}
            house.emptied().await;
        };
        tokio::select! {
            () = emptied => {}
            () = sleep_until(until) => {}
        }
        house.inside()
    }

    /// The ledger hears of what others count.
    pub(super) fn tell(&mut self) {
        let ledger = &self.admission.house().ledger;
        upstream::tell(self.present.upstreams.values(), ledger);
        let now = self.admission.single_use();
        let before = std::mem::replace(&mut self.single_use, now);
        ledger.add(SingleUse::Taken, now.taken.saturating_sub(before.taken));
        ledger.add(SingleUse::Absent, now.absent.saturating_sub(before.absent));
        ledger.add(SingleUse::Failed, now.failed.saturating_sub(before.failed));
        let retries = self.quic.iter().map(|entrance| entrance.retries()).sum();
        let before = std::mem::replace(&mut self.retries, retries);
        ledger.add(Limit::Unproved, retries.saturating_sub(before));
    }
}
