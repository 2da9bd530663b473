//! What all tasks share: the engine, its connections' berths, and the queue of those that the driver has to look after.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Instant, SystemTime};

use roundtrip_quic::{
    ClientConfig, CloseReason, ConnectError, Connection, Endpoint, Handle, Time, Transmit,
};

use crate::connection_wakers::Berth;
use crate::wakers::{Crowd, Place, Wish};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Open,
    /// All connections are closed, and that is still to be said.
    Closing,
    /// The socket is closed.
    Over,
}

#[derive(Clone)]
pub(crate) struct Harbour(Arc<Mutex<State>>);

pub(crate) struct State {
    pub(crate) endpoint: Endpoint,
    pub(crate) stage: Stage,
    /// Nobody can accept or connect any more.
    abandoned: bool,
    berths: HashMap<Handle, Berth>,
    stirred: VecDeque<Handle>,
    arrived: VecDeque<Handle>,
    /// Where the driver sleeps.
    driver: Option<Waker>,
    crowd: Crowd,
    began: Instant,
    /// When that was, since 1970: tokens that one dock gives are good at others, whose time has to be the same.
    began_at: Time,
}

impl Harbour {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self(Arc::new(Mutex::new(State {
            endpoint,
            stage: Stage::Open,
            abandoned: false,
            berths: HashMap::new(),
            stirred: VecDeque::new(),
            arrived: VecDeque::new(),
            driver: None,
            crowd: Crowd::default(),
            began: Instant::now(),
            began_at: since_1970(),
        })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the dock as a whole gives an answer.
    pub(crate) async fn wait<R>(&self, mut ask: impl FnMut(&mut State) -> Option<R>) -> R {
        let seat = Seat {
            harbour: self,
            place: self.lock().crowd.place(),
        };
        poll_fn(|cx| {
            let mut state = self.lock();
            if let Some(answer) = ask(&mut state) {
                return Poll::Ready(answer);
            }
            state.crowd.wait(seat.place, Wish::Stage, cx);
            Poll::Pending
        })
        .await
    }
}

struct Seat<'a> {
    harbour: &'a Harbour,
    place: Place,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.harbour.lock().crowd.leave(self.place);
    }
}

impl State {
    pub(crate) fn now(&self) -> Time {
        self.began_at.after(self.began.elapsed())
    }

    pub(crate) fn connect(
        &mut self,
        config: &ClientConfig,
        remote: SocketAddr,
        name: &str,
    ) -> Result<Handle, ConnectError> {
        let handle = self.endpoint.connect(self.now(), config, remote, name)?;
        self.berths.insert(handle, Berth::default());
        self.stir(handle);
        Ok(handle)
    }

    pub(crate) fn take_arrived(&mut self) -> Option<Handle> {
        self.arrived.pop_front()
    }

    pub(crate) fn unmute(&mut self, handle: Handle) {
        if let Some(berth) = self.berths.get_mut(&handle) {
            berth.mute = false;
        }
        self.stir(handle);
    }

    /// Connections that clients began get their berths.
    pub(crate) fn admit(&mut self, wakes: &mut Vec<Waker>) {
        let mut came = false;
        while let Some(handle) = self.endpoint.accept() {
            self.berths.insert(handle, Berth::arrived());
            self.stir(handle);
            if self.abandoned || self.stage != Stage::Open {
                self.unmute(handle);
                self.forsake(handle);
            } else {
                self.arrived.push_back(handle);
                came = true;
            }
        }
        if came {
            self.crowd.call_all(wakes);
        }
    }

    /// The connection has events or something to send, or may have.
    pub(crate) fn stir(&mut self, handle: Handle) {
        if let Some(berth) = self.berths.get_mut(&handle)
            && !berth.stirred
        {
            berth.stirred = true;
            self.stirred.push_back(handle);
            if let Some(driver) = self.driver.take() {
                driver.wake();
            }
        }
    }

    /// Uses a connection that is alive; it is looked after soon.
    pub(crate) fn act<R>(
        &mut self,
        handle: Handle,
        act: impl FnOnce(&mut Connection, &mut Berth, Time) -> R,
    ) -> Result<R, CloseReason> {
        let result = self.look(handle, act)?;
        self.stir(handle);
        Ok(result)
    }

    /// The same for what changes nothing that the peer could see.
    pub(crate) fn look<R>(
        &mut self,
        handle: Handle,
        look: impl FnOnce(&mut Connection, &mut Berth, Time) -> R,
    ) -> Result<R, CloseReason> {
        let now = self.now();
        let gone = CloseReason::Local { code: 0 };
        let berth = self.berths.get_mut(&handle).ok_or_else(|| gone.clone())?;
        if let Some(reason) = &berth.ended {
            return Err(reason.clone());
        }
        let connection = self.endpoint.connection(handle).ok_or(gone)?;
        Ok(look(connection, berth, now))
    }

    /// What is known of a connection, which may be over.
    pub(crate) fn berth(&mut self, handle: Handle) -> Option<&mut Berth> {
        self.berths.get_mut(&handle)
    }

    /// A connection whose state can be asked for, though it may be over.
    pub(crate) fn connection(&mut self, handle: Handle) -> Option<&mut Connection> {
        let berth = self.berths.get_mut(&handle)?;
        match &mut berth.drained {
            Some(drained) => Some(drained),
            None => self.endpoint.connection(handle),
        }
    }

    /// Takes the next connection that has something to be looked after, and fills a burst of it.
    pub(crate) fn next_burst(
        &mut self,
        buffer: &mut [u8],
        wakes: &mut Vec<Waker>,
    ) -> Option<(Handle, Transmit)> {
        let now = self.now();
        while let Some(handle) = self.stirred.pop_front() {
            let Some(berth) = self.berths.get_mut(&handle) else {
                continue;
            };
            berth.stirred = false;
            let Some(connection) = self.endpoint.connection(handle) else {
                continue;
            };
            berth.hear(connection, wakes);
            let burst = (!berth.mute)
                .then(|| connection.transmit(now, buffer))
                .flatten();
            // What was to be sent may have been the end.
            berth.hear(connection, wakes);
            if let Some(burst) = burst {
                berth.stirred = true;
                self.stirred.push_back(handle);
                return Some((handle, burst));
            }
            if connection.is_drained() {
                berth.drained = self.endpoint.remove(handle).map(Box::new);
                if self.endpoint.is_empty() {
                    self.crowd.call_all(wakes);
                }
                if berth.forsaken {
                    self.berths.remove(&handle);
                }
            }
        }
        None
    }

    /// The driver goes to sleep, unless it has something to do.
    pub(crate) fn sleep(&mut self, waker: &Waker) -> bool {
        if !self.stirred.is_empty() {
            return false;
        }
        self.driver = Some(waker.clone());
        true
    }

    /// Nothing is left to do, and nobody is left to do it for.
    pub(crate) fn is_over(&self) -> bool {
        let ended = || self.berths.values().all(|berth| berth.ended.is_some());
        match self.stage {
            Stage::Open => self.stirred.is_empty() && self.abandoned && ended(),
            Stage::Closing => self.stirred.is_empty(),
            Stage::Over => true,
        }
    }

    /// Nobody holds the connection any more.
    pub(crate) fn forsake(&mut self, handle: Handle) {
        let now = self.now();
        let Some(berth) = self.berths.get_mut(&handle) else {
            return;
        };
        berth.forsaken = true;
        if berth.drained.is_some() {
            self.berths.remove(&handle);
        } else if let Some(connection) = self.endpoint.connection(handle) {
            connection.close(now, 0, b"");
            self.stir(handle);
        }
        self.rouse();
    }

    /// Nobody holds the dock any more.
    pub(crate) fn abandon(&mut self) {
        self.abandoned = true;
        while let Some(handle) = self.take_arrived() {
            self.unmute(handle);
            self.forsake(handle);
        }
        self.rouse();
    }

    pub(crate) fn close_all(&mut self, code: u64, reason: &[u8]) {
        if self.stage != Stage::Open {
            return;
        }
        self.stage = Stage::Closing;
        while let Some(handle) = self.take_arrived() {
            self.unmute(handle);
        }
        let now = self.now();
        let handles: Vec<Handle> = self.berths.keys().copied().collect();
        for handle in handles {
            if let Some(connection) = self.endpoint.connection(handle) {
                connection.close(now, code, reason);
            }
            self.stir(handle);
        }
        let mut wakes = Vec::new();
        self.crowd.call_all(&mut wakes);
        wakes.into_iter().for_each(Waker::wake);
        self.rouse();
    }

    /// The socket is closed: whoever still waits, waits for nothing.
    pub(crate) fn finish(&mut self, wakes: &mut Vec<Waker>) {
        self.stage = Stage::Over;
        self.driver = None;
        for berth in self.berths.values_mut() {
            berth.end(CloseReason::Local { code: 0 }, wakes);
        }
        self.crowd.call_all(wakes);
    }

    fn rouse(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }
}

fn since_1970() -> Time {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Time::ZERO.after(since)
}
