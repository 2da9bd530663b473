//! Decides when connections have ended, and what happens to them then.

use std::time::{Duration, UNIX_EPOCH};

use roundtrip_wire::passive::SealedReason;

use super::{LOOK_WITHIN, MAX_IDLE, Trace, shared};
use crate::assemble::{Others, of_tcp};
use crate::conversation::Conversation;
use crate::counts::CaptureCounts;
use crate::flow::{Carried, Flow};
use crate::key::FlowKey;
use crate::relations::ConnectionEnd;
use crate::tcp::TcpFlow;
use crate::tried::{SAME_STORY, Tried};
use crate::vantage::Vantage;

/// How long packets of a closed connection may still arrive, in nanoseconds.
const LINGER: u64 = 5_000_000_000;
/// The number of connections, the newest first, among which the attempts are looked for that led to
/// another: of a flood of SYNs there may be far more.
const MAX_OPENING: usize = 1024;

impl Trace {
    /// Reports that nothing has been captured for this long, which only the reader of a live
    /// capture knows. Connections that have ended meanwhile are finished.
    pub fn silence(&mut self, lasted: Duration) {
        let lasted = u64::try_from(lasted.as_nanos()).unwrap_or(u64::MAX);
        let now = self.counts.last.saturating_add(lasted);
        if lasted.min(now.saturating_sub(self.looked_at)) >= LOOK_WITHIN {
            self.looked_at = now;
            self.look(now);
        }
    }

    /// Removes ended connections, and the oldest ones if there are too many.
    pub(super) fn look(&mut self, now: u64) {
        let over = |flow: &Flow| {
            let idle = now.saturating_sub(flow.last);
            let ended = || match &flow.carried {
                Carried::Tcp(flow) => flow.is_over(),
                Carried::Quic(flow) => flow.max_idle().is_some_and(|most| idle > most),
            };
            idle > MAX_IDLE || (idle > LINGER && ended())
        };
        let ready = self.flows.iter().filter(|(_, flow)| over(flow));
        let mut ready: Vec<(u64, FlowKey)> = ready.map(|(key, flow)| (flow.number, *key)).collect();
        ready.sort_unstable_by_key(|(number, _)| *number);
        for (_, key) in ready {
            self.finish(key);
        }
        if self.memory() <= self.options.memory {
            return;
        }
        let flows = self.flows.iter();
        let mut oldest: Vec<(u64, u64, FlowKey)> = flows
            .map(|(k, flow)| (flow.last, flow.number, *k))
            .collect();
        oldest.sort_unstable_by_key(|(last, number, _)| (*last, *number));
        for (.., key) in oldest {
            if self.memory() <= self.options.memory / 4 * 3 {
                return;
            }
            self.counts.given_up += 1;
            self.finish(key);
        }
    }

    pub(super) fn finish(&mut self, key: FlowKey) {
        let Some(flow) = self.flows.remove(&key) else {
            return;
        };
        self.held = self.held.saturating_sub(flow.weight);
        let is_one_way = matches!(&flow.carried, Carried::Tcp(flow) if flow.is_one_way());
        self.counts.one_way += u64::from(is_one_way);
        let (number, first) = (flow.number, flow.first_sequence());
        if let Carried::Tcp(flow) = &flow.carried
            && flow.is_opening()
        {
            self.opening.remove(&(key.interface, flow.began(), number));
        }
        let (opened, sealed) = match &flow.carried {
            Carried::Tcp(flow) => {
                let opened = flow.opened.as_ref();
                (
                    opened.is_some_and(|opened| opened.inside().is_some()),
                    opened.and_then(|opened| opened.sealed()),
                )
            }
            Carried::Quic(flow) => (flow.requests().is_some(), flow.sealed()),
        };
        let waits = self.siblings(key).any(|other| other.number == number);
        self.twins.end(key, first);
        let mut conversation = match flow.carried {
            Carried::Tcp(tcp) => self.conversation_of(number, key, &tcp, flow.vantage),
            Carried::Quic(flow) => {
                let lookups = self.lookups.entry(shared(key.interface)).or_default();
                let ends = self.ends.entry(shared(key.interface)).or_default();
                flow.conversation(number, lookups, ends)
            }
        };
        self.counts.left_out += conversation.left_out;
        if !waits {
            self.counts.opened += u64::from(opened);
            self.counts.misfits += u64::from(sealed == Some(SealedReason::WrongKeys));
        }
        if !self.options.steps {
            conversation.steps = Vec::new();
        }
        self.done
            .take(conversation, waits, self.options.far.as_ref());
    }

    /// Reports the exchanges of a connection that goes on, unless another interface sees it too.
    pub(super) fn report(&mut self, key: FlowKey) {
        let Some(mut flow) = self.flows.remove(&key) else {
            return;
        };
        let number = flow.number;
        let is_alone = self.siblings(key).all(|other| other.number != number);
        if let Carried::Tcp(followed) = &mut flow.carried
            && is_alone
            && self.options.far.is_none()
        {
            let vantage = flow.vantage.take();
            let mut conversation = self.conversation_of(number, key, followed, vantage);
            let last = conversation.exchanges.last();
            let ended = last.and_then(|last| {
                let began = last.started?.duration_since(UNIX_EPOCH).ok()?;
                u64::try_from((began + last.total()).as_nanos()).ok()
            });
            self.counts.left_out += conversation.left_out;
            followed.report(ended);
            flow.vantage = Some(conversation.vantage.clone());
            if !self.options.steps {
                conversation.steps = Vec::new();
            }
            self.done.take(conversation, false, None);
            self.held = self.held.saturating_sub(flow.weight);
            flow.weight = flow.weigh();
            self.held += flow.weight;
        }
        self.flows.insert(key, flow);
    }

    /// The conversation of a connection, without what was reported before.
    fn conversation_of(
        &mut self,
        number: u64,
        key: FlowKey,
        flow: &TcpFlow,
        vantage: Option<Vantage>,
    ) -> Conversation {
        let opens = flow.syn_ack.is_some() && flow.reported.is_none();
        let tried = if opens {
            self.tried_before(key, flow)
        } else {
            Vec::new()
        };
        let is_only = self.openers.opened_one(flow.client.ip());
        let lookups = self.lookups.entry(shared(key.interface)).or_default();
        let ends = self.ends.entry(shared(key.interface)).or_default();
        let flows = &self.flows;
        let repeat = |end: &ConnectionEnd| {
            let is_crossed = end.crossed.is_some();
            let mut flows = flows.iter();
            is_crossed && flows.any(|(at, next)| next.repeats(*at, key, flow, end))
        };
        let others = Others {
            vantage,
            tried: &tried,
            is_only,
            repeat: &repeat,
        };
        of_tcp(number, flow, lookups, ends, others)
    }

    /// The addresses that the client of this connection tried before without success. They belong
    /// to it.
    fn tried_before(&mut self, key: FlowKey, flow: &TcpFlow) -> Vec<Tried> {
        let began = flow.began();
        let mut all = Vec::new();
        let since = began.saturating_sub(SAME_STORY);
        let within = (key.interface, since, 0)..=(key.interface, began, u64::MAX);
        let newest = self.opening.range(within).rev().take(MAX_OPENING);
        for (_, other) in newest {
            let Some(Carried::Tcp(other)) = self.flows.get_mut(other).map(|f| &mut f.carried)
            else {
                continue;
            };
            let from = (other.client.ip(), flow.client.ip());
            let tried = other.tried().filter(|_| !other.belongs_to_another);
            if let Some(tried) = tried.filter(|tried| tried.leads_to(from, flow.server, began)) {
                other.belongs_to_another = true;
                all.push(tried);
            }
        }
        all.sort_by_key(|tried| tried.began);
        all
    }

    /// Returns each finished conversation once.
    pub fn finished(&mut self) -> Vec<Conversation> {
        self.done.drain()
    }

    /// Call this at the end of the capture: returns all other conversations, in the order of their
    /// numbers.
    pub fn end(mut self) -> (Vec<Conversation>, CaptureCounts) {
        // Failed attempts come last: they may belong to a connection that followed.
        let in_vain = |flow: &Flow| matches!(&flow.carried, Carried::Tcp(tcp) if tcp.is_opening());
        let flows = self.flows.iter();
        let mut keys: Vec<(bool, u64, FlowKey)> =
            flows.map(|(k, f)| (in_vain(f), f.number, *k)).collect();
        keys.sort_by_key(|(in_vain, number, key)| (*in_vain, *number, key.interface));
        for (.., key) in keys {
            self.finish(key);
        }
        let mut done = self.done.drain();
        done.sort_by_key(|conversation| conversation.number);
        (done, self.counts)
    }
}
