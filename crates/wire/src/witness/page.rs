//! A page load as a chain: which requests the last one waited for, why, and how long the load would
//! have taken without one of these waits.
//!
//! A request begins because something before it was ready: the answer that named it, or the last
//! one that ended before it. It needs a connection, and waits in the queue if another request holds
//! it: its spans include both. The critical path is the chain that ends last; its steps cover the
//! load from the beginning to the end without overlap. Requests of other chains, such as those that
//! browsers make for themselves, are not part of the load. If the log names pages, they are
//! separate loads, and the one with the most requests is shown.

use std::collections::HashMap;

use super::{LogTime, ToldPhase, ToldRequest, Witness};

/// The largest number of requests of one load; a page has a few hundred.
const MAX_REQUESTS: usize = 20_000;
/// The longest time, in nanoseconds, from another server's answer to a request that has waited for
/// it.
const SOON: u64 = 50_000_000;

/// Why a request did not begin earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The request is the first of its chain.
    First,
    /// The log names its initiator.
    Named,
    /// No initiator is named; this request was the last one that ended before it, on the same
    /// server if possible.
    After,
}

/// A part of the critical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriticalStep {
    /// The index of the request.
    pub request: usize,
    /// The phase in which the time was spent; `None` if no span of the log covers it.
    pub phase: Option<ToldPhase>,
    pub begin: LogTime,
    pub end: LogTime,
    /// For time in the queue: the earlier request whose connection or turn this request got.
    pub holder: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct PageLoad {
    /// For each request, the one that it followed, and why.
    pub parents: Vec<Option<(usize, Reason)>>,
    /// The steps of the critical path, in order of time.
    pub critical: Vec<CriticalStep>,
}

impl PageLoad {
    /// Finds the page load; `None` if no request has an end.
    pub fn from_witness(witness: &Witness) -> Option<Self> {
        let requests = witness
            .requests
            .get(..MAX_REQUESTS)
            .unwrap_or(&witness.requests);
        let parents = parents(requests);
        let roots = roots(requests, &parents);
        let mut sizes = vec![0_usize; requests.len()];
        for root in &roots {
            if let Some(size) = sizes.get_mut(*root) {
                *size += 1;
            }
        }
        let size = |index: usize| sizes.get(*roots.get(index)?);
        let ended = requests.iter().enumerate();
        let ended = ended.filter_map(|(index, request)| Some((size(index)?, request.end?, index)));
        let (.., last) = ended.max()?;
        let mut chain = vec![last];
        // A parent begins before its child, so this ends.
        while let Some((parent, _)) = chain.last().and_then(|at| *parents.get(*at)?) {
            chain.push(parent);
        }
        chain.reverse();
        let mut critical = Vec::new();
        for (place, index) in chain.iter().enumerate() {
            let next = chain.get(place + 1).and_then(|next| requests.get(*next));
            let until = next.map(|next| next.begin);
            steps(requests, *index, until, &mut critical);
        }
        let holders = Holders::new(requests);
        for step in &mut critical {
            if step.phase == Some(ToldPhase::Queue) {
                step.holder = holders.holder(step.request, step.end);
            }
        }
        Some(Self { parents, critical })
    }

    /// How long the load took.
    pub fn length(&self) -> u64 {
        let (first, last) = (self.critical.first(), self.critical.last());
        first
            .zip(last)
            .map_or(0, |(first, last)| last.end.saturating_sub(first.begin))
    }

    /// The number of round trips on the path: one for each connection and for each wait for an
    /// answer, and `handshake` for each handshake (1 for TLS 1.3, 2 for 1.2).
    pub fn round_trips(&self, handshake: u32) -> u32 {
        let cost = |step: &CriticalStep| match step.phase {
            Some(ToldPhase::Connect | ToldPhase::Wait) => 1,
            Some(ToldPhase::Handshake) => handshake,
            _ => 0,
        };
        self.critical.iter().map(cost).sum()
    }

    /// How long the load would have taken if these steps took no time. The result is not shorter
    /// than any other chain, because steps outside the path stay.
    pub fn without(&self, witness: &Witness, removed: impl Fn(&CriticalStep) -> bool) -> u64 {
        let requests = witness
            .requests
            .get(..MAX_REQUESTS)
            .unwrap_or(&witness.requests);
        let mut saved = vec![0_u64; requests.len()];
        let mut order = in_order(requests);
        let Some(root) = self.critical.first().map(|step| step.request) else {
            return 0;
        };
        let roots = roots(requests, &self.parents);
        order.retain(|index| roots.get(*index) == Some(&root));
        let start = requests
            .get(root)
            .map(|first| first.begin)
            .unwrap_or_default();
        let mut end = 0;
        for index in order {
            let Some(request) = requests.get(index) else {
                continue;
            };
            // It also saves what its parent saved before this one began.
            let parent = self.parents.get(index).copied().flatten();
            let before = parent.map_or(0, |(parent, _)| {
                let mut own = Vec::new();
                steps(requests, parent, Some(request.begin), &mut own);
                let saved_above = saved.get(parent).copied().unwrap_or_default();
                saved_above
                    + own
                        .iter()
                        .filter(|step| removed(step))
                        .map(length)
                        .sum::<u64>()
            });
            let mut own = Vec::new();
            steps(requests, index, None, &mut own);
            let here: u64 = own.iter().filter(|step| removed(step)).map(length).sum();
            if let Some(place) = saved.get_mut(index) {
                *place = before;
            }
            let last = request.end.unwrap_or(request.begin);
            end = end.max(last.saturating_sub(start).saturating_sub(before + here));
        }
        end
    }
}

/// The requests in the order in which they began.
fn in_order(requests: &[ToldRequest]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|index| requests.get(*index).map(|request| request.begin));
    order
}

/// The start of the chain of each request.
fn roots(requests: &[ToldRequest], parents: &[Option<(usize, Reason)>]) -> Vec<usize> {
    let mut roots: Vec<usize> = (0..requests.len()).collect();
    // A parent begins before its child.
    for index in in_order(requests) {
        let parent = parents.get(index).copied().flatten();
        let root = parent.and_then(|(parent, _)| roots.get(parent).copied());
        if let (Some(root), Some(place)) = (root, roots.get_mut(index)) {
            *place = root;
        }
    }
    roots
}

fn length(step: &CriticalStep) -> u64 {
    step.end.saturating_sub(step.begin)
}

/// The request that each one followed, and why.
fn parents(requests: &[ToldRequest]) -> Vec<Option<(usize, Reason)>> {
    let mut pages: HashMap<Option<&str>, Vec<usize>> = HashMap::new();
    for (index, request) in requests.iter().enumerate() {
        pages
            .entry(request.page.as_deref())
            .or_default()
            .push(index);
    }
    let mut parents = vec![None; requests.len()];
    for page in pages.values() {
        let page = Page::new(requests, page);
        for index in page.all {
            let found = requests
                .get(*index)
                .and_then(|one| page.parent(*index, one));
            if let Some(parent) = parents.get_mut(*index) {
                *parent = found;
            }
        }
    }
    parents
}

/// The requests of one page, or of a log that names none.
struct Page<'a> {
    requests: &'a [ToldRequest],
    all: &'a [usize],
    /// When the first request began.
    first: LogTime,
    /// The requests that have an end, ordered by it: all of them, and the requests to each server.
    ended: Vec<(LogTime, usize)>,
    by_server: HashMap<&'a str, Vec<(LogTime, usize)>>,
    by_url: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Page<'a> {
    fn new(requests: &'a [ToldRequest], all: &'a [usize]) -> Self {
        let mut page = Self {
            requests,
            all,
            first: LogTime::MAX,
            ended: Vec::new(),
            by_server: HashMap::new(),
            by_url: HashMap::new(),
        };
        for (index, request) in all.iter().filter_map(|at| Some((*at, requests.get(*at)?))) {
            page.first = page.first.min(request.begin);
            page.by_url.entry(&request.url).or_default().push(index);
            page.ended.extend(request.end.map(|end| (end, index)));
        }
        page.ended.sort_unstable();
        for (end, index) in &page.ended {
            let of_server = requests.get(*index).map(|request| server(&request.url));
            let of_server = page.by_server.entry(of_server.unwrap_or_default());
            of_server.or_default().push((*end, *index));
        }
        page
    }

    fn begins_before(&self, index: usize, begin: LogTime) -> bool {
        let request = self.requests.get(index);
        request.is_some_and(|request| request.begin < begin)
    }

    fn last_before(&self, ended: &[(LogTime, usize)], begin: LogTime) -> Option<(LogTime, usize)> {
        let behind = ended.partition_point(|(end, _)| *end <= begin);
        let (end, last) = *ended.get(behind.checked_sub(1)?)?;
        self.begins_before(last, begin).then_some((end, last))
    }

    fn parent(&self, index: usize, request: &ToldRequest) -> Option<(usize, Reason)> {
        let named = request.initiator.as_deref();
        let named = named.and_then(|url| self.by_url.get(url)).and_then(|all| {
            let before =
                |other: &&usize| **other != index && self.begins_before(**other, request.begin);
            all.iter().rev().find(before).copied()
        });
        if let Some(named) = named {
            return Some((named, Reason::Named));
        }
        if request.begin == self.first {
            return None;
        }
        // Some logs name only the server of the initiator.
        let asker = request.initiator.as_deref().unwrap_or(&request.url);
        let of_server = self.by_server.get(server(asker));
        let of_server = of_server.and_then(|all| self.last_before(all, request.begin));
        if let Some((_, last)) = of_server {
            return Some((last, Reason::After));
        }
        let (end, last) = self.last_before(&self.ended, request.begin)?;
        let is_soon = request.begin.saturating_sub(end) <= SOON;
        (is_soon || request.page.is_some()).then_some((last, Reason::After))
    }
}

/// The parts of a request up to `until`, or to its end.
fn steps(
    requests: &[ToldRequest],
    index: usize,
    until: Option<LogTime>,
    out: &mut Vec<CriticalStep>,
) {
    let Some(request) = requests.get(index) else {
        return;
    };
    let until = until.or(request.end).unwrap_or(request.begin);
    let mut at = request.begin;
    let mut spans = request.spans.clone();
    spans.sort_by_key(|span| (span.begin, span.end));
    for span in spans {
        let (begin, end) = (span.begin.max(at), span.end.min(until));
        if end <= begin {
            continue;
        }
        if begin > at {
            out.push(CriticalStep {
                request: index,
                phase: None,
                begin: at,
                end: begin,
                holder: None,
            });
        }
        out.push(CriticalStep {
            request: index,
            phase: Some(span.phase),
            begin,
            end,
            holder: None,
        });
        at = end;
    }
    if at < until {
        out.push(CriticalStep {
            request: index,
            phase: None,
            begin: at,
            end: until,
            holder: None,
        });
    }
}

/// The requests that may have held what another request waited for, on each connection and to each
/// server. All have an end, and are ordered by it.
struct Holders<'a> {
    requests: &'a [ToldRequest],
    by_connection: HashMap<usize, Vec<(LogTime, usize)>>,
    by_server: HashMap<&'a str, Vec<(LogTime, usize)>>,
}

impl<'a> Holders<'a> {
    fn new(requests: &'a [ToldRequest]) -> Self {
        let mut ended: Vec<(LogTime, usize)> = requests
            .iter()
            .enumerate()
            .filter_map(|(index, request)| Some((request.end?, index)))
            .collect();
        ended.sort_unstable();
        let mut holders = Self {
            requests,
            by_connection: HashMap::new(),
            by_server: HashMap::new(),
        };
        for (end, index) in ended {
            let Some(request) = requests.get(index) else {
                continue;
            };
            let of_server = holders.by_server.entry(server(&request.url));
            of_server.or_default().push((end, index));
            if let Some(connection) = request.connection {
                let on_it = holders.by_connection.entry(connection);
                on_it.or_default().push((end, index));
            }
        }
        holders
    }

    /// The request that this one waited for: the previous one on its connection, or else the last
    /// one to the same server that had ended when this one's wait ended.
    fn holder(&self, index: usize, end: LogTime) -> Option<usize> {
        let request = self.requests.get(index)?;
        let connection = request.connection;
        let on_it = connection.and_then(|connection| self.by_connection.get(&connection));
        let of_server = self.by_server.get(server(&request.url));
        [on_it, of_server].into_iter().flatten().find_map(|all| {
            let until = all.partition_point(|(ended, _)| *ended <= end);
            let before = all.get(..until)?.iter().rev();
            let mut before = before.take_while(|(ended, _)| *ended > request.begin);
            before
                .find(|(_, other)| *other != index)
                .map(|(_, other)| *other)
        })
    }
}

/// Scheme and authority of a URL.
fn server(url: &str) -> &str {
    let from = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(from..).and_then(|rest| rest.find('/'));
    end.and_then(|end| url.get(..from + end)).unwrap_or(url)
}

#[cfg(test)]
mod tests;
