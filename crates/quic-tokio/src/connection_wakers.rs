//! What is known of one connection beside the connection itself: who waits for it, and how it ended.

use std::collections::{HashMap, VecDeque};
use std::task::{Context, Waker};

use bytes::Bytes;
use roundtrip_quic::{CloseReason, Connection, Event, StreamEvent, StreamId};

use crate::RequestError;
use crate::wakers::{Crowd, Wish};

/// Address tokens that are kept until somebody takes them.
const MOST_TOKENS: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Berth {
    /// It is in the queue of those to be looked after.
    pub(crate) stirred: bool,
    /// Nothing is sent for it: the client that began it is not answered yet, or never will be.
    pub(crate) mute: bool,
    /// Nobody can use it any more.
    pub(crate) forsaken: bool,
    /// Connections that have drained leave the endpoint; this one stays while somebody may ask about it.
    pub(crate) drained: Option<Box<Connection>>,
    pub(crate) connected: bool,
    pub(crate) ended: Option<CloseReason>,
    pub(crate) crowd: Crowd,
    pub(crate) tokens: VecDeque<Bytes>,
    senders: HashMap<StreamId, Sender>,
    receivers: HashMap<StreamId, Receiver>,
}

#[derive(Debug, Default)]
pub(crate) struct Sender {
    waker: Option<Waker>,
    /// Of whoever waits for nothing but its end.
    pub(crate) watcher: Option<Waker>,
    /// The peer wants no more, for this reason.
    pub(crate) stopped: Option<u64>,
    /// All of it has arrived.
    pub(crate) delivered: bool,
    /// Letting go of it unfinished cuts it off, instead of ending it.
    pub(crate) cut: bool,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    waker: Option<Waker>,
    /// How much may be read until somebody allows more.
    pub(crate) allowance: u64,
    /// Why what came is not passed on.
    pub(crate) refused: Option<RequestError>,
}

impl Berth {
    /// Of a connection that a client began: it may still be refused, or ignored.
    pub(crate) fn arrived() -> Self {
        Self {
            mute: true,
            ..Self::default()
        }
    }

    pub(crate) fn add_sender(&mut self, id: StreamId, cut: bool) {
        let sender = Sender {
            cut,
            ..Sender::default()
        };
        self.senders.insert(id, sender);
    }

    pub(crate) fn add_receiver(&mut self, id: StreamId, allowance: u64) {
        let receiver = Receiver {
            waker: None,
            allowance,
            refused: None,
        };
        self.receivers.insert(id, receiver);
    }

    pub(crate) fn sender(&mut self, id: StreamId) -> Option<&mut Sender> {
        self.senders.get_mut(&id)
    }

    pub(crate) fn receiver(&mut self, id: StreamId) -> Option<&mut Receiver> {
        self.receivers.get_mut(&id)
    }

    pub(crate) fn remove_sender(&mut self, id: StreamId) -> Option<Sender> {
        self.senders.remove(&id)
    }

    pub(crate) fn remove_receiver(&mut self, id: StreamId) {
        self.receivers.remove(&id);
    }

    /// Takes notice of what happened on the connection.
    pub(crate) fn hear(&mut self, connection: &mut Connection, wakes: &mut Vec<Waker>) {
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
    pub(crate) fn end(&mut self, reason: CloseReason, wakes: &mut Vec<Waker>) {
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
    pub(crate) fn held(&self) -> usize {
        self.senders.len() + self.receivers.len()
    }
}

impl Sender {
    pub(crate) fn wait(&mut self, cx: &Context<'_>) {
        set(&mut self.waker, cx);
    }

    pub(crate) fn watch(&mut self, cx: &Context<'_>) {
        set(&mut self.watcher, cx);
    }
}

impl Receiver {
    pub(crate) fn wait(&mut self, cx: &Context<'_>) {
        set(&mut self.waker, cx);
    }
}

fn set(place: &mut Option<Waker>, cx: &Context<'_>) {
    match place {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *place = Some(cx.waker().clone()),
    }
}
