//! The loop: calls of the program, arrivals on its sockets, and looks at counters in between.
//!
//! The supervisor holds each socket of the program only while it looks at it, so closing one has
//! its usual effect. An epoll instance keeps watching a file without holding it: it forgets the
//! file when the program closes it.

mod sockets;

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, SystemTime};

use roundtrip_model::{Attempt, Clock, Exchange, Moment};
use roundtrip_net::SystemClock;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};

use crate::flow::{Flow, Surroundings, failed};
use crate::lookup::Lookups;
use crate::process::{self, Processes};
use crate::sys::standby::Standby;
use crate::sys::{self, Call, HELLO_BYTES};
use crate::{Sight, TapError};

/// The key of an event of the epoll instance. Cookies of sockets are smaller.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const PROCESS: u64 = 1 << 63;

/// The interval, in milliseconds, at which counters are read while an answer is awaited; the next
/// constant is the one for collecting ended connections.
const LOOK: u64 = 5;
const SWEEP: u64 = 200;
const NANOS: u64 = 1_000_000;
/// How long the program's children have to end after the program has ended.
const GRACE: Duration = Duration::from_millis(50);
/// The largest number of connections that are checked each time.
const MAX_LOOKS: usize = 32;
const MAX_EVENTS: usize = 256;

/// Ends the loop.
#[derive(Debug)]
pub(crate) struct StopSignal(OwnedFd);

impl StopSignal {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC)?))
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    pub(crate) fn raise(&self) {
        // The eight bytes are always accepted, as the counter does not overflow.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// Waits for the program, fetches its listener, and follows it until it has ended or `stop` is
/// raised.
pub(crate) fn run(
    line: &UnixStream,
    stop: &StopSignal,
    sink: impl FnMut(Exchange),
) -> Result<Sight, TapError> {
    let Some((process, listener)) = greet(line, stop)? else {
        return Ok(Sight::default());
    };
    let standby = Standby::start(listener.as_fd()).map_err(TapError::Supervisor)?;
    sys::wake_in_step(listener.as_fd());
    let mut supervisor = Supervisor::new(listener, standby, sink).map_err(TapError::Supervisor)?;
    supervisor.watch(stop).map_err(TapError::Supervisor)?;
    supervisor.inherits(process);
    // The program begins.
    let mut line = line;
    line.write_all(&[0]).map_err(TapError::Line)?;
    supervisor.follow().map_err(TapError::Supervisor)?;
    Ok(supervisor.finish())
}

/// Receives the first message of the program: its process, and the listener, which is fetched.
/// `None` if it never started.
fn greet(line: &UnixStream, stop: &StopSignal) -> Result<Option<(i32, OwnedFd)>, TapError> {
    let mut ready = [
        rustix::event::PollFd::new(line, rustix::event::PollFlags::IN),
        rustix::event::PollFd::new(&stop.0, rustix::event::PollFlags::IN),
    ];
    loop {
        match rustix::event::poll(&mut ready, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(TapError::Line(error.into())),
            Ok(_) => break,
        }
    }
    if ready.first().is_none_or(|line| line.revents().is_empty()) {
        return Ok(None);
    }
    let mut hello = [0; HELLO_BYTES];
    let mut line = line;
    if line.read_exact(&mut hello).is_err() {
        return Ok(None);
    }
    let number = |at: usize| {
        let field = hello.get(at..).and_then(<[u8]>::first_chunk);
        field.copied().map_or(0, i32::from_ne_bytes)
    };
    let fetched = process::open(number(0)).and_then(|process| {
        let flags = rustix::process::PidfdGetfdFlags::empty();
        Ok(rustix::process::pidfd_getfd(&process, number(4), flags)?)
    });
    match fetched {
        Ok(listener) => Ok(Some((number(0), listener))),
        Err(error) => {
            // The program gives up, and the command fails to start.
            let _ = line.write_all(&[1]);
            Err(TapError::Denied(error))
        }
    }
}

pub(crate) struct Supervisor<S> {
    listener: OwnedFd,
    standby: Option<Standby>,
    poll: OwnedFd,
    clock: SystemClock,
    wall: SystemTime,
    sink: S,
    processes: Processes,
    flows: HashMap<u64, Flow>,
    /// Sockets that carry name lookups, and the processes that hold them.
    askers: HashMap<u64, crate::flow::Holder>,
    lookups: Lookups,
    attempts: Vec<(i32, Attempt)>,
    sight: Sight,
    /// Connections on which the program sent, but which it did not open.
    not_opened: HashSet<u64>,
    looked: u64,
    swept: u64,
}

impl<S: FnMut(Exchange)> Supervisor<S> {
    fn new(listener: OwnedFd, standby: Standby, sink: S) -> io::Result<Self> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let supervisor = Self {
            listener,
            standby: Some(standby),
            poll,
            clock: SystemClock::start(),
            wall: SystemTime::now(),
            sink,
            processes: Processes::default(),
            flows: HashMap::new(),
            askers: HashMap::new(),
            lookups: Lookups::default(),
            attempts: Vec::new(),
            sight: Sight::default(),
            not_opened: HashSet::new(),
            looked: 0,
            swept: 0,
        };
        let data = EventData::new_u64(LISTENER);
        epoll::add(&supervisor.poll, &supervisor.listener, data, EventFlags::IN)?;
        Ok(supervisor)
    }

    fn watch(&self, stop: &StopSignal) -> io::Result<()> {
        let data = EventData::new_u64(STOP);
        let flags = EventFlags::IN | EventFlags::ET;
        Ok(epoll::add(&self.poll, &stop.0, data, flags)?)
    }

    /// Runs until the last process with the filter has ended, or until it is stopped.
    fn follow(&mut self) -> io::Result<()> {
        let empty = epoll::Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        let mut events = vec![empty; MAX_EVENTS];
        let mut until: Option<Moment> = None;
        loop {
            let timeout = self.patience(until.is_some());
            let ready = match epoll::wait(&self.poll, events.as_mut_slice(), Some(&timeout)) {
                Ok(ready) => ready,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let now = self.clock.now();
            let ready = events.get(..ready).unwrap_or_default();
            // Arrivals precede the waiting calls, which have not been made yet.
            let mut calls = None;
            let mut is_over = false;
            for event in ready {
                match event.data.u64() {
                    LISTENER => calls = Some(event.flags),
                    // Its children may be about to end as well.
                    STOP => until = until.or(Some(now + GRACE)),
                    process if process & PROCESS != 0 => {
                        self.processes.ended((process & !PROCESS) as i32);
                    }
                    cookie => self.stirs(cookie, event.flags, now),
                }
            }
            if let Some(flags) = calls {
                if flags.contains(EventFlags::IN) {
                    self.call()?;
                } else if flags.intersects(EventFlags::HUP | EventFlags::ERR) {
                    is_over = true;
                }
            }
            if is_over || until.is_some_and(|until| now >= until) {
                return Ok(());
            }
            self.look();
        }
    }

    /// How long the loop may sleep.
    fn patience(&self, is_ending: bool) -> Timespec {
        let now = self.clock.now();
        let waits = is_ending || self.flows.values().any(|flow| flow.is_waiting(now));
        let ms = if waits { LOOK } else { SWEEP };
        Timespec {
            tv_sec: 0,
            tv_nsec: (ms * NANOS).cast_signed(),
        }
    }

    /// Takes the call that waits, and lets it continue.
    fn call(&mut self) -> io::Result<()> {
        let Some(call) = sys::next_call(self.listener.as_fd())? else {
            return Ok(());
        };
        if let Some(standby) = &self.standby {
            standby.note(call.id);
        }
        self.sight.calls += 1;
        let now = self.clock.now();
        self.take(&call, now);
        sys::resume(self.listener.as_raw_fd(), call.id);
        if let Some(standby) = &self.standby {
            standby.note(0);
        }
        Ok(())
    }

    fn take(&mut self, call: &Call, now: Moment) {
        let taken = match call.number {
            libc::SYS_io_uring_setup => {
                self.sight.io_uring = true;
                Ok(())
            }
            libc::SYS_connect => self.connects(call, now),
            libc::SYS_close => {
                let descriptor = call.arguments.first().map_or(-1, |fd| *fd as i32);
                self.closes(call.thread, Some(descriptor), now)
            }
            libc::SYS_exit_group => self.closes(call.thread, None, now),
            _ => self.sends(call, now),
        };
        if taken.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
            self.sight.denied += 1;
        }
    }

    /// The process of a thread, whose end the loop is notified of from now on.
    fn process_of(&mut self, thread: i32) -> io::Result<i32> {
        let poll = &self.poll;
        self.processes.of_thread(thread, |process, descriptor| {
            let data = EventData::new_u64(PROCESS | u64::from(process.unsigned_abs()));
            Ok(epoll::add(poll, descriptor, data, EventFlags::IN)?)
        })
    }

    fn still_waits(&self, call: &Call) -> bool {
        sys::still_waits(self.listener.as_fd(), call.id)
    }

    /// Makes everything that happens to a socket wake the loop.
    fn listen(&self, socket: BorrowedFd<'_>, cookie: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        match epoll::add(&self.poll, socket, EventData::new_u64(cookie), flags) {
            Err(rustix::io::Errno::EXIST) => Ok(()),
            other => Ok(other?),
        }
    }

    fn deliver(&mut self, exchange: Option<Exchange>) {
        if let Some(exchange) = exchange {
            (self.sink)(exchange);
        }
    }

    /// Reads the counters of connections that await an answer, and collects those that have ended.
    fn look(&mut self) {
        let now = self.clock.now();
        if now.0.saturating_sub(self.looked) >= LOOK * NANOS {
            self.looked = now.0;
            let waiting = self.flows.iter().filter(|(_, flow)| flow.is_waiting(now));
            let waiting: Vec<u64> = waiting.map(|(cookie, _)| *cookie).take(MAX_LOOKS).collect();
            for cookie in waiting {
                self.stirs(cookie, EventFlags::empty(), now);
            }
        }
        if now.0.saturating_sub(self.swept) >= SWEEP * NANOS {
            self.swept = now.0;
            self.sweep(now);
        }
    }

    /// Ends everything that is in progress, in its current state.
    fn finish(mut self) -> Sight {
        let now = self.clock.now();
        self.sweep(now);
        let mut left: Vec<(u64, Flow)> = self.flows.drain().collect();
        left.sort_by_key(|(_, flow)| (flow.opened.is_some(), flow.began));
        for (_, flow) in left {
            self.conclude(flow, now);
        }
        for (_, attempt) in std::mem::take(&mut self.attempts) {
            (self.sink)(failed(attempt, self.wall));
        }
        self.sight.left_behind = !self.is_deserted();
        if let Some(standby) = self.standby.take().filter(|_| !self.sight.left_behind) {
            standby.dismiss();
        }
        self.sight
    }

    /// Whether no process has the filter any longer.
    fn is_deserted(&self) -> bool {
        let flags = rustix::event::PollFlags::IN;
        let mut ready = [rustix::event::PollFd::new(&self.listener, flags)];
        let polled = rustix::event::poll(&mut ready, Some(&Timespec::default()));
        let told = ready.first().map(rustix::event::PollFd::revents);
        polled.is_ok() && told.is_some_and(|told| told.contains(rustix::event::PollFlags::HUP))
    }

    fn conclude(&mut self, mut flow: Flow, now: Moment) {
        let mut surroundings = Surroundings {
            now,
            wall: self.wall,
            lookups: &mut self.lookups,
            attempts: &mut self.attempts,
        };
        let exchange = flow.conclude(&mut surroundings);
        self.deliver(exchange);
    }
}
