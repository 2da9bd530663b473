//! The sources of a NetLog: what each did, when, and which others it refers to.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::packets::QuicPackets;
use super::{NetLogConstants, parameter};
use crate::witness::{LogTime, MAX_KEPT, nanoseconds, number, text, whole};

/// The largest number of sources that may work for a request.
const MAX_HELPERS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Sources {
    all: BTreeMap<u64, NetLogSource>,
    /// The first tick of the log, in nanoseconds.
    first: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct NetLogSource {
    pub(super) kind: String,
    pub(super) begin: LogTime,
    /// The latest known end of anything that the source did.
    pub(super) end: Option<LogTime>,
    /// What a QUIC session sent and received.
    pub(super) packets: QuicPackets,
    spans: HashMap<String, Span>,
    texts: HashMap<&'static str, String>,
    names: BTreeSet<u64>,
    /// The jobs that ran side by side; one of them won.
    tried: BTreeSet<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    begin: LogTime,
    end: Option<LogTime>,
}

impl Sources {
    /// Takes an event; `None` if it cannot be read.
    pub(super) fn take(&mut self, names: &NetLogConstants, event: &Value) -> Option<()> {
        let time = number(&event["time"]).and_then(nanoseconds)?;
        let at = time.saturating_sub(*self.first.get_or_insert(time));
        let id = identity(&event["source"]["id"])?;
        let kind = whole(&event["type"])?;
        // A type that is missing in the constants is ignored.
        let Some(kind) = names.events.get(&kind) else {
            return Some(());
        };
        if self.all.len() >= MAX_KEPT && !self.all.contains_key(&id) {
            return None;
        }
        let source = self.all.entry(id).or_insert_with(|| NetLogSource {
            kind: whole(&event["source"]["type"])
                .and_then(|kind| names.sources.get(&kind).cloned())
                .unwrap_or_default(),
            begin: at,
            ..NetLogSource::default()
        });
        let phase = whole(&event["phase"]).unwrap_or(0);
        if phase == names.begin {
            source.spans.entry(kind.clone()).or_insert(Span {
                begin: at,
                end: None,
            });
        } else if phase == names.end {
            let span = source.spans.entry(kind.clone());
            let span = span.or_insert(Span {
                begin: at,
                end: None,
            });
            span.end = span.end.max(Some(at));
            if kind == "REQUEST_ALIVE" || kind == "SOCKET_ALIVE" {
                source.end = Some(at);
            }
        }
        let parameters = &event["params"];
        source.packets.take(at, kind, parameters);
        if let Some((name, value)) = parameter(kind, parameters) {
            let value = match name {
                "url" | "method" => {
                    source.texts.entry(name).or_insert(value);
                    None
                }
                _ => Some(value),
            };
            if let Some(value) = value {
                source.texts.insert(name, value);
            }
        }
        if kind == "URL_REQUEST_START_JOB" {
            for name in ["method", "initiator"] {
                if let Some(value) = text(&parameters[name]) {
                    source.texts.insert(name, value);
                }
            }
        }
        if let Some(named) = identity(&parameters["source_dependency"]["id"]) {
            if is_helping(kind) && source.names.len() < MAX_HELPERS {
                source.names.insert(named);
            } else if kind == "HTTP_STREAM_REQUEST_STARTED_JOB" && source.tried.len() < MAX_HELPERS
            {
                source.tried.insert(named);
            }
        }
        Some(())
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.first
    }

    pub(super) fn get(&self, id: u64) -> Option<&NetLogSource> {
        self.all.get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &NetLogSource)> {
        self.all.iter().map(|(id, source)| (*id, source))
    }

    /// The sources that a request refers to, and those that these refer to.
    pub(super) fn helpers(&self, request: u64) -> Vec<u64> {
        self.reachable(request, |source| source.names.iter())
    }

    /// Like [`Self::helpers`], but also includes the sources of jobs that did not win.
    pub(super) fn tried(&self, request: u64) -> Vec<u64> {
        self.reachable(request, |source| source.names.union(&source.tried))
    }

    fn reachable<'a, I: Iterator<Item = &'a u64>>(
        &'a self,
        request: u64,
        named: impl Fn(&'a NetLogSource) -> I,
    ) -> Vec<u64> {
        let mut found = vec![request];
        let mut at = 0;
        while let Some(id) = found.get(at).copied().filter(|_| found.len() < MAX_HELPERS) {
            at += 1;
            for named in self.get(id).into_iter().flat_map(&named) {
                let is_other_request = self
                    .get(*named)
                    .is_none_or(|source| source.kind == "URL_REQUEST");
                if !is_other_request && !found.contains(named) {
                    found.push(*named);
                }
            }
        }
        found.remove(0);
        found
    }
}

/// The number of a source. Some of the browser's own have negative ones.
fn identity(id: &Value) -> Option<u64> {
    whole(id).or_else(|| id.as_i64().map(i64::cast_unsigned))
}

/// Whether the event refers to a source that works for its own source. In all other events, its own
/// source works for the one that it refers to.
fn is_helping(event: &str) -> bool {
    matches!(
        event,
        "HTTP_STREAM_REQUEST_BOUND_TO_JOB"
            | "HTTP_STREAM_JOB_CONTROLLER_BOUND"
            | "SOCKET_POOL_BOUND_TO_SOCKET"
            | "SOCKET_POOL_BOUND_TO_CONNECT_JOB"
            | "CONNECT_JOB_SET_SOCKET"
            | "HOST_RESOLVER_MANAGER_JOB_ATTACH"
            | "HOST_RESOLVER_MANAGER_CREATE_JOB"
            | "HTTP2_SESSION_POOL_IMPORTED_SESSION_FROM_SOCKET"
            | "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION"
            | "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION_FROM_IP_POOL"
            | "HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION"
            | "HTTP2_SESSION_INITIALIZED"
            | "QUIC_SESSION_POOL_JOB_RESULT"
            | "BOUND_TO_QUIC_SESSION_POOL_JOB"
    )
}

impl NetLogSource {
    /// The span from the first beginning to the last end; `None` if there is no end.
    pub(super) fn span(&self, name: &str) -> Option<(LogTime, LogTime)> {
        let span = self.spans.get(name)?;
        Some((span.begin, span.end?))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }
}
