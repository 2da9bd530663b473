//! The program's sockets: what the loop does with each, at a call and at an arrival.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use roundtrip_model::{Exchange, Moment};
use roundtrip_net::TcpInfo;
use rustix::event::epoll::EventFlags;
use socket2::{Domain, Protocol, Socket, Type};

use super::Supervisor;
use crate::flow::{Flow, FlowState, Holder, Surroundings};
use crate::lookup;
use crate::memory::{self, MAX_COPIED};
use crate::process::is_closed_on_exec;
use crate::sys::{self, Call};

/// A long header of QUIC, by its first two bits. RFC 9000 §17.2.
const LONG_HEADER: u8 = 0xc0;
/// A client's first datagrams are at least this long, in bytes. RFC 9000 §14.1.
const MIN_INITIAL: u64 = 1200;
/// Connections that the program did not open are counted up to this number.
const MAX_COUNTED: usize = 65_536;

impl<S: FnMut(Exchange)> Supervisor<S> {
    /// The socket of a call, and its cookie, which no other socket ever has. `None` if it is not a
    /// socket.
    fn socket_of(&mut self, call: &Call) -> io::Result<Option<(Holder, Socket, u64)>> {
        let process = self.process_of(call.thread)?;
        let descriptor = call.arguments.first().map_or(-1, |fd| *fd as i32);
        let copy = self.processes.descriptor(process, descriptor)?;
        if !self.still_waits(call) {
            return Ok(None);
        }
        let socket = Socket::from(copy);
        let holder = Holder {
            process,
            descriptor,
        };
        Ok(socket.cookie().ok().map(|cookie| (holder, socket, cookie)))
    }

    pub(super) fn connects(&mut self, call: &Call, now: Moment) -> io::Result<()> {
        let Some(peer) = memory::address(call) else {
            return Ok(());
        };
        let Some((holder, socket, cookie)) = self.socket_of(call)? else {
            return Ok(());
        };
        self.sight.socket_calls += 1;
        // A second `connect` asks for the progress of the first one.
        if self.flows.contains_key(&cookie) || !is_tcp(&socket) {
            return Ok(());
        }
        self.listen(socket.as_fd(), cookie)?;
        self.sight.connections += 1;
        self.flows.insert(cookie, Flow::new(holder, peer, now));
        Ok(())
    }

    pub(super) fn sends(&mut self, call: &Call, now: Moment) -> io::Result<()> {
        let Some((holder, socket, cookie)) = self.socket_of(call)? else {
            return Ok(());
        };
        if self.flows.contains_key(&cookie) {
            self.sight.socket_calls += 1;
            self.writes(call, cookie, holder, &socket, now);
            return Ok(());
        }
        if !matches!(socket.domain(), Ok(Domain::IPV4 | Domain::IPV6)) {
            return Ok(());
        }
        self.sight.socket_calls += 1;
        if is_tcp(&socket) {
            return self.opens_with_data(call, (holder, &socket, cookie), now);
        }
        if matches!(socket.r#type(), Ok(Type::DGRAM)) {
            return self.sends_datagrams(call, (holder, &socket, cookie), now);
        }
        Ok(())
    }

    fn writes(&mut self, call: &Call, cookie: u64, holder: Holder, socket: &Socket, now: Moment) {
        let Some(info) = TcpInfo::from_socket(socket) else {
            return;
        };
        let Some(flow) = self.flows.get_mut(&cookie) else {
            return;
        };
        // After a fork, the process that writes has the socket.
        flow.holder = holder;
        let Some(sent) = memory::outgoing(call, flow.appetite()).into_iter().next() else {
            return;
        };
        let mut surroundings = Surroundings {
            now,
            wall: self.wall,
            lookups: &mut self.lookups,
            attempts: &mut self.attempts,
        };
        let ended = flow.writes(now, &info, sent.bytes, sent.length, &mut surroundings);
        self.deliver(ended);
    }

    /// A connection that is opened by sending: fast open. Connections that were accepted or
    /// inherited are counted and not followed.
    fn opens_with_data(
        &mut self,
        call: &Call,
        (holder, socket, cookie): (Holder, &Socket, u64),
        now: Moment,
    ) -> io::Result<()> {
        if memory::flags(call) & libc::MSG_FASTOPEN as u64 == 0 {
            self.has_not_opened(cookie);
            return Ok(());
        }
        let sent = memory::outgoing(call, MAX_COPIED).into_iter().next();
        let Some(peer) = sent.and_then(|sent| sent.to) else {
            return Ok(());
        };
        self.listen(socket.as_fd(), cookie)?;
        self.sight.connections += 1;
        self.flows.insert(cookie, Flow::new(holder, peer, now));
        self.writes(call, cookie, holder, socket, now);
        Ok(())
    }

    fn sends_datagrams(
        &mut self,
        call: &Call,
        (holder, socket, cookie): (Holder, &Socket, u64),
        now: Moment,
    ) -> io::Result<()> {
        let connected = socket.peer_addr().ok().and_then(|peer| peer.as_socket());
        for sent in memory::outgoing(call, lookup::MAX_QUERY) {
            let Some(peer) = sent.to.or(connected) else {
                continue;
            };
            if peer.port() == lookup::PORT {
                let whose = (holder.process, cookie);
                if self.lookups.asked(whose, peer, &sent.bytes, now) {
                    self.askers.insert(cookie, holder);
                    self.listen(socket.as_fd(), cookie)?;
                }
            } else if sent.length >= MIN_INITIAL
                && sent
                    .bytes
                    .first()
                    .is_some_and(|b| b & LONG_HEADER == LONG_HEADER)
            {
                self.sight.quic_datagrams += 1;
            }
        }
        Ok(())
    }

    fn has_not_opened(&mut self, cookie: u64) {
        if self.not_opened.len() < MAX_COUNTED && self.not_opened.insert(cookie) {
            self.sight.not_opened += 1;
        }
    }

    /// Counts the connections that the program has before it begins.
    pub(super) fn inherits(&mut self, process: i32) {
        // Where that cannot be read, nothing else can be.
        let _ = self.process_of(process);
        for (process, number) in self.processes.sockets() {
            // The process has not executed the program yet, and has descriptors of its parent.
            if is_closed_on_exec(process, number) {
                continue;
            }
            let copy = self.processes.descriptor(process, number);
            let is_open = |socket: &Socket| is_tcp(socket) && socket.peer_addr().is_ok();
            let socket = copy.map(Socket::from).ok().filter(is_open);
            if let Some(Ok(cookie)) = socket.map(|socket| socket.cookie()) {
                self.has_not_opened(cookie);
            }
        }
    }

    /// The socket of a connection, by another descriptor: the program has duplicated and closed the
    /// one that was known.
    fn find(&mut self, cookie: u64) -> Option<Socket> {
        let all = self.processes.sockets().into_iter();
        let mut all = all.map(|(process, descriptor)| Holder {
            process,
            descriptor,
        });
        let (holder, socket) =
            all.find_map(|holder| Some((holder, self.reach(holder, cookie)?)))?;
        self.flows.get_mut(&cookie)?.holder = holder;
        Some(socket)
    }

    /// The cookies of the sockets that are open anywhere: the kernel removes others from the epoll
    /// instance (proc_pid_fdinfo(5)).
    fn open_anywhere(&self) -> HashSet<u64> {
        let listed = format!("/proc/self/fdinfo/{}", self.poll.as_raw_fd());
        let listed = std::fs::read_to_string(listed).unwrap_or_default();
        let cookies = listed.lines().filter_map(|line| {
            let (_, data) = line.split_once("data:")?;
            u64::from_str_radix(data.split_whitespace().next()?, 16).ok()
        });
        cookies.collect()
    }

    /// Makes a copy of a holder's socket, if it is still the same.
    fn reach(&self, holder: Holder, cookie: u64) -> Option<Socket> {
        let copy = self.processes.descriptor(holder.process, holder.descriptor);
        let socket = Socket::from(copy.ok()?);
        (socket.cookie().ok() == Some(cookie)).then_some(socket)
    }

    /// Handles a socket to which something happened.
    pub(super) fn stirs(&mut self, cookie: u64, flags: EventFlags, now: Moment) {
        if let Some(holder) = self.askers.get(&cookie).copied() {
            // Reading clears a pending error, so that is left to the program.
            if flags.contains(EventFlags::IN) && !flags.contains(EventFlags::ERR) {
                let socket = self.reach(holder, cookie);
                let bytes = socket.and_then(|socket| look_at(&socket));
                self.lookups.answered(cookie, bytes.as_deref(), now);
            }
            return;
        }
        let Some(flow) = self.flows.get(&cookie) else {
            return;
        };
        let (holder, is_curious) = (flow.holder, flow.is_curious());
        let is_told = !flags.is_empty();
        let reached = self.reach(holder, cookie);
        let found = || is_told.then(|| self.find(cookie)).flatten();
        let Some(socket) = reached.or_else(found) else {
            if let Some(flow) = self.flows.get_mut(&cookie)
                && flags.contains(EventFlags::ERR)
            {
                flow.fails(now);
            }
            return;
        };
        let is_readable = flags.contains(EventFlags::IN) && !flags.contains(EventFlags::ERR);
        let wants_bytes = is_readable && is_curious;
        let Some(before) = TcpInfo::from_socket(&socket) else {
            return;
        };
        let looked = wants_bytes.then(|| look_at(&socket)).flatten();
        let info = match looked {
            Some(_) => TcpInfo::from_socket(&socket).unwrap_or(before),
            None => before,
        };
        // The position of the bytes in the stream is known only if nothing arrived in the meantime.
        let looked = looked.filter(|_| info.bytes_received() == before.bytes_received());
        let Some(flow) = self.flows.get_mut(&cookie) else {
            return;
        };
        if flow.local.is_none() {
            flow.local = socket.local_addr().ok().and_then(|local| local.as_socket());
        }
        let mut surroundings = Surroundings {
            now,
            wall: self.wall,
            lookups: &mut self.lookups,
            attempts: &mut self.attempts,
        };
        let looked = looked.as_deref();
        let ended = flow.stirs(now, &info, looked, &mut surroundings);
        if flow.stage == FlowState::Open && flags.intersects(EventFlags::RDHUP | EventFlags::HUP) {
            flow.peer_closes(now);
        }
        self.deliver(ended);
    }

    /// Handles a process that is about to close one or all descriptors. This is the last chance to
    /// look, because the kernel reports nothing about a closed socket.
    pub(super) fn closes(
        &mut self,
        thread: i32,
        descriptor: Option<i32>,
        now: Moment,
    ) -> io::Result<()> {
        // Most closed descriptors are files, so this must cost as little as possible.
        let flows = self.flows.values().map(|flow| flow.holder);
        let mut known = flows.chain(self.askers.values().copied());
        let mut is_known = |number: i32| known.any(|holder| holder.descriptor == number);
        if descriptor.is_some_and(|number| !is_known(number)) {
            return Ok(());
        }
        let process = self.process_of(thread)?;
        let is_its = |holder: Holder| {
            let number = holder.descriptor;
            holder.process == process && descriptor.is_none_or(|given| given == number)
        };
        let its = self.flows.iter().filter(|(_, flow)| is_its(flow.holder));
        let its: Vec<u64> = its.map(|(cookie, _)| *cookie).collect();
        for cookie in its {
            self.stirs(cookie, EventFlags::IN, now);
        }
        let asked = self.askers.iter().filter(|(_, holder)| is_its(**holder));
        let asked: Vec<u64> = asked.map(|(cookie, _)| *cookie).collect();
        for cookie in asked {
            self.lookups.closed(cookie, now);
            self.askers.remove(&cookie);
        }
        Ok(())
    }

    /// Collects connections that the program has closed.
    pub(super) fn sweep(&mut self, now: Moment) {
        let gone = |(cookie, flow): (&u64, &Flow)| {
            let is_there = self.reach(flow.holder, *cookie).is_some();
            (!is_there).then_some(*cookie)
        };
        let mut gone: Vec<u64> = self.flows.iter().filter_map(gone).collect();
        if !gone.is_empty() {
            let open = self.open_anywhere();
            gone.retain(|cookie| !open.contains(cookie));
        }
        let mut over: Vec<Flow> = gone.iter().filter_map(|c| self.flows.remove(c)).collect();
        // Failed attempts belong to the connection that won.
        over.sort_by_key(|flow| (flow.opened.is_some(), flow.began));
        for flow in over {
            self.conclude(flow, now);
        }
        let askers: Vec<u64> = self.askers.keys().copied().collect();
        for cookie in askers {
            let holder = self.askers.get(&cookie).copied();
            if holder.is_none_or(|holder| self.reach(holder, cookie).is_none()) {
                self.askers.remove(&cookie);
            }
        }
    }
}

fn is_tcp(socket: &Socket) -> bool {
    let is_ip = matches!(socket.domain(), Ok(Domain::IPV4 | Domain::IPV6));
    is_ip && matches!(socket.protocol(), Ok(Some(Protocol::TCP)))
}

/// The bytes that wait to be read, up to a limit.
fn look_at(socket: &Socket) -> Option<Vec<u8>> {
    let mut bytes = vec![0; MAX_COPIED];
    let read = sys::peek(socket.as_fd(), &mut bytes).ok()?;
    bytes.truncate(read);
    (read > 0).then_some(bytes)
}
