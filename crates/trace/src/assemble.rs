//! Turns a finished TCP connection into a conversation: its vantage point, its contents, and what
//! cannot be decided from that vantage point.

use crate::conversation::{Carrier, Conversation, Undecidable};
use crate::exchanges::{self, ConnectionOutcome, Context};
use crate::names::NameLookups;
use crate::relations::{ConnectionEnd, ConnectionEnds};
use crate::steps;
use crate::tcp::{Content, TcpFlow};
use crate::tried::Tried;
use crate::vantage::{Vantage, VantagePoint};

/// What other connections of the same client show, and an earlier part of this one.
pub(crate) struct Others<'a> {
    /// The place that this one was seen from, if a part of it was reported.
    pub(crate) vantage: Option<Vantage>,
    /// Addresses that were tried before this connection.
    pub(crate) tried: &'a [Tried],
    /// The client opened no other connection.
    pub(crate) is_only: bool,
    /// Whether another connection repeats the request that crossed this end.
    pub(crate) repeat: &'a dyn Fn(&ConnectionEnd) -> bool,
}

pub(crate) fn of_tcp(
    number: u64,
    flow: &TcpFlow,
    lookups: &mut NameLookups,
    ends: &mut ConnectionEnds,
    others: Others<'_>,
) -> Conversation {
    let (client, server) = (flow.client.ip(), flow.server.ip());
    let opens = flow.reported.is_none();
    let vantage = others
        .vantage
        .unwrap_or_else(|| ends.place((client, server), Vantage::from_flow(flow)));
    let began = flow.began();
    let at = began.saturating_add(vantage.distance());
    let lookup = opens.then(|| lookups.take(client, server, at)).flatten();
    let lookup = lookup.map(|lookup| lookup.seen_from(vantage.distance()));
    let name = lookups.name_of(client, server).map(str::to_owned);
    let context = Context {
        lookup: lookup.as_ref(),
        name: name.as_deref(),
        tried: others.tried,
        is_only: others.is_only,
        reopened: flow
            .syn
            .filter(|_| opens)
            .and_then(|_| ends.take(client, flow.server, began)),
    };
    let mut told = exchanges::of(flow, &vantage, &context);
    if flow.belongs_to_another || flow.is_one_way() {
        told.exchanges.clear();
    }
    if let Some(end) = told.end {
        // A request that was repeated on the next connection belongs to it.
        if (others.repeat)(&end) {
            told.exchanges.pop();
        }
        ends.note(client, flow.server, end);
    }
    let frames = (
        flow.sights.first().map_or(0, |sight| sight.frame),
        flow.sights.last().map_or(0, |sight| sight.frame),
    );
    let (sent_again, steps) = (steps::sent_again(flow, &vantage), steps::of(flow, &vantage));
    Conversation {
        number,
        client: flow.client,
        server: flow.server,
        carrier: Carrier::Tcp,
        interface: flow.interface,
        undecidable: undecidable(flow, &vantage, &told),
        vantage,
        frames,
        packets: flow.sights.len() as u64 + flow.merged,
        sent_again,
        began,
        is_inferred: told.is_inferred,
        exchanges: told.exchanges,
        left_out: told.left_out,
        session: flow.opened.as_ref().and_then(|opened| opened.session()),
        located: None,
        steps,
    }
}

fn undecidable(flow: &TcpFlow, vantage: &Vantage, told: &ConnectionOutcome) -> Vec<Undecidable> {
    let mut all = Vec::new();
    if flow.is_one_way() {
        all.push(Undecidable {
            what: "what the exchanges waited for: the capture has one direction only",
            needs: "a capture of both directions",
        });
    }
    if told.has_unread_pauses {
        all.push(Undecidable {
            what: "whether the server paused within an answer or sent something unprompted",
            needs: "a supported protocol: HTTP or TLS",
        });
    }
    if told.is_opened_early {
        all.push(Undecidable {
            what: "whether the client opened the connection in advance or was late with its request",
            needs: "the client's own log, or trace -- COMMAND",
        });
    }
    if flow.is_switched() {
        all.push(Undecidable {
            what: "what the connection carried after it had been switched to another protocol",
            needs: "a supported protocol: HTTP or TLS",
        });
    }
    if let Content::Tls(followers) = &flow.content {
        let opened = flow.opened.as_ref();
        if opened.is_none_or(|opened| opened.inside().is_none()) {
            let sealed = opened.and_then(|opened| opened.sealed());
            all.push(Undecidable {
                what: "which requests and statuses the encrypted bytes are",
                needs: Undecidable::keys(sealed),
            });
        }
        if !followers
            .iter()
            .all(crate::records::RecordFollower::is_whole)
        {
            all.push(Undecidable {
                what: "where TLS records end: the capture lost bytes of their headers",
                needs: "a capture that keeps whole packets",
            });
        }
    }
    if flow.syn.is_none() {
        all.push(Undecidable {
            what: "how long the connection took to open, and its window scale",
            needs: "a capture from before the connection",
        });
    }
    match vantage.place {
        VantagePoint::Server | VantagePoint::Middle => all.push(Undecidable {
            what: "losses before this place, and how busy the client was",
            needs: "a capture at the client's side",
        }),
        _ => all.push(Undecidable {
            what: "whether the server's host or its application was late",
            needs: "a capture at the server's side",
        }),
    }
    all
}
