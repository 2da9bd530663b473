//! A host: its endpoint, its addresses, and the traffic of its connections.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use roundtrip_quic::{
    CloseReason, Connection, Endpoint, Event, Handle, RecvMeta, Stats, Time, Transmit,
};

use super::traffic::Traffic;

/// How often a connection may be seen with an expired timer, at one time.
const MAX_OVERDUE: u32 = 3;
/// Windows in both directions, rings whose length is a power of two, and the record of what is in
/// flight.
const MAX_MEMORY: u64 = (2 * 16 + 8 + 4) << 20;

/// The history of one connection of a host.
#[derive(Debug, Default)]
pub(crate) struct Life {
    pub(crate) traffic: Traffic,
    /// All events except those of streams, each with its time.
    pub(crate) events: Vec<(Time, Event)>,
}

impl Life {
    pub(crate) fn time_of(&self, event: &Event) -> Option<Time> {
        let mut events = self.events.iter();
        events
            .find(|(_, told)| told == event)
            .map(|(time, _)| *time)
    }

    pub(crate) fn closed(&self) -> Option<&CloseReason> {
        self.events.iter().find_map(|(_, event)| match event {
            Event::Closed(reason) => Some(reason),
            _ => None,
        })
    }
}

pub(crate) struct Node {
    pub(crate) endpoint: Endpoint,
    pub(crate) address: SocketAddr,
    pub(crate) is_server: bool,
    /// The history of each connection.
    pub(crate) lives: HashMap<Handle, Life>,
    pub(crate) accepted: Vec<Handle>,
    stirred: HashSet<Handle>,
    /// How many datagrams each burst had.
    pub(crate) bursts: Vec<usize>,
    /// Connections whose timers had expired, when that was seen, and how often.
    overdue: HashMap<Handle, (Time, u32)>,
    buffer: Vec<u8>,
    reply: Vec<u8>,
}

impl Node {
    pub(crate) fn new(endpoint: Endpoint, address: SocketAddr, is_server: bool) -> Self {
        Self {
            endpoint,
            address,
            is_server,
            overdue: HashMap::new(),
            lives: HashMap::new(),
            accepted: Vec::new(),
            stirred: HashSet::new(),
            bursts: Vec::new(),
            buffer: vec![0; 65_536],
            reply: Vec::new(),
        }
    }

    pub(crate) fn receive(&mut self, now: Time, way: &RecvMeta, datagram: &mut [u8]) {
        let handle = self.endpoint.receive(now, way, datagram);
        self.stirred.extend(handle);
        while let Some(handle) = self.endpoint.accept() {
            self.accepted.push(handle);
            self.stirred.insert(handle);
        }
    }

    pub(crate) fn wake(&mut self, now: Time) {
        let mut due = Vec::new();
        self.endpoint.on_timeout(now, &mut due);
        self.stirred.extend(due);
    }

    pub(crate) fn stir(&mut self, handle: Handle) {
        self.stirred.insert(handle);
    }

    pub(crate) fn connection(&mut self, handle: Handle) -> &mut Connection {
        self.stirred.insert(handle);
        self.endpoint.connection(handle).unwrap()
    }

    pub(crate) fn stats(&mut self, handle: Handle) -> Stats {
        self.endpoint.connection(handle).unwrap().stats()
    }

    /// Lets the connections that have something to do act and send; passes on what leaves.
    pub(crate) fn act(&mut self, now: Time, send: &mut dyn FnMut(&Transmit, &mut [u8])) {
        let mut stirred: Vec<Handle> = self.stirred.drain().collect();
        stirred.sort();
        for handle in stirred {
            let Some(connection) = self.endpoint.connection(handle) else {
                continue;
            };
            let life = self.lives.entry(handle).or_default();
            while let Some(event) = connection.poll() {
                life.traffic.on_event(connection, &event);
                if !matches!(event, Event::Stream(_)) {
                    life.events.push((now, event));
                }
            }
            while let Some(sent) = connection.transmit(now, &mut self.buffer) {
                assert!(sent.length > 0 && sent.segment > 0, "{sent:?}");
                self.bursts.push(sent.count());
                send(&sent, &mut self.buffer[..sent.length]);
            }
            check(now, handle, connection, &mut self.overdue);
        }
        while let Some(sent) = self.endpoint.reply(&mut self.reply) {
            send(&sent, &mut self.reply[..sent.length]);
        }
    }
}

/// Checks what must hold for each connection that has just acted, in every test.
fn check(
    now: Time,
    handle: Handle,
    connection: &Connection,
    overdue: &mut HashMap<Handle, (Time, u32)>,
) {
    // One timer may set another that is due at once: a loss, then a probe. This must come to an
    // end.
    if connection
        .deadline()
        .is_some_and(|deadline| deadline <= now)
    {
        let (seen, count) = overdue.entry(handle).or_default();
        *count = if *seen == now { *count + 1 } else { 1 };
        *seen = now;
        assert!(*count <= MAX_OVERDUE, "a timer stays in the past");
    } else {
        overdue.remove(&handle);
    }
    let memory = connection.memory();
    assert!(memory <= MAX_MEMORY, "{memory} bytes");
}
