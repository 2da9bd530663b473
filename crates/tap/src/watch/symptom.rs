//! The problem of a connection, judged by the change of the kernel's counters between two samples.

use std::time::Duration;

use roundtrip_net::TcpInfo;

use super::Before;

/// A queue on the path: the round trip is longer than its minimum by this factor, and this much.
const QUEUED: f64 = 2.0;
const MIN_QUEUE: Duration = Duration::from_millis(5);
/// The share of the time between two samples.
const MIN_SHARE: f64 = 0.25;
/// A connection is idle if nothing was sent or received for this long.
const IDLE: Duration = Duration::from_secs(1);
/// The shortest time for which the peer must have been awaited.
const MIN_WAIT: Duration = Duration::from_millis(50);

/// One problem of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symptom {
    /// A stable identifier for programs.
    pub id: &'static str,
    /// The text for readers.
    pub text: String,
}

/// The current problems of a connection, the worst first.
pub(super) fn of(now: &Before, before: Option<&Before>) -> Vec<Symptom> {
    let mut found = Vec::new();
    let mut say = |id, text: String| found.push(Symptom { id, text });
    let info = &now.info;
    let earlier = before.map(|before| &before.info);
    let more = |count: fn(&TcpInfo) -> u32| {
        let before = earlier.map_or(0, count);
        count(info).saturating_sub(before)
    };
    if info.is_opening() {
        let again = info.retransmits();
        if again > 0 {
            say(
                "syn",
                format!("the SYN was sent {again} more times, without an answer"),
            );
        }
        return found;
    }
    if info.timeouts() > 0 && info.unacknowledged() > 0 {
        let times = info.timeouts();
        say(
            "timeout",
            format!("no acknowledgement: the timer has fired {times} times in a row"),
        );
    }
    if info.is_held_by_zero_window() {
        say("zero_window", "the peer's receive window is closed".into());
    }
    match more(TcpInfo::retransmits) {
        0 => {}
        again => say("retransmission", format!("{} sent again", segments(again))),
    }
    match more(TcpInfo::out_of_order) {
        0 => {}
        late => say("gap", format!("{} arrived behind a gap", segments(late))),
    }
    if let Some((rtt, min)) = info.rtt().zip(info.min_rtt())
        && rtt >= min.mul_f64(QUEUED)
        && rtt >= min + MIN_QUEUE
    {
        let queue = millis(rtt.saturating_sub(min));
        say(
            "queue",
            format!("{queue} ms of each round trip are spent in queues"),
        );
    }
    if let Some(before) = before {
        held(now, before, &mut say);
    }
    if before.is_some_and(|before| before.unread > 0) && now.unread > 0 {
        say(
            "unread",
            format!("the program has left {} bytes unread", now.unread),
        );
    }
    waits(info, &mut say);
    if info.is_app_limited() {
        say("app_limited", "the program had little to send".into());
    }
    found
}

/// Finds what held back data that was ready to be sent.
fn held(now: &Before, before: &Before, say: &mut impl FnMut(&'static str, String)) {
    let span = now.at.since(before.at).as_secs_f64();
    let (ours, then) = (now.info.busy(), before.info.busy());
    let share = |now: Duration, then: Duration| {
        let held = now.saturating_sub(then).as_secs_f64();
        if span > 0.0 {
            (held / span).min(1.0)
        } else {
            0.0
        }
    };
    let by_receiver = share(ours.receiver_limited, then.receiver_limited);
    if by_receiver >= MIN_SHARE {
        let percent = 100.0 * by_receiver;
        say(
            "receiver_limited",
            format!("limited by the peer's receive window for {percent:.0} % of the time"),
        );
    }
    let by_buffer = share(ours.buffer_limited, then.buffer_limited);
    if by_buffer >= MIN_SHARE {
        let percent = 100.0 * by_buffer;
        say(
            "buffer_limited",
            format!("limited by its own send buffer for {percent:.0} % of the time"),
        );
    }
}

fn waits(info: &TcpInfo, say: &mut impl FnMut(&'static str, String)) {
    let (sent, received) = info.idle();
    let never = info.bytes_accepted() == 0 && info.bytes_received() == 0;
    // We sent last, and the peer has received it: nothing waits for room.
    let asked = info.bytes_accepted() > 0
        && received > sent
        && info.unacknowledged() == 0
        && !info.is_held_by_zero_window();
    if asked && sent >= MIN_WAIT {
        let since = millis(sent);
        say(
            "waiting",
            format!("the peer has received everything and not answered for {since} ms"),
        );
    } else if !never && sent.min(received) >= IDLE {
        let idle = sent.min(received).as_secs_f64();
        say("idle", format!("idle for {idle:.1} s"));
    }
}

fn segments(count: u32) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} segment{end}")
}

fn millis(span: Duration) -> String {
    format!("{:.1}", span.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use roundtrip_model::Moment;

    use super::*;

    /// Offsets in `struct tcp_info`.
    const STATE: usize = 0;
    const BACKOFF: usize = 4;
    const UNACKED: usize = 24;
    const LAST_DATA_SENT: usize = 44;
    const LAST_DATA_RECV: usize = 52;
    const RTT: usize = 68;
    const TOTAL_RETRANS: usize = 100;
    const MIN_RTT: usize = 148;
    const NOTSENT: usize = 144;
    const RWND_LIMITED: usize = 176;
    const BYTES_SENT: usize = 200;

    fn sample(ms: f64, fields: &[(usize, u32)], unread: u32) -> Before {
        let mut bytes = vec![0; 240];
        bytes[STATE] = 1;
        // The peer's window is open.
        bytes[228] = 0xff;
        for (at, value) in fields {
            match *at {
                STATE | BACKOFF => bytes[*at] = *value as u8,
                at => bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes()),
            }
        }
        Before {
            at: Moment::from_millis(ms),
            info: TcpInfo::parse(&bytes),
            unread,
        }
    }

    fn ids(now: &Before, before: Option<&Before>) -> Vec<&'static str> {
        of(now, before).iter().map(|symptom| symptom.id).collect()
    }

    #[test]
    fn a_healthy_connection_suffers_nothing() {
        let now = sample(0.0, &[(RTT, 50_000), (MIN_RTT, 49_000)], 0);
        assert_eq!(ids(&now, None), Vec::<&str>::new());
    }

    #[test]
    fn each_counter_has_its_word() {
        let before = sample(0.0, &[(TOTAL_RETRANS, 2)], 10);
        for (fields, unread, expected) in [
            (vec![(TOTAL_RETRANS, 2)], 0, None),
            (vec![(TOTAL_RETRANS, 3)], 0, Some("retransmission")),
            (vec![(RTT, 90_000), (MIN_RTT, 40_000)], 0, Some("queue")),
            (vec![(RTT, 900), (MIN_RTT, 40)], 0, None),
            (vec![(RWND_LIMITED, 600_000)], 0, Some("receiver_limited")),
            (vec![(BACKOFF, 2), (UNACKED, 1)], 0, Some("timeout")),
            (vec![], 10, Some("unread")),
            (vec![(STATE, 2), (TOTAL_RETRANS, 1)], 0, Some("syn")),
            (
                vec![
                    (BYTES_SENT, 9),
                    (LAST_DATA_SENT, 300),
                    (LAST_DATA_RECV, 900),
                ],
                0,
                Some("waiting"),
            ),
            (
                vec![
                    (BYTES_SENT, 9),
                    (LAST_DATA_SENT, 5000),
                    (LAST_DATA_RECV, 4000),
                ],
                0,
                Some("idle"),
            ),
        ] {
            let now = sample(1000.0, &fields, unread);
            let told = ids(&now, Some(&before));
            assert_eq!(told.first().copied(), expected, "{fields:?}");
            assert!(told.len() <= 1, "{told:?}");
        }
        // Data that waits for room has not been received.
        let mut closed = vec![0; 240];
        (closed[STATE], closed[NOTSENT], closed[BYTES_SENT]) = (1, 1, 9);
        closed[LAST_DATA_SENT..][..4].copy_from_slice(&300_u32.to_ne_bytes());
        closed[LAST_DATA_RECV..][..4].copy_from_slice(&900_u32.to_ne_bytes());
        let now = Before {
            info: TcpInfo::parse(&closed),
            ..sample(0.0, &[], 0)
        };
        assert_eq!(ids(&now, None), ["zero_window"]);
    }
}
