//! The task that owns the socket: takes in what came, keeps the connections' times, and lets them send, each for a bounded
//! while, so that acknowledgements are heard between bursts and other tasks have their turn.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use roundtrip_net::datagrams::{Parcel, is_too_long};
use roundtrip_net::{Alarm, Watch};
use roundtrip_quic::{Handle, Time, Transmit, Way};
use tokio::task::yield_now;

use crate::socket::Socket;
use crate::state::Harbour;

/// Calls in a row that take in, and bursts in a row that leave.
const MOST_CALLS: usize = 4;
const MOST_BURSTS: usize = 4;
/// Rounds of both before other tasks have their turn.
const MOST_ROUNDS: usize = 4;
/// How long it waits for room in the socket.
const FULL: Duration = Duration::from_millis(1);
const BUFFER: usize = 96 << 10;

pub(crate) struct Driver {
    works: Works,
    /// Dropped last: who is told that the socket is closed can rely on it.
    notice: Notice,
}

struct Works {
    socket: Socket,
    incoming: Watch,
    alarm: Alarm,
    ringing: Watch,
    /// What the alarm is set to.
    set_to: Option<Time>,
    /// The last round ended in the midst of sending.
    sending: bool,
    /// A single run was taken in: no other is before everybody else has had their turn.
    others_turn: bool,
    buffer: Vec<u8>,
    /// A burst in the buffer that the socket had no room for.
    held: Option<(Handle, Transmit)>,
    reply: Vec<u8>,
    due: Vec<Handle>,
    wakes: Vec<Waker>,
    harbour: Harbour,
}

struct Notice(Harbour);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// There is more to do.
    Again,
    /// The same, once all others have had their turn.
    Later,
    /// Somebody will say when.
    Asleep,
    Over,
}

impl Driver {
    pub(crate) fn new(socket: Socket, harbour: Harbour) -> io::Result<Self> {
        let alarm = Alarm::new()?;
        let works = Works {
            incoming: socket.watch()?,
            ringing: Watch::new(&alarm)?,
            alarm,
            socket,
            set_to: None,
            sending: false,
            others_turn: false,
            buffer: vec![0; BUFFER],
            held: None,
            reply: Vec::new(),
            due: Vec::new(),
            wakes: Vec::new(),
            harbour: harbour.clone(),
        };
        let notice = Notice(harbour);
        Ok(Self { works, notice })
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let _ = &self.notice;
        for _ in 0..MOST_ROUNDS {
            match self.works.round(cx) {
                Ok(Round::Again) => {}
                Ok(Round::Later) => break,
                Ok(Round::Asleep) => return Poll::Pending,
                // A socket that cannot be read any more is closed.
                Ok(Round::Over) | Err(_) => return Poll::Ready(()),
            }
        }
        // Woken when everybody else has had it: whoever merely wakes itself comes before the task that others wait in.
        pin!(yield_now()).poll(cx)
    }
}

impl Works {
    fn round(&mut self, cx: &mut Context<'_>) -> io::Result<Round> {
        let more_came = self.take_in(cx)?;
        let late = self.keep_time();
        let more_to_send = self.send_off();
        self.sending = more_to_send;
        if std::mem::take(&mut self.others_turn) {
            return Ok(Round::Later);
        }
        if more_came || late || more_to_send {
            return Ok(Round::Again);
        }
        self.rest(cx)
    }

    /// True where there may be more. In the midst of sending it looks even where the runtime has not: acknowledgements
    /// are to be heard between bursts.
    fn take_in(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        for _ in 0..MOST_CALLS {
            if self.others_turn {
                break;
            }
            let readable = match self.incoming.poll_readable(cx) {
                Poll::Ready(guard) => Some(guard?),
                Poll::Pending if self.sending => None,
                Poll::Pending => return Ok(false),
            };
            let (came, more) = match self.socket.receive() {
                Ok(more) => (true, more),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (false, false),
                Err(error) => return Err(error),
            };
            // What comes after the call is told of anew.
            if let Some(mut guard) = readable.filter(|_| !more) {
                guard.clear_ready();
            }
            if came {
                self.deliver();
            }
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn deliver(&mut self) {
        self.others_turn = self.socket.came_singly();
        let mut state = self.harbour.lock();
        let now = state.now();
        for mut arrival in self.socket.arrivals_mut() {
            let way = Way {
                remote: arrival.from,
                local: arrival.to,
                ecn: arrival.ecn,
            };
            for datagram in arrival.datagrams_mut() {
                if let Some(handle) = state.endpoint.receive(now, &way, datagram) {
                    state.stir(handle);
                }
            }
        }
        state.admit(&mut self.wakes);
        drop(state);
        self.wake();
    }

    /// True where a time has come.
    fn keep_time(&mut self) -> bool {
        let mut state = self.harbour.lock();
        let now = state.now();
        if state
            .endpoint
            .deadline()
            .is_none_or(|deadline| deadline > now)
        {
            return false;
        }
        self.due.clear();
        state.endpoint.on_timeout(now, &mut self.due);
        for handle in &self.due {
            state.stir(*handle);
        }
        !self.due.is_empty()
    }

    /// True where there may be more to send, and room for it.
    fn send_off(&mut self) -> bool {
        if let Some((handle, burst)) = self.held.take()
            && !self.send(handle, &burst)
        {
            return false;
        }
        self.answer();
        for _ in 0..MOST_BURSTS {
            let next = self
                .harbour
                .lock()
                .next_burst(&mut self.buffer, &mut self.wakes);
            self.wake();
            let Some((handle, burst)) = next else {
                return false;
            };
            if !self.send(handle, &burst) {
                return false;
            }
        }
        true
    }

    /// False where there was no room: the burst is kept.
    fn send(&mut self, handle: Handle, burst: &Transmit) -> bool {
        let bytes = self.buffer.get(..burst.length).unwrap_or_default();
        match self.socket.send(&parcel(burst, bytes)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.held = Some((handle, *burst));
                return false;
            }
            Err(error) if is_too_long(&error) => {
                if let Some(connection) = self.harbour.lock().connection(handle) {
                    connection.on_too_big(burst.segment);
                }
            }
            // No route, or a firewall: as if it had been lost on the way.
            Ok(()) | Err(_) => {}
        }
        true
    }

    /// What is said to those who have no connection may be lost.
    fn answer(&mut self) {
        loop {
            let Some(reply) = self.harbour.lock().endpoint.reply(&mut self.reply) else {
                return;
            };
            let bytes = self.reply.get(..reply.length).unwrap_or_default();
            let _ = self.socket.send(&parcel(&reply, bytes));
        }
    }

    fn rest(&mut self, cx: &mut Context<'_>) -> io::Result<Round> {
        let (now, mut deadline) = {
            let mut state = self.harbour.lock();
            if self.held.is_none() && state.is_over() {
                return Ok(Round::Over);
            }
            if !state.sleep(cx.waker()) && self.held.is_none() {
                return Ok(Round::Again);
            }
            (state.now(), state.endpoint.deadline())
        };
        if self.held.is_some() {
            let soon = now.after(FULL);
            deadline = Some(deadline.map_or(soon, |deadline| deadline.min(soon)));
        }
        let rung = self.set_alarm(cx, now, deadline)?;
        // Where nothing came, the runtime wakes us when something does.
        let came = match self.incoming.poll_readable(cx) {
            Poll::Ready(readable) => readable.map(|_| true)?,
            Poll::Pending => false,
        };
        Ok(if rung || came {
            Round::Again
        } else {
            Round::Asleep
        })
    }

    /// True where the time has come already. An alarm that is set too early does no harm.
    fn set_alarm(
        &mut self,
        cx: &mut Context<'_>,
        now: Time,
        deadline: Option<Time>,
    ) -> io::Result<bool> {
        if let Some(deadline) = deadline {
            if deadline <= now && self.held.is_none() {
                return Ok(true);
            }
            if self.set_to.is_none_or(|set_to| deadline < set_to) {
                self.alarm.set(deadline.since(now))?;
                self.set_to = Some(deadline);
            }
        }
        while let Poll::Ready(ready) = self.ringing.poll_readable(cx) {
            let mut guard = ready?;
            if self.alarm.hear() {
                self.set_to = None;
                return Ok(true);
            }
            guard.clear_ready();
        }
        Ok(false)
    }

    fn wake(&mut self) {
        self.wakes.drain(..).for_each(Waker::wake);
    }
}

impl Drop for Notice {
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
