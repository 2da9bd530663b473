//! Name lookups of the program: queries to port 53 that it sends itself, and when they are
//! answered. Queries by a daemon on its behalf, and names from a file, are not seen.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use roundtrip_model::{Answer, Moment, NameFacts, NameWaits};
use roundtrip_wire::dns::{Kind, Message, Name};

pub(crate) const PORT: u16 = 53;
/// The longest query, in bytes.
pub(crate) const MAX_QUERY: usize = 1024;
/// The number of lookups that are kept; older ones are forgotten.
const MAX_KEPT: usize = 512;
/// A lookup that ended longer before a connection was opened is not part of its exchange.
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// The shortest time that resolvers wait for an answer.
const MIN_TIMEOUT: Duration = Duration::from_millis(900);
/// The longest lookup: a query that is repeated later belongs to another one.
const MAX_LENGTH: Duration = Duration::from_secs(30);

/// The questions about one name, A and AAAA together.
#[derive(Debug)]
struct Lookup {
    process: i32,
    /// The cookies of the sockets that carry the lookup.
    sockets: Vec<u64>,
    server: SocketAddr,
    name: Name,
    began: Moment,
    /// The last answer.
    ended: Option<Moment>,
    queries: Vec<LookupQuery>,
    resent: u32,
    truncated: bool,
    addresses: Vec<IpAddr>,
    aliases: Vec<String>,
    ttl: Option<u32>,
    used: bool,
}

#[derive(Debug)]
struct LookupQuery {
    kind: Kind,
    id: u16,
    asked: Moment,
    answered: Option<Moment>,
}

/// A lookup as the part of an exchange.
#[derive(Debug)]
pub(crate) struct FinishedLookup {
    pub(crate) began: Moment,
    pub(crate) ended: Moment,
    pub(crate) facts: NameFacts,
}

#[derive(Debug, Default)]
pub(crate) struct Lookups(VecDeque<Lookup>);

impl Lookups {
    /// Notes a datagram to a name server; returns whether it is a query.
    pub(crate) fn asked(
        &mut self,
        (process, socket): (i32, u64),
        server: SocketAddr,
        bytes: &[u8],
        now: Moment,
    ) -> bool {
        let Ok(message) = Message::parse(bytes) else {
            return false;
        };
        let Some(question) = message.questions.first().filter(|_| !message.response) else {
            return false;
        };
        let (name, kind, id) = (&question.name, question.kind, message.id);
        let query = LookupQuery {
            kind,
            id,
            asked: now,
            answered: None,
        };
        let same = |lookup: &&mut Lookup| {
            lookup.process == process
                && lookup.name == *name
                && !lookup.used
                && now.since(lookup.began) < MAX_LENGTH
        };
        if let Some(lookup) = self.0.iter_mut().rev().find(same) {
            let is_again = |q: &LookupQuery| q.kind == kind && q.answered.is_none();
            if lookup.queries.iter().any(is_again) {
                lookup.resent += 1;
            }
            lookup.queries.push(query);
            if !lookup.sockets.contains(&socket) {
                lookup.sockets.push(socket);
            }
            return true;
        }
        if self.0.len() >= MAX_KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Lookup {
            process,
            sockets: vec![socket],
            server,
            name: name.clone(),
            began: now,
            ended: None,
            queries: vec![query],
            resent: 0,
            truncated: false,
            addresses: Vec::new(),
            aliases: Vec::new(),
            ttl: None,
            used: false,
        });
        true
    }

    /// Notes that a datagram arrived on a socket. `bytes` are missing if the program was faster.
    pub(crate) fn answered(&mut self, socket: u64, bytes: Option<&[u8]>, now: Moment) {
        let message = bytes.and_then(|bytes| Message::parse(bytes).ok());
        let message = message.filter(|message| message.response);
        let carried = |lookup: &&mut Lookup| lookup.sockets.contains(&socket);
        for lookup in self.0.iter_mut().rev().filter(carried) {
            let waits = |q: &&mut LookupQuery| {
                let is_its = message.as_ref().is_none_or(|m| m.id == q.id);
                q.answered.is_none() && is_its
            };
            let Some(query) = lookup.queries.iter_mut().find(waits) else {
                continue;
            };
            query.answered = Some(now);
            lookup.ended = Some(now);
            if let Some(message) = &message {
                lookup.truncated |= message.truncated;
                lookup.learn(message);
            }
            return;
        }
    }

    /// Notes that the program closes a socket: it either read the answer before the tap did, or
    /// waited so long that it gave up.
    pub(crate) fn closed(&mut self, socket: u64, now: Moment) {
        let carried = |lookup: &&mut Lookup| lookup.sockets.contains(&socket);
        for lookup in self.0.iter_mut().filter(carried) {
            let waits =
                |q: &&mut LookupQuery| q.answered.is_none() && now.since(q.asked) < MIN_TIMEOUT;
            for query in lookup.queries.iter_mut().filter(waits) {
                query.answered = Some(now);
                lookup.ended = Some(now);
            }
        }
    }

    /// The last lookup of `host` that was finished when a connection of the process began.
    pub(crate) fn take(
        &mut self,
        process: i32,
        host: &str,
        before: Moment,
    ) -> Option<FinishedLookup> {
        let name: Name = host.parse().ok()?;
        let fits = |lookup: &&mut Lookup| {
            let is_over = |at: Moment| at <= before && before.since(at) <= MAX_PAUSE;
            !lookup.used
                && lookup.process == process
                && lookup.name == name
                && lookup.ended.is_some_and(is_over)
        };
        let lookup = self.0.iter_mut().rev().find(fits)?;
        lookup.used = true;
        let ended = lookup.ended?;
        Some(FinishedLookup {
            began: lookup.began,
            ended,
            facts: lookup.facts(host),
        })
    }
}

impl Lookup {
    fn learn(&mut self, message: &Message) {
        let Ok(resolved) = message.addresses_for(&self.name) else {
            return;
        };
        for address in resolved.addresses {
            if !self.addresses.contains(&address) {
                self.addresses.push(address);
            }
        }
        if self.aliases.is_empty() {
            self.aliases = resolved.aliases.iter().map(ToString::to_string).collect();
        }
        self.ttl = [self.ttl, resolved.ttl].into_iter().flatten().min();
    }

    fn facts(&self, host: &str) -> NameFacts {
        NameFacts {
            aliases: self.aliases.clone(),
            ttl: self.ttl,
            resent: self.resent,
            truncated: self.truncated,
            waits: self.waits(),
            ..NameFacts::new(host, Answer::Server(self.server), self.addresses.clone())
        }
    }

    /// The waits of the lookup: how long the answer for one type came after the answer for the
    /// other.
    fn waits(&self) -> NameWaits {
        let answered = |kind: Kind| {
            let of = self.queries.iter().filter(move |q| q.kind == kind);
            of.filter_map(|q| q.answered).min()
        };
        let late = |kind: Kind| {
            let mut of = self.queries.iter().filter(|q| q.kind == kind);
            of.any(|q| q.answered.is_none())
        };
        for (kind, other, name) in [(Kind::A, Kind::AAAA, "A"), (Kind::AAAA, Kind::A, "AAAA")] {
            if let (true, Some(there), Some(ended)) = (late(kind), answered(other), self.ended) {
                return NameWaits {
                    unanswered: Some(name),
                    half: ended.since(there),
                    ..NameWaits::default()
                };
            }
        }
        NameWaits::default()
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_wire::dns::{Data, Query as Asking, Record};

    use super::*;

    const SERVER: &str = "127.0.0.53:53";

    fn query(id: u16, kind: Kind) -> Vec<u8> {
        let name = "a.example".parse().unwrap();
        Asking::new(id, name, kind).encode().unwrap()
    }

    fn answer(id: u16) -> Vec<u8> {
        let mut message = Message::parse(&query(id, Kind::A)).unwrap();
        message.response = true;
        message.answers.push(Record {
            name: "a.example".parse().unwrap(),
            ttl: 7,
            data: Data::A([192, 0, 2, 1].into()),
        });
        message.encode().unwrap()
    }

    #[test]
    fn a_lookup_lasts_from_the_first_query_to_the_last_answer() {
        let mut lookups = Lookups::default();
        let server = SERVER.parse().unwrap();
        let at = |ms| Moment::from_millis(ms);
        assert!(lookups.asked((1, 9), server, &query(4, Kind::A), at(1.0)));
        assert!(lookups.asked((1, 9), server, &query(5, Kind::AAAA), at(2.0)));
        lookups.answered(9, Some(&answer(4)), at(20.0));
        // The program read this one first.
        lookups.answered(9, None, at(30.0));
        assert!(lookups.take(1, "b.example", at(31.0)).is_none());
        assert!(lookups.take(2, "a.example", at(31.0)).is_none());
        let found = lookups.take(1, "a.example", at(31.0)).unwrap();
        assert_eq!((found.began, found.ended), (at(1.0), at(30.0)));
        assert_eq!(found.facts.addresses, [IpAddr::from([192, 0, 2, 1])]);
        assert_eq!((found.facts.resent, found.facts.ttl), (0, Some(7)));
        assert!(lookups.take(1, "a.example", at(31.0)).is_none(), "used");
    }

    #[test]
    fn an_answer_that_was_read_too_fast_is_inferred_from_the_end() {
        let server = SERVER.parse().unwrap();
        let at = |ms| Moment::from_millis(ms);
        for (closed, is_answered) in [(40.0, true), (5000.0, false)] {
            let mut lookups = Lookups::default();
            lookups.asked((1, 9), server, &query(4, Kind::A), at(0.0));
            lookups.closed(9, at(closed));
            let found = lookups.take(1, "a.example", at(closed + 1.0));
            assert_eq!(found.is_some(), is_answered);
        }
    }

    #[test]
    fn a_repeated_query_is_counted() {
        let mut lookups = Lookups::default();
        let server = SERVER.parse().unwrap();
        let at = |ms| Moment::from_millis(ms);
        lookups.asked((1, 9), server, &query(4, Kind::A), at(0.0));
        lookups.asked((1, 9), server, &query(4, Kind::A), at(5000.0));
        lookups.answered(9, Some(&answer(4)), at(5020.0));
        let found = lookups.take(1, "a.example", at(5021.0)).unwrap();
        assert_eq!(found.facts.resent, 1);
    }

    #[test]
    fn bytes_that_are_not_a_query_are_none() {
        let mut lookups = Lookups::default();
        let server = SERVER.parse().unwrap();
        for bytes in [vec![], vec![0; 12], vec![0xff; 40], answer(1)] {
            assert!(!lookups.asked((1, 9), server, &bytes, Moment(1)));
        }
    }
}
