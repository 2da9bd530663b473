//! What is known of one connection beside the connection itself: who waits for it, and how it ended.

use std::collections::{HashMap, VecDeque};
use std::task::{Context, Waker};

use bytes::Bytes;
use roundtrip_quic::{CloseReason, Connection, Event, StreamEvent, StreamId};

use super::RequestError;
use super::waiting::{Crowd, Wish};

/// Address tokens that are kept until somebody takes them.
const MOST_TOKENS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Berth {
    /// It is in the queue of those to be looked after.
    pub(super) stirred: bool,
    /// Nothing is sent for it: the client that began it is not answered yet, or never will be.
    pub(super) mute: bool,
    /// Nobody can use it any more.
    pub(super) forsaken: bool,
    /// Connections that have drained leave the endpoint; this one stays while somebody may ask about it.
    pub(super) drained: Option<Box<Connection>>,
    pub(super) connected: bool,
    pub(super) ended: Option<CloseReason>,
    pub(super) crowd: Crowd,
    pub(super) tokens: VecDeque<Bytes>,
    senders: HashMap<StreamId, Sender>,
    receivers: HashMap<StreamId, Receiver>,
}

#[derive(Debug, Default)]
pub(super) struct Sender {
    waker: Option<Waker>,
    /// Of whoever waits for nothing but its end.
    pub(super) watcher: Option<Waker>,
    /// The peer wants no more, for this reason.
    pub(super) stopped: Option<u64>,
    /// All of it has arrived.
    pub(super) delivered: bool,
    /// Letting go of it unfinished cuts it off, instead of ending it.
    pub(super) cut: bool,
}

#[derive(Debug)]
pub(super) struct Receiver {
    waker: Option<Waker>,
    /// How much may be read until somebody allows more.
    pub(super) allowance: u64,
    /// Why what came is not passed on.
    pub(super) refused: Option<RequestError>,
}

impl Berth {
    /// Of a connection that a client began: it may still be refused, or ignored.
    pub(super) fn arrived() -> Self {
        Self {
            mute: true,
            ..Self::default()
        }
    }

    pub(super) fn add_sender(&mut self, id: StreamId, cut: bool) {
        let sender = Sender {
            cut,
            ..Sender::default()
        };
        self.senders.insert(id, sender);
    }

    pub(super) fn add_receiver(&mut self, id: StreamId, allowance: u64) {
        let receiver = Receiver {
            waker: None,
            allowance,
            refused: None,
        };
        self.receivers.insert(id, receiver);
    }

    pub(super) fn sender(&mut self, id: StreamId) -> Option<&mut Sender> {
        self.senders.get_mut(&id)
    }

    pub(super) fn receiver(&mut self, id: StreamId) -> Option<&mut Receiver> {
        self.receivers.get_mut(&id)
    }

    pub(super) fn remove_sender(&mut self, id: StreamId) -> Option<Sender> {
        self.senders.remove(&id)
    }

    pub(super) fn remove_receiver(&mut self, id: StreamId) {
        self.receivers.remove(&id);
    }

    /// Takes notice of what happened on the connection.
    pub(super) fn hear(&mut self, connection: &mut Connection, wakes: &mut Vec<Waker>) {
        while let Some(event) = connection.poll() {
            self.note(event, wakes);
        }
        if !self.connected {
            // What the hello says is known before the handshake is over, and is no event.
            self.crowd.call(Wish::Stage, wakes);
            self.connected = !connection.is_handshaking();
        }
    }

    fn note(&mut self, event: Event, wakes: &mut Vec<Waker>) {
        match event {
            Event::Stream(event) => self.note_stream(event, wakes),
            Event::NewToken(token) => {
                if self.tokens.len() < MOST_TOKENS {
                    self.tokens.push_back(token);
                }
                self.crowd.call(Wish::Stage, wakes);
            }
            Event::Closed(reason) => self.end(reason, wakes),
            Event::Connected
            | Event::HandshakeConfirmed
            | Event::EarlyRefused
            | Event::PathChanged(_) => self.crowd.call(Wish::Stage, wakes),
        }
    }

    fn note_stream(&mut self, event: StreamEvent, wakes: &mut Vec<Waker>) {
        let sender = match event {
            StreamEvent::Opened(dir) => return self.crowd.call(Wish::Accept(dir), wakes),
            StreamEvent::Available(dir) => return self.crowd.call(Wish::Open(dir), wakes),
            StreamEvent::Readable(id) => {
                let receiver = self.receivers.get_mut(&id);
                wakes.extend(receiver.and_then(|receiver| receiver.waker.take()));
                return;
            }
            StreamEvent::Writable(id) | StreamEvent::Finished(id) | StreamEvent::Stopped(id, _) => {
                self.senders.get_mut(&id)
            }
        };
        if let Some(sender) = sender {
            match event {
                StreamEvent::Stopped(_, code) => {
                    sender.stopped = Some(code);
                    wakes.extend(sender.watcher.take());
                }
                StreamEvent::Finished(_) => sender.delivered = true,
                _ => {}
            }
            wakes.extend(sender.waker.take());
        }
    }

    /// Whoever waits learns that it is over.
    pub(super) fn end(&mut self, reason: CloseReason, wakes: &mut Vec<Waker>) {
        self.ended.get_or_insert(reason);
        self.crowd.call_all(wakes);
        for sender in self.senders.values_mut() {
            wakes.extend(sender.waker.take());
            wakes.extend(sender.watcher.take());
        }
        wakes.extend(self.receivers.values_mut().filter_map(|r| r.waker.take()));
    }

    /// How many halves of streams somebody holds.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.senders.len() + self.receivers.len()
    }
}

impl Sender {
    pub(super) fn wait(&mut self, cx: &Context<'_>) {
        set(&mut self.waker, cx);
    }

    pub(super) fn watch(&mut self, cx: &Context<'_>) {
        set(&mut self.watcher, cx);
    }
}

impl Receiver {
    pub(super) fn wait(&mut self, cx: &Context<'_>) {
        set(&mut self.waker, cx);
    }
}

fn set(place: &mut Option<Waker>, cx: &Context<'_>) {
    match place {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *place = Some(cx.waker().clone()),
    }
}
