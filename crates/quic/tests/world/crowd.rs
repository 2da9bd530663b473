//! Many clients of one server that do the handshake on their own and then send what they like.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_quic::{
    CloseReason, Connection, Endpoint, Event, Handle, RecvMeta, Retry, ServerConfig, Time,
    Transport,
};
use roundtrip_wire::quic::{Frame, Frames, Parameters, Pen};

use super::key_holder::{HANDSHAKE, INITIAL, KeyHolder, ONE_RTT};
use super::replayable_tls::configs;

const SIZE: usize = 1200;

pub(crate) struct Crowd {
    pub(crate) now: Time,
    pub(crate) engine: Endpoint,
    pub(crate) clients: HashMap<SocketAddr, KeyHolder>,
    pub(crate) handles: HashMap<SocketAddr, Handle>,
    pub(crate) closed: HashMap<Handle, CloseReason>,
    /// The largest MAX_DATA that each client got.
    pub(crate) raised: HashMap<SocketAddr, u64>,
    stirred: BTreeSet<Handle>,
    tls: Arc<rustls::ClientConfig>,
    buffer: Vec<u8>,
}

impl Crowd {
    pub(crate) fn new(transport: Transport, change: impl FnOnce(&mut ServerConfig)) -> Self {
        let (tls, server) = configs();
        let mut config = ServerConfig::new(server, Arc::new(transport));
        config.retry = Retry::Never;
        change(&mut config);
        Self {
            now: Time(1_000_000_000),
            engine: Endpoint::new(Some(config), [1; 32]),
            clients: HashMap::new(),
            handles: HashMap::new(),
            closed: HashMap::new(),
            raised: HashMap::new(),
            stirred: BTreeSet::new(),
            tls,
            buffer: vec![0; 1 << 16],
        }
    }

    /// A client whose handshake is complete, unless the server refuses it.
    pub(crate) fn connect(&mut self, address: SocketAddr) {
        let parameters = Parameters {
            initial_max_data: 1 << 20,
            initial_max_stream_data_bidi_local: 1 << 20,
            initial_max_streams_uni: 10,
            ..Parameters::default()
        };
        let client = KeyHolder::client(self.tls.clone(), parameters);
        self.clients.insert(address, client);
        for level in [INITIAL, HANDSHAKE] {
            self.say_handshake(address, level);
        }
    }

    fn say_handshake(&mut self, address: SocketAddr, level: usize) {
        while let Some(client) = self.clients.get_mut(&address)
            && let Some((offset, data)) = client.unsaid(level)
        {
            let (payload, length) = (written(&[Frame::Crypto { offset, data }]), data.len());
            client.on_said(level, length);
            let size = if level == INITIAL { SIZE } else { 0 };
            self.send(address, level, &payload, size);
        }
    }

    /// The client sends a 1-RTT packet with these frames.
    pub(crate) fn say(&mut self, address: SocketAddr, frames: &[Frame<'_>]) {
        self.send(address, ONE_RTT, &written(frames), 0);
    }

    pub(crate) fn send(&mut self, from: SocketAddr, level: usize, payload: &[u8], size: usize) {
        let client = self.clients.get_mut(&from).unwrap();
        let Some(mut datagram) = client.seal(level, payload, 0, size) else {
            return;
        };
        let way = RecvMeta {
            remote: from,
            local: None,
            ecn: 0,
        };
        let handle = self.engine.receive(self.now, &way, &mut datagram);
        self.stirred.extend(handle);
        while let Some(handle) = self.engine.accept() {
            self.handles.insert(from, handle);
        }
        self.act();
    }

    pub(crate) fn wait(&mut self, span: Duration) {
        let end = self.now.after(span);
        while let Some(deadline) = self.engine.deadline().filter(|next| *next <= end) {
            self.now = self.now.max(deadline);
            self.act();
        }
        self.now = end;
    }

    fn act(&mut self) {
        for _ in 0..100 {
            let is_due = self.engine.deadline().is_some_and(|next| next <= self.now);
            if !is_due && self.stirred.is_empty() {
                return;
            }
            let mut due = Vec::new();
            if is_due {
                self.engine.on_timeout(self.now, &mut due);
            }
            self.stirred.extend(due);
            for handle in std::mem::take(&mut self.stirred) {
                self.act_on(handle);
            }
            while self.engine.reply(&mut self.buffer).is_some() {}
        }
        panic!("a timer stays in the past");
    }

    fn act_on(&mut self, handle: Handle) {
        let Some(connection) = self.engine.connection(handle) else {
            return;
        };
        let mut left = Vec::new();
        while let Some(sent) = connection.transmit(self.now, &mut self.buffer) {
            let datagrams = self.buffer[..sent.length].chunks(sent.segment);
            left.extend(datagrams.map(|datagram| (sent.to, datagram.to_vec())));
        }
        while let Some(event) = connection.poll() {
            if let Event::Closed(why) = event {
                self.closed.insert(handle, why);
            }
        }
        if connection.is_drained() {
            self.engine.remove(handle);
        }
        for (to, datagram) in left {
            for opened in self.clients.get_mut(&to).unwrap().open(&datagram) {
                for frame in Frames::new(&opened.payload).map_while(Result::ok) {
                    if let Frame::MaxData(limit) = frame {
                        self.raised.insert(to, limit);
                    }
                }
            }
        }
    }

    pub(crate) fn connection(&mut self, address: SocketAddr) -> Option<&mut Connection> {
        let handle = *self.handles.get(&address)?;
        self.stirred.insert(handle);
        self.engine.connection(handle)
    }

    /// Whether the server has a connection of that client which is not over.
    pub(crate) fn serves(&mut self, address: SocketAddr) -> bool {
        let connection = self.connection(address);
        connection.is_some_and(|connection| connection.is_connected() && !connection.is_closed())
    }

    /// How much all connections keep.
    pub(crate) fn kept(&mut self) -> u64 {
        let handles: Vec<Handle> = self.engine.handles().collect();
        let kept = |handle| self.engine.connection(handle).map_or(0, |c| c.memory());
        handles.into_iter().map(kept).sum()
    }
}

fn written(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut payload = vec![0; 1400];
    let mut pen = Pen::new(&mut payload);
    assert!(frames.iter().all(|frame| frame.write(&mut pen)));
    let length = pen.position();
    payload.truncate(length);
    payload
}
