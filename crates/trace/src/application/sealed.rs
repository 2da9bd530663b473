//! TLS without its keys: only the positions, types and lengths of its records are known.

use std::ops::Range;

use roundtrip_wire::tls::{ClientHello, ContentKind, HandshakeKind, ServerHello, Version};

use super::{DataBurst, SOONEST, TlsSeen, TracedRequest, of_bursts};
use crate::records::{RecordFollower, RecordPlace};
use crate::view::ClientView;

/// The largest record, in bytes on the wire, with which a server only acknowledges SETTINGS and
/// sends a WINDOW_UPDATE; answers are longer.
const MAX_CONTROL: u64 = 5 + 17 + SETTINGS + WINDOW_UPDATE;
/// The bytes on the wire of an encrypted alert, and of the record that ends early data.
const ALERT: u64 = 5 + 2 + 17;
const END_OF_EARLY_DATA: u64 = 5 + 4 + 17;
/// The bytes of the preface of an HTTP/2 connection, and of an empty SETTINGS frame; each setting
/// adds six, and a WINDOW_UPDATE thirteen.
const PREFACE: u64 = 24;
const SETTINGS: u64 = 9;
const SETTING: u64 = 6;
const MAX_SETTINGS: u64 = 8;
const WINDOW_UPDATE: u64 = 13;
const PING: u64 = 17;
/// The number of records among which a server acknowledges the client's SETTINGS.
const FIRST_FRAMES: usize = 6;
/// The overhead of a record in bytes, in TLS 1.3, and in TLS 1.2 with AES-GCM and with ChaCha20.
const SEALS: [u64; 3] = [5 + 17, 5 + 24, 5 + 16];
/// The bytes on the wire of the shortest record with a Finished, and of the shortest extensions.
const MIN_FINISHED: u64 = 5 + 17 + 36;
const MIN_EXTENSIONS: u64 = 6;
/// In bytes: the most that a client adds to each of its records.
const MAX_PADDING: u64 = 64;
/// In bytes on the wire: the largest size of tickets with SETTINGS, the smallest ticket, and how
/// much the tickets of one server may differ.
const MAX_TICKET: u64 = 700;
const MIN_TICKET: u64 = 5 + 17 + 24;
const BLOCK: u64 = 16;
/// In nanoseconds: tickets that arrive within this time were sent together.
const WITH_TICKETS: u64 = 1_000_000;
/// In nanoseconds: what arrives within this time belongs to the acknowledgement of the client's
/// Finished.
const WITH_ACK: u64 = 5_000_000;

/// Reads what a TLS connection shows without its keys.
pub(crate) fn of_tls(
    followers: &[RecordFollower; 2],
    view: &ClientView,
    rtt: u64,
) -> (TlsSeen, Vec<TracedRequest>) {
    let [client, server] = followers;
    let mut seen = hellos(client, server);
    seen.began = view.connected.or(view.sent.first().map(|(_, at)| *at));
    seen.alert = server
        .records()
        .iter()
        .find(|r| r.kind == ContentKind::Alert && r.length() == 7)
        .and_then(|r| view.readable(r.end));
    let began_before = !client.began_with_handshake() && !server.began_with_handshake();
    let places = if began_before {
        Some(HandshakeEnd::default())
    } else if seen.server.is_none() {
        finished_unread(client, server, view, &mut seen)
    } else if seen.version == Some(Version::TLS13) {
        finished_13(client, server, view, &mut seen)
    } else {
        finished_12(server, view, &mut seen)
    };
    let Some(end) = places else {
        return (seen, Vec::new());
    };
    let is_13 = seen.version == Some(Version::TLS13);
    let may_be_h2 = seen
        .client
        .as_ref()
        .is_none_or(|c| c.alpn.iter().any(|name| name == "h2"));
    let of = |records: &[RecordPlace], from: u64, is_request: bool| -> Vec<DataBurst> {
        let data = records
            .iter()
            .filter(|r| r.is_application_data() && r.start >= from);
        let data = data.filter(|r| !(is_request && end.between.contains(&r.start)));
        // In TLS 1.3, alerts look like data.
        let data = data.filter(|r| !is_13 || r.length() != ALERT);
        let padding = if is_request { end.padding } else { 0 };
        data.filter_map(|record| {
            let ends = [record.start + 1, record.end];
            let [began, at] = if is_request {
                ends.map(|end| view.left(end))
            } else {
                ends.map(|end| view.readable(end))
            };
            Some(DataBurst {
                began: began?,
                at: at?,
                is_request,
                bytes: record.length() - padding.min(record.length()),
            })
        })
        .collect()
    };
    let seals = seals(seen.version);
    let mut requests = of(client.records(), end.requests_from, true);
    let mut answers = of(server.records(), end.answers_from, false);
    if may_be_h2 {
        drop_preface(&mut requests, rtt);
        drop_settings_ack(&mut requests, seals, server, view);
        let mut first = answers.iter().take(FIRST_FRAMES);
        if let Some(found) = first.position(|answer| is_empty_frame(answer.bytes, seals)) {
            answers.remove(found);
        }
    }
    if is_13 {
        drop_tickets(&mut answers, &requests, &seen, rtt);
    }
    if may_be_h2 {
        let under_way = |at: u64| is_under_way(server.records(), view.read_at(at));
        drop_control(&mut requests, &answers, seals, rtt, &under_way);
    }
    let mut bursts = [requests, answers].concat();
    bursts.sort_by_key(|burst| burst.at);
    (seen, of_bursts(&bursts, rtt))
}

/// Where the handshake ends in the two streams.
#[derive(Debug, Default)]
struct HandshakeEnd {
    requests_from: u64,
    /// Data that the client sent after its request and before the next one. It belongs to the
    /// first.
    between: Range<u64>,
    answers_from: u64,
    /// The zeros that the client adds to each record. RFC 8446 §5.4.
    padding: u64,
}

impl HandshakeEnd {
    fn at(requests_from: u64, answers_from: u64) -> Self {
        Self {
            requests_from,
            between: 0..0,
            answers_from,
            padding: 0,
        }
    }
}

/// Where the server's answers may begin after the flight of a resumption: its extensions and its
/// Finished, in one record or in two.
fn after_resumption(server: &RecordFollower) -> u64 {
    let mut data = server.records().iter().filter(|r| r.is_application_data());
    let Some(first) = data.next() else {
        return u64::MAX;
    };
    if first.length() >= MIN_FINISHED + MIN_EXTENSIONS {
        return first.end;
    }
    data.next().map_or(first.end, |finished| finished.end)
}

/// The numbers of bytes that a record may have in addition to its content.
fn seals(version: Option<Version>) -> &'static [u64] {
    let (new, old) = SEALS.split_at(1);
    match version {
        Some(Version::TLS13) => new,
        Some(Version::TLS12) => old,
        _ => &SEALS,
    }
}

/// Whether this record may contain only HTTP/2 control frames: up to three of an acknowledgement of
/// SETTINGS, a WINDOW_UPDATE or RST_STREAM, and a PING. A short request may have the same length.
fn may_be_control(length: u64, seals: &[u64]) -> bool {
    seals.iter().any(|seal| {
        let inside = length.checked_sub(*seal);
        inside.is_some_and(|inside| {
            let frames = [0, SETTINGS, WINDOW_UPDATE, PING];
            let two = frames.iter().flat_map(|a| frames.map(|b| a + b));
            let mut three = two.flat_map(|two| frames.map(|c| two + c));
            three.any(|sum| sum == inside)
        })
    })
}

/// Whether a record of this length contains no request: SETTINGS with an acknowledgement, or one
/// WINDOW_UPDATE. A request has more fields than fit.
fn is_control(length: u64, seals: &[u64]) -> bool {
    let mut inside = seals.iter().filter_map(|seal| length.checked_sub(*seal));
    inside.any(|inside| inside == SETTINGS || inside == WINDOW_UPDATE)
}

/// Whether a record of this length holds one frame of HTTP/2 without content, such as the
/// acknowledgement of the client's SETTINGS.
fn is_empty_frame(length: u64, seals: &[u64]) -> bool {
    seals.iter().any(|seal| length == seal + SETTINGS)
}

/// Whether the server had begun a record and not ended it, when the client had read up to `place`:
/// its answer went on.
fn is_under_way(records: &[RecordPlace], place: u64) -> bool {
    let at = records.partition_point(|record| record.end <= place);
    records.get(at).is_some_and(|record| record.start < place)
}

/// Drops the acknowledgement of the server's SETTINGS, which every client sends as soon as it has
/// read them. That is the first later record that contains only control frames, or that may do so
/// and directly follows data of the server. RFC 9113 §6.5.3.
fn drop_settings_ack(
    requests: &mut Vec<DataBurst>,
    seals: &[u64],
    server: &RecordFollower,
    view: &ClientView,
) {
    let data = server.records().iter().filter(|r| r.is_application_data());
    let came: Vec<u64> = data
        .filter_map(|record| view.readable(record.end))
        .collect();
    let follows = |at: u64| {
        let before = came.partition_point(|came| *came <= at).checked_sub(1);
        let before = before.and_then(|before| came.get(before));
        before.is_some_and(|came| at - came <= WITH_ACK)
    };
    let mut later = requests.iter().enumerate().skip(1);
    let found = later.find(|(_, request)| {
        is_control(request.bytes, seals)
            || may_be_control(request.bytes, seals) && follows(request.began)
    });
    if let Some(found) = found.map(|(place, _)| place) {
        requests.remove(found);
    }
}

/// Drops records that request nothing. A record that is as long as a frame without content counts
/// as a request only if nothing else can have caused the answer that follows.
fn drop_control(
    requests: &mut Vec<DataBurst>,
    answers: &[DataBurst],
    seals: &[u64],
    rtt: u64,
    under_way: &dyn Fn(u64) -> bool,
) {
    let soonest = (rtt as f64 * SOONEST) as u64;
    let data: Vec<u64> = answers
        .iter()
        .filter(|answer| answer.bytes > MAX_CONTROL)
        .map(|answer| answer.at)
        .collect();
    let after = |at: u64| data.get(data.partition_point(|data| *data <= at)).copied();
    let all = requests.clone();
    // When the newest certain request left.
    let mut asked: Option<u64> = None;
    let mut n = 0;
    requests.retain(|request| {
        n += 1;
        if !may_be_control(request.bytes, seals) {
            asked = Some(request.at);
            return true;
        }
        // Before the first request, a server sends only SETTINGS.
        let sooner = if asked.is_none() { soonest } else { 0 };
        let answered = after(request.at + sooner).filter(|_| !is_control(request.bytes, seals));
        let Some(answered) = answered.filter(|_| !under_way(request.at)) else {
            return false;
        };
        let is_open = asked.is_some_and(|asked| {
            after(asked + soonest).is_none_or(|answered| answered > request.at)
        });
        let is_next = all.get(n).is_some_and(|next| next.at + soonest <= answered);
        let is_request = answered >= request.at + soonest && !is_open && !is_next;
        if is_request {
            asked = Some(request.at);
        }
        is_request
    });
}

pub(super) fn hellos(client: &RecordFollower, server: &RecordFollower) -> TlsSeen {
    let mut seen = TlsSeen::default();
    client.messages(|messages| {
        for message in messages {
            if message.kind == HandshakeKind::CLIENT_HELLO
                && let Ok(hello) = ClientHello::parse(message.body)
            {
                seen.hello_bytes = message.body.len() as u64 + 4;
                // The first hello shows what the client offered; after a retry there is a second.
                seen.client.get_or_insert(hello);
            }
        }
    });
    server.messages(|messages| {
        for message in messages {
            if message.kind == HandshakeKind::SERVER_HELLO
                && let Ok(hello) = ServerHello::parse(message.body)
            {
                seen.was_retried |= hello.is_retry;
                seen.server = Some(hello);
            } else if message.kind == HandshakeKind::CERTIFICATE {
                seen.chain_bytes = message.body.len() as u64 + 4;
            }
        }
    });
    seen.version = seen.server.as_ref().map(|hello| hello.version);
    seen
}

/// TLS 1.3: the client's first encrypted record after the server's hello is its Finished. Returns
/// where the requests and the answers begin in the two streams.
fn finished_13(
    client: &RecordFollower,
    server: &RecordFollower,
    view: &ClientView,
    seen: &mut TlsSeen,
) -> Option<HandshakeEnd> {
    let hello = server
        .records()
        .iter()
        .find(|r| r.kind == ContentKind::Handshake)?;
    let flight = server.records().iter().find(|r| r.is_application_data())?;
    let answered = view.readable(hello.end)?.max(view.readable(flight.end)?);
    let early = seen.client.as_ref().is_some_and(|c| c.early_data);
    let resumed = seen.server.as_ref().is_some_and(|s| s.psk.is_some());
    let data: Vec<&RecordPlace> = client
        .records()
        .iter()
        .filter(|r| r.is_application_data())
        .collect();
    let finished = data
        .iter()
        .find(|record| view.left(record.end).is_some_and(|at| at >= answered))?;
    let first = data.first().map_or(0, |record| record.start);
    seen.ended_early_data =
        early && resumed && first < finished.start && finished.length() == END_OF_EARLY_DATA;
    if seen.ended_early_data {
        // The Finished follows the end of early data.
        let last = data.iter().find(|record| record.start >= finished.end);
        let last = last.unwrap_or(finished);
        seen.finished = view.left(last.end);
        return Some(HandshakeEnd {
            requests_from: first,
            between: finished.start..last.end,
            answers_from: after_resumption(server),
            padding: 0,
        });
    }
    seen.finished = view.left(finished.end);
    let from_client = finished.end;
    // Data that the server sent before it had the Finished belongs to the handshake.
    let before = seen.finished?;
    let after = server.records().iter().filter(|r| r.is_application_data());
    let mut late = after.filter(|r| view.readable(r.end).is_some_and(|at| at > before));
    let from_server = late.next().map_or(u64::MAX, |r| r.start);
    Some(HandshakeEnd {
        padding: padding(finished.length(), seen),
        ..HandshakeEnd::at(from_client, from_server)
    })
}

/// How much longer the client's Finished is than its content. A client with a certificate sends
/// more in that record.
fn padding(finished: u64, seen: &TlsSeen) -> u64 {
    let suite = seen
        .server
        .as_ref()
        .and_then(|server| server.cipher_suite.name());
    let hash = match suite {
        Some(name) if name.ends_with("SHA384") => 48,
        _ => 32,
    };
    let added = finished.saturating_sub(SEALS[0] + 4 + hash);
    if added <= MAX_PADDING { added } else { 0 }
}

/// TLS 1.2: the handshake ends when the server's Finished has arrived.
fn finished_12(
    server: &RecordFollower,
    view: &ClientView,
    seen: &mut TlsSeen,
) -> Option<HandshakeEnd> {
    let mut records = server.records().iter();
    records.find(|r| r.kind == ContentKind::ChangeCipherSpec)?;
    seen.finished = view.readable(records.next()?.end);
    Some(HandshakeEnd::default())
}

/// The capture has cut off the hellos, or lost the server's: the kinds of the records show what the
/// handshake was.
fn finished_unread(
    client: &RecordFollower,
    server: &RecordFollower,
    view: &ClientView,
    seen: &mut TlsSeen,
) -> Option<HandshakeEnd> {
    let answered = view.readable(server.records().first()?.start + 1)?;
    let after = client.records().iter();
    let mut after = after.filter(|r| view.left(r.start + 1).is_some_and(|at| at >= answered));
    let first = after.next()?;
    let second = match first.kind {
        ContentKind::ChangeCipherSpec => after.next()?,
        _ => first,
    };
    if second.is_application_data() {
        seen.version = Some(Version::TLS13);
        let finished = view.left(second.end)?;
        seen.finished = Some(finished);
        let late = server.records().iter().filter(|r| r.is_application_data());
        let mut late = late.filter(|r| view.readable(r.end).is_some_and(|at| at > finished));
        let from_server = late.next().map_or(u64::MAX, |record| record.start);
        return Some(HandshakeEnd::at(second.end, from_server));
    }
    seen.version = Some(Version::TLS12);
    let left = view.left(first.start + 1)?;
    seen.finished = if first.kind == ContentKind::ChangeCipherSpec {
        // The client ends a resumption.
        Some(left)
    } else {
        let read = view.read.partition_point(|(_, at)| *at <= left);
        view.read.get(read).map(|(_, at)| *at)
    };
    seen.finished.map(|_| HandshakeEnd::default())
}

/// An HTTP/2 client may send its preface in a separate record, and the first request after it.
fn drop_preface(requests: &mut Vec<DataBurst>, rtt: u64) {
    let [first, second, ..] = requests.as_slice() else {
        return;
    };
    let inside = first.bytes.saturating_sub(5 + 17);
    let rest = inside.saturating_sub(PREFACE + SETTINGS);
    let settings = |rest: u64| rest.is_multiple_of(SETTING) && rest / SETTING <= MAX_SETTINGS;
    let is_preface = inside == PREFACE
        || (inside >= PREFACE + SETTINGS
            && (settings(rest) || rest.checked_sub(WINDOW_UPDATE).is_some_and(settings)));
    if is_preface && second.at.saturating_sub(first.at) <= rtt.saturating_mul(2).max(WITH_ACK * 4) {
        requests.remove(0);
    }
}

/// Drops the tickets that a server sends as soon as it has the client's Finished: a small record at
/// the beginning, and those that follow it and are equally long, up to the padding of a block. A
/// head that was taken for one is followed by its body. RFC 8446 §4.6.1.
fn drop_first_tickets(answers: &mut Vec<DataBurst>) {
    let Some(first) = answers.first().copied() else {
        return;
    };
    let is_ticket = |answer: &&DataBurst| {
        (MIN_TICKET..=MAX_TICKET).contains(&answer.bytes)
            && answer.bytes.abs_diff(first.bytes) <= BLOCK
            && answer.began.saturating_sub(first.began) <= WITH_TICKETS
    };
    let tickets = answers.iter().take_while(is_ticket).count();
    if tickets > 0 && tickets < answers.len() {
        answers.drain(..tickets);
    }
}

/// Tickets and SETTINGS come a round trip after the client's Finished, whatever the answer to the
/// request: if a later answer follows, they are not the answer.
fn drop_tickets(answers: &mut Vec<DataBurst>, requests: &[DataBurst], seen: &TlsSeen, rtt: u64) {
    let Some(finished) = seen.finished else {
        return;
    };
    let has_tickets = seen.client.as_ref().is_none_or(|c| c.psk_modes);
    if !seen.ended_early_data && has_tickets {
        drop_first_tickets(answers);
    }
    let early = finished + rtt + (rtt / 4).max(WITH_ACK);
    let second = requests
        .iter()
        .find(|request| request.at > early)
        .map_or(u64::MAX, |request| request.at);
    // If a window cut a record, its beginning counts: the answer was not late.
    let first: Vec<&DataBurst> = answers.iter().filter(|a| a.began <= early).collect();
    let later = answers
        .iter()
        .any(|a| a.began > early && a.at < second.saturating_add(rtt));
    let all_small = first.iter().all(|a| a.bytes <= MAX_TICKET);
    // An answer to early data comes before the client's Finished can have brought tickets.
    let ticketed = finished + (rtt as f64 * SOONEST) as u64;
    if seen.ended_early_data && first.iter().any(|a| a.at < ticketed) {
        let is_ticket = |a: &DataBurst| a.at >= ticketed && a.at <= early && a.bytes <= MAX_TICKET;
        answers.retain(|answer| !is_ticket(answer));
        return;
    }
    if later && all_small && !first.is_empty() {
        answers.retain(|answer| answer.began > early);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_compared_with_frames_under_the_seal_of_its_version() {
        let may_be = |version| may_be_control(63, seals(version));
        let all = [None, Some(Version::TLS12), Some(Version::TLS13)].map(may_be);
        assert_eq!(all, [true, true, false]);
    }
}
