//! The work of the TCP family on its channels: a connection and a thread for each lane, all on the
//! core of their side. The transport makes the channels.

use std::io::{self, BufRead};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::channel::{self, BufferedSocket, Channel};
use super::{Job, ListeningServer, PEER_TIMEOUT, SideReport, together};
use crate::account::CpuMeter;
use crate::error::PerfError;
use crate::plan::{Amount, WorkLane};
use crate::protocol::{CHANNEL_HEAD, ChannelHead, ENDLESS};

/// How often a lane that waits for bytes looks at the clock.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Makes a channel of a connection.
pub(super) trait ChannelMaker: Sync {
    type Channel: Channel;

    fn open(&self, line: BufferedSocket) -> Result<Self::Channel, PerfError>;
}

/// A listener for the connections of lanes.
struct LaneListener<E> {
    listener: TcpListener,
    address: SocketAddr,
    ends: E,
    job: Job,
}

/// When lanes stop.
struct LaneDeadline {
    deadline: Option<Instant>,
    share: Option<u64>,
    /// The number of bulk lanes that are not done: concurrent requests continue until it is 0.
    bulk: AtomicUsize,
}

pub(super) fn drive<E: ChannelMaker>(
    ends: &E,
    to: SocketAddr,
    job: &Job,
) -> Result<SideReport, PerfError> {
    let mut lanes = Vec::new();
    for _ in 0..job.work.connections {
        for lane in job.work.lanes() {
            let line = channel::connect(to, job.knobs.congestion)?;
            lanes.push((lane, ends.open(line)?));
        }
    }
    let until = LaneDeadline::starting_now(job, lanes.iter().map(|(lane, _)| *lane));
    let sides = on_threads(lanes, |(lane, channel)| {
        LaneClient::new(channel, job).work(lane, &until)
    })?;
    Ok(together(sides))
}

pub(super) fn listen<E: ChannelMaker + 'static>(
    ends: E,
    at: SocketAddr,
    job: &Job,
) -> Result<Box<dyn ListeningServer>, PerfError> {
    let listener = channel::listen(at, job.knobs.congestion)?;
    let address = listener
        .local_addr()
        .map_err(|source| PerfError::Listen { at, source })?;
    Ok(Box::new(LaneListener {
        listener,
        address,
        ends,
        job: job.clone(),
    }))
}

impl<E: ChannelMaker> ListeningServer for LaneListener<E> {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn serve(self: Box<Self>) -> Result<SideReport, PerfError> {
        let work = &self.job.work;
        let expected = work.lanes().len() * work.connections as usize;
        let arrivals = (0..expected).map(|_| accept(&self.listener));
        let sides = on_threads(arrivals, |line| {
            let channel = self.ends.open(line?)?;
            LaneServer::new(channel, &self.job).work()
        })?;
        Ok(together(sides))
    }
}

fn accept(listener: &TcpListener) -> Result<BufferedSocket, PerfError> {
    let accepted = listener
        .accept()
        .and_then(|(stream, _)| BufferedSocket::new(stream));
    accepted.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => PerfError::Silence(PEER_TIMEOUT),
        _ => PerfError::io("cannot accept a connection")(error),
    })
}

/// Runs each lane on a new thread, which inherits network and core.
fn on_threads<T: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<SideReport, PerfError> + Sync,
) -> Result<Vec<SideReport>, PerfError> {
    let work = &work;
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for item in items {
            let thread = thread::Builder::new()
                .name("lane".into())
                .spawn_scoped(scope, move || work(item));
            threads.push(thread.map_err(PerfError::io("cannot start a thread"))?);
        }
        let ended = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ended.collect()
    })
}

/// The client's end of a lane.
struct LaneClient<'a, C> {
    channel: C,
    job: &'a Job,
    side: SideReport,
}

impl<'a, C: Channel> LaneClient<'a, C> {
    fn new(channel: C, job: &'a Job) -> Self {
        Self {
            channel,
            job,
            side: SideReport::default(),
        }
    }

    fn work(mut self, lane: WorkLane, until: &LaneDeadline) -> Result<SideReport, PerfError> {
        let meter = CpuMeter::start(self.job.core);
        let done = match lane {
            WorkLane::Down => self.take(until),
            WorkLane::Up => self.give(until),
            WorkLane::Ask { request, response } => self.ask(until, request, response),
        };
        if lane.is_bulk() {
            until.bulk.fetch_sub(1, Ordering::Relaxed);
        }
        self.side.usage = meter.read();
        self.side.wire = self.channel.line().wire();
        done.map_err(told)?;
        Ok(self.side)
    }

    fn take(&mut self, until: &LaneDeadline) -> io::Result<()> {
        let wanted = until.share.unwrap_or(ENDLESS);
        let head = ChannelHead { wanted, follows: 0 };
        self.channel.send(&head.encode())?;
        self.channel.line().set_read_timeout(POLL_INTERVAL)?;
        let mut silent_since = Instant::now();
        while self.side.received < wanted {
            let n = match self.channel.fill_buf() {
                Ok([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => bytes.len(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error),
            };
            self.channel.consume(n);
            self.side.received += n as u64;
            self.job.pulse.add(n);
            let now = Instant::now();
            if until.is_over(now) {
                break;
            }
            match n {
                0 if now.duration_since(silent_since) > PEER_TIMEOUT => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                0 => {}
                _ => silent_since = now,
            }
        }
        Ok(())
    }

    /// Sends, and ends when the server has received everything.
    fn give(&mut self, until: &LaneDeadline) -> io::Result<()> {
        let follows = until.share.unwrap_or(ENDLESS);
        let head = ChannelHead { wanted: 0, follows };
        self.channel.send(&head.encode())?;
        let payload = vec![0x5a; self.job.knobs.write_size];
        while self.side.sent < follows && !until.is_over(Instant::now()) {
            let part = part_of(&payload, follows - self.side.sent);
            self.channel.send(part)?;
            self.side.sent += part.len() as u64;
        }
        self.channel.finish()?;
        while let n @ 1.. = self.channel.fill_buf()?.len() {
            self.channel.consume(n);
        }
        Ok(())
    }

    fn ask(&mut self, until: &LaneDeadline, request: u64, response: u64) -> io::Result<()> {
        let head = ChannelHead {
            wanted: response,
            follows: request,
        };
        let mut message = head.encode().to_vec();
        message.resize(CHANNEL_HEAD + request as usize, 0x5a);
        while !until.is_over_for_requests() {
            let asked = Instant::now();
            self.channel.send(&message)?;
            self.side.sent += request;
            let pulse = &self.job.pulse;
            self.side.received += drain(&mut self.channel, response, |n| pulse.add(n))?;
            self.side.latencies.record(asked.elapsed());
        }
        Ok(())
    }
}

/// The server's end of a lane.
struct LaneServer<'a, C> {
    channel: C,
    job: &'a Job,
    payload: Vec<u8>,
    side: SideReport,
}

impl<'a, C: Channel> LaneServer<'a, C> {
    fn new(channel: C, job: &'a Job) -> Self {
        Self {
            channel,
            job,
            payload: vec![0x5a; job.knobs.write_size],
            side: SideReport::default(),
        }
    }

    fn work(mut self) -> Result<SideReport, PerfError> {
        let first = self.head().map_err(told)?;
        let meter = CpuMeter::start(self.job.core);
        let mut next = first;
        let mut done = Ok(());
        while let (Some(head), Ok(())) = (next, &done) {
            done = self.answer(head);
            next = match done {
                Ok(()) if head.follows != ENDLESS => self.head().unwrap_or_default(),
                _ => None,
            };
        }
        // If the client is already gone, it needs no orderly end.
        let _ = self.channel.finish();
        self.side.usage = meter.read();
        self.side.wire = self.channel.line().wire();
        done.map_err(told)?;
        Ok(self.side)
    }

    /// Reads a head; `None` if the client has ended.
    fn head(&mut self) -> io::Result<Option<ChannelHead>> {
        if self.channel.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut bytes = [0; CHANNEL_HEAD];
        self.channel.read_exact(&mut bytes)?;
        Ok(Some(ChannelHead::decode(bytes)))
    }

    fn answer(&mut self, head: ChannelHead) -> io::Result<()> {
        let pulse = &self.job.pulse;
        self.side.received += drain(&mut self.channel, head.follows, |n| pulse.add(n))?;
        let mut left = head.wanted;
        while left > 0 {
            let part = part_of(&self.payload, left);
            match self.channel.send(part) {
                // A client that asked for endless data ends it by closing.
                Err(_) if head.wanted == ENDLESS => return Ok(()),
                sent => sent?,
            }
            left -= part.len() as u64;
            self.side.sent += part.len() as u64;
        }
        Ok(())
    }
}

/// Reads and discards this many bytes; [`ENDLESS`] ends with the channel.
fn drain(
    channel: &mut (impl BufRead + ?Sized),
    wanted: u64,
    mut see: impl FnMut(usize),
) -> io::Result<u64> {
    let mut taken = 0;
    while taken < wanted {
        let n = channel.fill_buf()?.len() as u64;
        if n == 0 && wanted == ENDLESS {
            break;
        }
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let n = n.min(wanted - taken);
        channel.consume(n as usize);
        see(n as usize);
        taken += n;
    }
    Ok(taken)
}

fn part_of(payload: &[u8], left: u64) -> &[u8] {
    let n = payload
        .len()
        .min(usize::try_from(left).unwrap_or(usize::MAX));
    payload.get(..n).unwrap_or(payload)
}

fn told(error: io::Error) -> PerfError {
    match error.kind() {
        io::ErrorKind::WouldBlock => PerfError::Silence(PEER_TIMEOUT),
        _ => PerfError::io("a connection broke")(error),
    }
}

impl LaneDeadline {
    fn starting_now(job: &Job, lanes: impl Iterator<Item = WorkLane>) -> Self {
        let deadline = match job.work.amount {
            Amount::For(time) => Some(Instant::now() + time),
            Amount::Bytes(_) => None,
        };
        Self {
            deadline,
            share: job.work.share(),
            bulk: AtomicUsize::new(lanes.filter(|lane| lane.is_bulk()).count()),
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
    }

    fn is_over_for_requests(&self) -> bool {
        match self.deadline {
            Some(deadline) => Instant::now() >= deadline,
            None => self.bulk.load(Ordering::Relaxed) == 0,
        }
    }
}
