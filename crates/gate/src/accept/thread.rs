//! The state that all connections of one thread share: the site that is served now, the deadlines,
//! and the notice that gate is about to end.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Notify;
use tracing::debug;

use crate::accept::buffer_pool::BufferPool;
use crate::accept::concurrency::{Concurrency, Share};
use crate::accept::stream::Peer;
use crate::config::Limits;
use crate::forward::deadlines::Deadlines;
use crate::forward::exchange::ExchangeError;
use crate::forward::site::Site;
use crate::judge::{ForwardedRequest, LoginRequest};
use crate::record::{
    Entry, Gauge, GaugeGuard, LabelValue, Ledger, Limit, Protocol, Reason, ThreadLog, Tracer,
};

/// The shared state of one thread.
///
/// `run::worker` builds it, calls [`Self::replace`] after each reload and [`Self::drain`] at the
/// end, and then waits for [`Self::emptied`]. `accept::admission` calls [`Self::enter`] for each
/// connection, and keeps the result of [`Self::open_connection`] as long as the connection lives. A
/// front calls, for each request, [`Self::entry`], then [`Self::begin`] (which holds the exchange's
/// place in the limits until its result is dropped), and at last [`Self::close`], exactly once,
/// whatever happened in between.
pub(crate) struct Thread<S> {
    site: RefCell<Rc<Site<S>>>,
    pub(crate) deadlines: Deadlines,
    pub(crate) spare: BufferPool,
    pub(crate) ledger: Arc<Ledger>,
    log: Option<ThreadLog>,
    tracer: Option<Rc<Tracer>>,
    concurrency: Arc<Concurrency>,
    draining: Cell<bool>,
    /// The number of open connections, and a notice when it becomes 0.
    inside: Cell<usize>,
    empty: Notify,
}

/// An exchange in progress.
pub(crate) struct Running<'a> {
    _counted: GaugeGuard<'a>,
    share: Share<'a>,
}

impl Running<'_> {
    /// Counts the memory of the request's body, which has grown to this many bytes.
    pub(crate) fn buffer(&self, bytes: usize, limits: &Limits) -> Result<(), Limit> {
        self.share.buffer(bytes, limits)
    }
}

/// Counts an open connection of the thread until it is dropped.
pub(crate) struct OpenConnection<'a, S>(&'a Thread<S>);

impl<S> Thread<S> {
    /// `concurrency` is shared by all threads.
    pub(crate) fn new(
        site: Site<S>,
        ledger: Arc<Ledger>,
        log: Option<ThreadLog>,
        concurrency: Arc<Concurrency>,
    ) -> Self {
        Self {
            site: RefCell::new(Rc::new(site)),
            deadlines: Deadlines::default(),
            spare: BufferPool::default(),
            ledger,
            log,
            tracer: None,
            concurrency,
            draining: Cell::new(false),
            inside: Cell::new(0),
            empty: Notify::new(),
        }
    }

    /// Sends spans of exchanges.
    #[must_use]
    pub(crate) fn traced(mut self, tracer: Option<Tracer>) -> Self {
        self.tracer = tracer.map(Rc::new);
        self
    }

    /// The present site; an exchange keeps the one that it began with.
    pub(crate) fn site(&self) -> Rc<Site<S>> {
        self.site.borrow().clone()
    }

    pub(crate) fn replace(&self, site: Site<S>) {
        *self.site.borrow_mut() = Rc::new(site);
    }

    /// Records an exchange that has ended, with its error if it failed.
    pub(crate) fn close(&self, entry: &mut Entry, error: Option<&ExchangeError>, client: IpAddr) {
        if let Some(error) = error {
            entry.outcome = error.outcome();
            entry.reason = entry.reason.or_else(|| error.reason());
            if let Some(limit) = error.limit() {
                self.ledger.count(limit);
            }
        }
        let ended = entry.ended.unwrap_or_else(Instant::now);
        // The event contains neither target nor fields, because they may hold secrets.
        debug!(
            %client,
            id = entry.caller.id.as_str(),
            protocol = entry.protocol.as_str(),
            status = entry.status,
            reason = entry.reason.map(Reason::as_str),
            error = error.map(tracing::field::display),
            reused = entry.reused,
            retried = entry.retried,
            took = ?ended.saturating_duration_since(entry.began),
            "an exchange ended"
        );
        self.ledger.record(entry, ended);
        if let Some(log) = &self.log {
            log.write(entry, ended, client);
        }
        if let Some(tracer) = &self.tracer {
            tracer.finish(entry, ended, client);
        }
    }

    /// The entry of a new exchange.
    pub(crate) fn entry(&self, peer: Peer, protocol: Protocol) -> Entry {
        let mut entry = Entry::new(Instant::now(), protocol, peer.secure);
        entry.resumed = peer.resumed;
        entry.log_details = self.log.as_ref().map(|_| Box::default());
        entry.tracer.clone_from(&self.tracer);
        entry
    }

    /// Begins an exchange, unless its client or its session has too many in progress.
    pub(crate) fn begin(
        &self,
        site: &Site<S>,
        asked: &ForwardedRequest,
    ) -> Result<Running<'_>, Limit> {
        let session = asked.session.as_ref().map(|session| &**session.name());
        self.begin_for(asked.client, session, &site.policy.limits)
    }

    /// Begins a request that the login service answers, unless its client has too many in progress.
    pub(crate) fn begin_login(
        &self,
        site: &Site<S>,
        asked: &LoginRequest,
    ) -> Result<Running<'_>, Limit> {
        self.begin_for(asked.client, None, &site.policy.limits)
    }

    /// Begins to read a small body, unless the client has too many exchanges or bodies in progress.
    /// The body counts with its largest length.
    pub(crate) fn begin_reading(
        &self,
        site: &Site<S>,
        client: Option<IpAddr>,
        length: u64,
    ) -> Result<Running<'_>, Limit> {
        let limits = &site.policy.limits;
        let running = self.begin_for(client, None, limits)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        running.buffer(length, limits)?;
        Ok(running)
    }

    fn begin_for(
        &self,
        client: Option<IpAddr>,
        session: Option<&str>,
        limits: &Limits,
    ) -> Result<Running<'_>, Limit> {
        let share = self.concurrency.begin(client, session, limits);
        let share = share.inspect_err(|limit| self.ledger.count(*limit))?;
        Ok(Running {
            _counted: self.ledger.hold(Gauge::Exchanges),
            share,
        })
    }

    /// Counts a connection, before the task that serves it runs for the first time: a thread that
    /// is about to end must not overlook it.
    pub(crate) fn enter(&self) {
        self.inside.set(self.inside.get() + 1);
        self.ledger.raise(Gauge::Connections);
    }

    /// Counts a connection that has entered until the result is dropped.
    pub(crate) fn open_connection(&self) -> OpenConnection<'_, S> {
        OpenConnection(self)
    }

    pub(crate) fn inside(&self) -> usize {
        self.inside.get()
    }

    /// Ends when no connection is open.
    pub(crate) async fn emptied(&self) {
        while self.inside.get() > 0 {
            self.empty.notified().await;
        }
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Makes connections end after their present exchange.
    pub(crate) fn drain(&self) {
        self.draining.set(true);
        self.deadlines.wake_resting();
    }
}

impl<S> Drop for OpenConnection<'_, S> {
    fn drop(&mut self) {
        let thread = self.0;
        thread.inside.set(thread.inside.get().saturating_sub(1));
        thread.ledger.lower(Gauge::Connections);
        if thread.inside.get() == 0 {
            thread.empty.notify_one();
        }
    }
}
