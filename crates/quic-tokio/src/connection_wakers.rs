//! The interests and results of the tasks that use one connection. The connection itself belongs to
//! the engine.

use std::collections::VecDeque;
use std::task::{Context, Waker};

use bytes::Bytes;
use roundtrip_quic::{CloseReason, Connection, Event, StreamEvent, StreamId};

use crate::id_map::IdMap;
use crate::wakers::{Interest, Wakers};

/// The number of address tokens (RFC 9000 §8.1.3) that are kept until they are taken.
const MAX_TOKENS: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct ConnectionWakers {
    /// The tasks that wait for the connection as a whole, or for a stream that does not exist yet.
    pub(crate) whole: Wakers,
    /// The handshake is complete.
    connected: bool,
    ended: Option<CloseReason>,
    tokens: VecDeque<Bytes>,
    senders: IdMap<StreamId, Sender>,
    receivers: IdMap<StreamId, Receiver>,
}

/// The sending half of a stream, which has a handle.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    /// The waker of a task that waits until it can write, or until everything has been delivered.
    writer: Option<Waker>,
    /// Waits until the peer stops the stream, or the stream is dropped.
    pub(crate) stop_watcher: Option<Waker>,
    /// The peer sent STOP_SENDING with this code.
    pub(crate) stopped: Option<u64>,
    /// The peer has acknowledged everything, including the end.
    pub(crate) delivered: bool,
}

/// The receiving half of a stream, which has a handle.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    reader: Option<Waker>,
}

impl ConnectionWakers {
    /// `stopped`: the peer may have stopped the stream before it was accepted, without an event for
    /// anybody.
    pub(crate) fn add_sender(&mut self, id: StreamId, stopped: Option<u64>) {
        let sender = Sender {
            stopped,
            ..Sender::default()
        };
        self.senders.insert(id, sender);
    }

    pub(crate) fn add_receiver(&mut self, id: StreamId) {
        self.receivers.insert(id, Receiver::default());
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

    /// Why the connection ended; `None` while it is open.
    pub(crate) fn ended(&self) -> Option<&CloseReason> {
        self.ended.as_ref()
    }

    /// Takes the oldest token that was not taken yet.
    pub(crate) fn take_token(&mut self) -> Option<Bytes> {
        self.tokens.pop_front()
    }

    /// Polls the connection's events, and collects the wakers of the tasks that wait for them.
    pub(crate) fn on_events(&mut self, connection: &mut Connection, wakes: &mut Vec<Waker>) {
        while let Some(event) = connection.poll() {
            self.on_event(event, wakes);
        }
        if !self.connected {
            // The peer's hello is known before the handshake is complete, and is not an event.
            self.whole.take(Interest::Progress, wakes);
            self.connected = !connection.is_handshaking();
        }
    }

    fn on_event(&mut self, event: Event, wakes: &mut Vec<Waker>) {
        match event {
            Event::Stream(event) => self.on_stream_event(event, wakes),
            Event::NewToken(token) => {
                if self.tokens.len() < MAX_TOKENS {
                    self.tokens.push_back(token);
                }
                self.whole.take(Interest::Progress, wakes);
            }
            Event::Closed(reason) => self.end(reason, wakes),
            Event::Connected
            | Event::HandshakeConfirmed
            | Event::EarlyRefused
            | Event::PathChanged(_) => self.whole.take(Interest::Progress, wakes),
        }
    }

    fn on_stream_event(&mut self, event: StreamEvent, wakes: &mut Vec<Waker>) {
        let sender = match event {
            StreamEvent::Opened(dir) => return self.whole.take(Interest::Accept(dir), wakes),
            StreamEvent::Available(dir) => return self.whole.take(Interest::Open(dir), wakes),
            StreamEvent::Readable(id) => {
                let receiver = self.receivers.get_mut(&id);
                wakes.extend(receiver.and_then(|receiver| receiver.reader.take()));
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
                    wakes.extend(sender.stop_watcher.take());
                }
                StreamEvent::Finished(_) => sender.delivered = true,
                _ => {}
            }
            wakes.extend(sender.writer.take());
        }
    }

    /// Records why the connection ended, unless that is known, and collects all wakers.
    pub(crate) fn end(&mut self, reason: CloseReason, wakes: &mut Vec<Waker>) {
        self.ended.get_or_insert(reason);
        self.whole.take_all(wakes);
        for sender in self.senders.values_mut() {
            wakes.extend(sender.writer.take());
            wakes.extend(sender.stop_watcher.take());
        }
        wakes.extend(self.receivers.values_mut().filter_map(|r| r.reader.take()));
    }

    /// The number of stream halves that have a handle.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.senders.len() + self.receivers.len()
    }
}

impl Sender {
    pub(crate) fn wait(&mut self, cx: &Context<'_>) {
        set(&mut self.writer, cx);
    }

    pub(crate) fn watch_for_stop(&mut self, cx: &Context<'_>) {
        set(&mut self.stop_watcher, cx);
    }
}

impl Receiver {
    pub(crate) fn wait(&mut self, cx: &Context<'_>) {
        set(&mut self.reader, cx);
    }
}

fn set(slot: &mut Option<Waker>, cx: &Context<'_>) {
    match slot {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *slot = Some(cx.waker().clone()),
    }
}
