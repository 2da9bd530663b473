//! The task that owns the socket. It receives, fires timers and sends, a bounded number of each in
//! turn, so that acknowledgements are processed between bursts and other tasks get to run.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use roundtrip_net::Watch;
use roundtrip_net::datagrams::{Parcel, is_too_long};
use roundtrip_quic::{Handle, Misdirected, RecvMeta, Transmit};
use tokio::task::yield_now;

use crate::sibling::Sibling;
use crate::socket::Socket;
use crate::state::Shared;
use crate::timer::Timer;

/// The largest number of receive calls in one round.
const MAX_RECEIVE_CALLS: usize = 4;
/// No burst is begun in a round that has sent this many bytes: four bursts of bulk data, or small
/// answers on many connections.
const MAX_SENT_BYTES: usize = 192 << 10;
/// The largest number of rounds before other tasks get to run.
const MAX_ROUNDS: usize = 4;
/// How long the driver waits for room in a full socket.
const FULL_SOCKET_WAIT: Duration = Duration::from_millis(1);
/// How long the driver waits before it tries again to read a socket that failed.
const FAILED_READ_WAIT: Duration = Duration::from_millis(10);
const SEND_BUFFER_SIZE: usize = 96 << 10;

pub(crate) struct Driver {
    rounds: Rounds,
    /// Dropped last, so that the socket is already closed when tasks learn of it.
    notice: ClosedNotice,
}

struct Rounds {
    socket: Socket,
    incoming: Watch,
    timer: Timer,
    /// The last round ended before everything was sent.
    sending: bool,
    /// The socket could not be read, though something may be there: for example, memory was short.
    failed_read: bool,
    /// A single run was received for an observer that wants each of them: other tasks run before
    /// the next one is received.
    others_first: bool,
    buffer: Vec<u8>,
    /// A burst in the buffer that the socket had no room for.
    unsent: Option<(Handle, Transmit)>,
    reply: Vec<u8>,
    due: Vec<Handle>,
    wakes: Vec<Waker>,
    /// The endpoint's place among those that share the address.
    sibling: Option<Sibling>,
    misdirected: Vec<Misdirected>,
    shared: Shared,
}

/// Informs all tasks that the socket is closed.
struct ClosedNotice(Shared);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// There is more to do.
    Again,
    /// There is more to do, once other tasks have run.
    Later,
    /// There is nothing to do until the driver is woken.
    Asleep,
    Over,
}

impl Driver {
    pub(crate) fn new(
        socket: Socket,
        shared: Shared,
        sibling: Option<Sibling>,
    ) -> io::Result<Self> {
        let rounds = Rounds {
            incoming: socket.watch()?,
            timer: Timer::new()?,
            socket,
            sending: false,
            failed_read: false,
            others_first: false,
            buffer: vec![0; SEND_BUFFER_SIZE],
            unsent: None,
            reply: Vec::new(),
            due: Vec::new(),
            wakes: Vec::new(),
            sibling,
            misdirected: Vec::new(),
            shared: shared.clone(),
        };
        let notice = ClosedNotice(shared);
        Ok(Self { rounds, notice })
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let _ = &self.notice;
        for _ in 0..MAX_ROUNDS {
            match self.rounds.round(cx) {
                Ok(Round::Again) => {}
                Ok(Round::Later) => break,
                Ok(Round::Asleep) => return Poll::Pending,
                // The error comes from a runtime that is shutting down, or from the alarm.
                Ok(Round::Over) | Err(_) => return Poll::Ready(()),
            }
        }
        // Wakes this task after all others have run. Waking it directly would put it before the
        // task that others wait in.
        pin!(yield_now()).poll(cx)
    }
}

impl Rounds {
    fn round(&mut self, cx: &mut Context<'_>) -> io::Result<Round> {
        self.follow_socket()?;
        let more_came = self.receive(cx)?;
        self.take_over();
        let late = self.fire_timers();
        let more_to_send = self.send_bursts();
        self.sending = more_to_send;
        if std::mem::take(&mut self.others_first) {
            return Ok(Round::Later);
        }
        if more_came || late || more_to_send {
            return Ok(Round::Again);
        }
        self.rest(cx)
    }

    /// Continues on another socket if the endpoint got one.
    fn follow_socket(&mut self) -> io::Result<()> {
        let next = self.shared.lock().take_socket();
        if let Some(next) = next {
            self.socket.replace(next);
            self.incoming = self.socket.watch()?;
        }
        Ok(())
    }

    /// Returns true if there may be more.
    ///
    /// While sending, it reads even if the runtime reports nothing: acknowledgements have to be
    /// processed between bursts.
    fn receive(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        for _ in 0..MAX_RECEIVE_CALLS {
            if self.others_first {
                break;
            }
            let readable = match self.incoming.poll_readable(cx) {
                Poll::Ready(guard) => Some(guard?),
                Poll::Pending if self.sending || self.failed_read => None,
                Poll::Pending => return Ok(false),
            };
            let (came, more, failed) = match self.socket.receive() {
                Ok(more) => (true, more, false),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (false, false, false),
                // The failure may be temporary, and all connections would end with the socket.
                Err(_) => (false, false, true),
            };
            self.failed_read = failed;
            // The runtime notices data that arrives after the call.
            if let Some(mut guard) = readable.filter(|_| !more) {
                guard.clear_ready();
            }
            if came {
                self.deliver();
            }
            self.hear_unreachable();
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Passes what was received to the engine.
    fn deliver(&mut self) {
        self.others_first = self.socket.received_single_run();
        let observer = self.socket.observer();
        let mut state = self.shared.lock();
        let has_neighbours = self.sibling.as_ref().is_some_and(Sibling::has_neighbours);
        state.engine.set_hands_on(has_neighbours);
        let now = state.now();
        let read = observer.as_ref().map(|observer| observer.now());
        for mut arrival in self.socket.arrivals_mut() {
            let way = RecvMeta {
                remote: arrival.from,
                local: arrival.to,
                ecn: arrival.ecn,
            };
            let mut reader = None;
            for datagram in arrival.datagrams_mut() {
                if let Some(handle) = state.engine.receive(now, &way, datagram) {
                    state.queue(handle);
                    reader = Some(handle);
                }
            }
            if let Some((observer, read)) = observer.as_ref().zip(read) {
                let at = arrival.moment(|| observer.now());
                let connection = reader.and_then(|handle| state.connection(handle));
                let counted = connection.map(|connection| connection.stats());
                observer.on_read(at, read, arrival.bytes.len(), counted.as_ref());
            }
        }
        state.take_in(&mut self.wakes, &mut self.misdirected);
        drop(state);
        self.hand_out();
    }

    /// Wakes the tasks that wait for what arrived, and hands over datagrams for other endpoints.
    fn hand_out(&mut self) {
        self.wake();
        if let Some(sibling) = &self.sibling {
            self.misdirected
                .drain(..)
                .for_each(|next| sibling.give(next));
        }
    }

    /// Passes to the engine the datagrams that siblings have handed over.
    fn take_over(&mut self) {
        let handed_over = self.sibling.as_ref().map(Sibling::take);
        let Some(handed_over) = handed_over.filter(|datagrams| !datagrams.is_empty()) else {
            return;
        };
        let mut state = self.shared.lock();
        let now = state.now();
        // It is handed over once.
        state.engine.set_hands_on(false);
        for (way, mut datagram) in handed_over {
            if let Some(handle) = state.engine.receive(now, &way, &mut datagram) {
                state.queue(handle);
            }
        }
        state.take_in(&mut self.wakes, &mut self.misdirected);
        drop(state);
        self.hand_out();
    }

    /// Returns true if a timer has fired.
    fn fire_timers(&mut self) -> bool {
        let mut state = self.shared.lock();
        let now = state.now();
        if state
            .engine
            .deadline()
            .is_none_or(|deadline| deadline > now)
        {
            return false;
        }
        self.due.clear();
        state.engine.on_timeout(now, &mut self.due);
        for handle in &self.due {
            state.queue(*handle);
        }
        !self.due.is_empty()
    }

    /// Returns true if there may be more to send, and room for it.
    fn send_bursts(&mut self) -> bool {
        if let Some((handle, burst)) = self.unsent.take()
            && !self.send(handle, &burst)
        {
            return false;
        }
        self.send_replies();
        let mut sent = 0;
        while sent < MAX_SENT_BYTES {
            let next = self
                .shared
                .lock()
                .next_burst(&mut self.buffer, &mut self.wakes);
            self.wake();
            let Some((handle, burst)) = next else {
                return false;
            };
            if !self.send(handle, &burst) {
                return false;
            }
            sent += burst.length;
        }
        true
    }

    /// Sends a burst. If there is no room, keeps it and returns false.
    fn send(&mut self, handle: Handle, burst: &Transmit) -> bool {
        let bytes = self.buffer.get(..burst.length).unwrap_or_default();
        match self.socket.send(&parcel(burst, bytes)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.unsent = Some((handle, *burst));
                return false;
            }
            Err(error) if is_too_long(&error) => {
                if let Some(connection) = self.shared.lock().connection(handle) {
                    connection.on_too_big(burst.segment);
                }
            }
            Ok(true) => {}
            // For example, there is no route, or a firewall forbids it.
            Ok(false) | Err(_) => {
                if let Some(connection) = self.shared.lock().connection(handle) {
                    connection.on_unsent();
                }
            }
        }
        self.hear_unreachable();
        true
    }

    /// Passes on the network's errors about the peer of a connected socket.
    fn hear_unreachable(&mut self) {
        if let Some(why) = self.socket.take_unreachable() {
            self.shared.lock().on_unreachable(why);
        }
    }

    /// Sends answers that belong to no connection. They may be lost.
    fn send_replies(&mut self) {
        loop {
            let Some(reply) = self.shared.lock().engine.reply(&mut self.reply) else {
                return;
            };
            let bytes = self.reply.get(..reply.length).unwrap_or_default();
            let _ = self.socket.send(&parcel(&reply, bytes));
        }
    }

    fn rest(&mut self, cx: &mut Context<'_>) -> io::Result<Round> {
        if let Some(sibling) = &self.sibling
            && !sibling.sleep(cx.waker())
        {
            return Ok(Round::Again);
        }
        let (now, mut deadline) = {
            let mut state = self.shared.lock();
            if self.unsent.is_none() && state.is_over() {
                return Ok(Round::Over);
            }
            if !state.sleep(cx.waker()) && self.unsent.is_none() {
                return Ok(Round::Again);
            }
            (state.now(), state.engine.deadline())
        };
        for (waits, how_long) in [
            (self.unsent.is_some(), FULL_SOCKET_WAIT),
            (self.failed_read, FAILED_READ_WAIT),
        ] {
            if waits {
                let soon = now.after(how_long);
                deadline = Some(deadline.map_or(soon, |deadline| deadline.min(soon)));
            }
        }
        // A full socket is tried again when the timer fires, not at once.
        if deadline.is_some_and(|deadline| deadline <= now) && self.unsent.is_none() {
            return Ok(Round::Again);
        }
        self.timer.wake_at(cx, now, deadline)?;
        // If nothing arrived, the runtime wakes this task when something does.
        match self.incoming.poll_readable(cx) {
            Poll::Ready(readable) => readable.map(|_| Round::Again),
            Poll::Pending => Ok(Round::Asleep),
        }
    }

    fn wake(&mut self) {
        self.wakes.drain(..).for_each(Waker::wake);
    }
}

impl Drop for ClosedNotice {
    fn drop(&mut self) {
        let mut wakes = Vec::new();
        self.0.lock().finish(&mut wakes);
        wakes.into_iter().for_each(Waker::wake);
    }
}

fn parcel<'a>(burst: &Transmit, bytes: &'a [u8]) -> Parcel<'a> {
    Parcel {
        to: burst.to,
        from: burst.from,
        ecn: burst.ecn,
        segment: burst.segment,
        bytes,
    }
}
