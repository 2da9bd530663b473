//! For any facts in an exchange, however contradictory, no millisecond is claimed twice.

use std::time::Duration;

use proptest::prelude::*;
use roundtrip_explain::{account, findings};
use roundtrip_model::{
    Answer, Attempt, AttemptOutcome, EarlyData, Exchange, HttpFacts, KeptFacts, Moment, NameWaits,
    NotKept, QuicFacts,
};

use crate::any_event::any_event;
use crate::story::{Story, tcp, tls, v4};

fn any_attempt() -> impl Strategy<Value = Attempt> {
    let outcome = prop_oneof![
        Just(AttemptOutcome::Won),
        Just(AttemptOutcome::Abandoned),
        Just(AttemptOutcome::Failed("refused".into())),
    ];
    (any::<bool>(), 0.0f64..2_000.0, 0.0f64..2_000.0, outcome).prop_map(
        |(over_quic, began, took, outcome)| Attempt {
            peer: v4(),
            over_quic,
            began: Moment::from_millis(began),
            ended: Moment::from_millis(began + took),
            outcome,
        },
    )
}

prop_compose! {
    fn any_exchange()(
        events in prop::collection::vec((0.0f64..2_000.0, any_event()), 0..40),
        attempts in prop::collection::vec(any_attempt(), 0..4),
        rtt in prop::option::of(0u64..200_000),
        facts in any::<[bool; 12]>(),
        counts in any::<[u8; 6]>(),
        status in prop_oneof![Just(200u16), Just(425), Just(301), Just(401)],
        waits in any::<[u8; 6]>(),
    ) -> Exchange {
        let [has_tcp, has_tls, has_quic, reused, retry, hello_retry, resumed, asked, cookie, old, refused, accepted] = facts;
        let [resent, syn_again, again, extra, chain, body] = counts;
        let mut e = Story::new().looked_up(Answer::Server(v4()), 0.0).e;
        e.timeline = roundtrip_model::Timeline::default();
        for (at, event) in events {
            e.timeline.push(Moment::from_millis(at), event);
        }
        e.name.as_mut().unwrap().resent = resent.into();
        (e.attempts, e.rtt, e.reused) = (attempts, rtt.map(Duration::from_micros), reused);
        e.extra_trips = (extra % 4).into();
        let span = |n: u8| Duration::from_millis(u64::from(n) * 8);
        let [suffixes, over_tcp, half, record, limited, patience] = waits.map(span);
        e.name.as_mut().unwrap().waits = NameWaits {
            in_vain: vec!["shop.example.lan".into()],
            suffixes,
            unheard: 1,
            over_tcp,
            unanswered: asked.then_some("AAAA"),
            half: half * 2,
            https_record: record,
            opening: Duration::ZERO,
            unread: Duration::ZERO,
            again: None,
        };
        e.not_kept = [None, Some(NotKept::Idle), Some(NotKept::Crossed), Some(NotKept::Announced)][usize::from(extra % 4)];
        e.kept = cookie.then_some(KeptFacts { idle: half, bytes_received: 1 << 20, beyond: None });
        e.primed = old;
        let mut tcp = tcp();
        (tcp.syn_retransmits, tcp.retransmits) = ((syn_again % 3).into(), (again % 5).into());
        (tcp.first_mss, tcp.out_of_order, tcp.receiver_limited) = (1_448 + u32::from(extra % 2), (chain % 2).into(), limited);
        (tcp.fast_open.asked, tcp.fast_open.cookie) = (asked, cookie);
        (tcp.fast_open.data_sent, tcp.fast_open.data_acked) = (1_700, u64::from(chain) * 7);
        let mut tls = tls(if old { "TLSv1.2" } else { "TLSv1.3" }, u64::from(chain) * 200);
        (tls.hello_retry, tls.resumed) = (hello_retry, resumed);
        tls.early_data = match (refused, accepted) {
            (true, _) => EarlyData::Refused,
            (_, true) => EarlyData::Accepted,
            _ => EarlyData::NotOffered,
        };
        e.tcp = has_tcp.then_some(tcp);
        e.tls = has_tls.then_some(tls);
        e.quic = has_quic.then(|| QuicFacts { retry, version_negotiation: resumed, ..QuicFacts::default() });
        let challenge = ("WWW-Authenticate".to_owned(), b"Basic".to_vec());
        e.http = Some(HttpFacts { status, headers: vec![challenge], redirect: (status == 301).then(|| "/x".into()), downloaded: u64::from(body) * 10_000, uploaded: u64::from(chain) * 1_000, continue_wait: retry.then_some(patience), ..HttpFacts::default() });
        e
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn findings_are_ordered_and_never_overlap(e in any_exchange()) {
        let found = findings(&e);
        let total = e.total().as_secs_f64() * 1e3;
        let rtt = e.rtt.map_or(0.0, |r| r.as_secs_f64() * 1e3);
        let kept = if e.http.as_ref().unwrap().status == 200 { rtt } else { 0.0 };
        let sum: f64 = found.iter().map(|f| f.ms).sum();
        prop_assert!(sum <= (total - kept).max(0.0) + 1e-6, "{sum} of {total}: {found:?}");
        let trips: u32 = found.iter().map(|f| f.round_trips).sum();
        prop_assert!(trips <= e.round_trips(), "{found:?}");
        prop_assert!(found.windows(2).all(|pair| pair[0].ms >= pair[1].ms), "{found:?}");
        let mut ids: Vec<&str> = found.iter().map(|f| f.id).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), found.len());
        for finding in &found {
            prop_assert!(finding.ms > 0.0 && !finding.evidence.is_empty() && !finding.remedy.is_empty(), "{:?}", finding);
        }
    }
    #[test]
    fn the_whole_is_accounted_for(e in any_exchange()) {
        let account = account(&e);
        let found: f64 = account.findings.iter().map(|f| f.ms).sum();
        let parts = [account.irreducible, account.way, account.carried, account.minor, account.unexplained, found];
        prop_assert!(parts.iter().all(|part| *part >= 0.0), "{:?}", account);
        prop_assert!((parts.iter().sum::<f64>() - account.whole).abs() < 1e-6, "{:?}", account);
        prop_assert!((account.whole - e.total().as_secs_f64() * 1e3).abs() < 1e-6);
    }
    #[test]
    fn unexplained_time_is_placed_in_phases(e in any_exchange()) {
        let account = account(&e);
        let at = &account.unexplained_at;
        let placed: f64 = at.iter().map(|place| place.waited.sum()).sum();
        // Less than a millisecond of a phase is not placed, and a phase may be slightly shorter
        // than its round trips.
        let lost = account.unexplained - placed;
        prop_assert!(lost < 9.0 && lost >= -0.5 * account.whole, "{lost}: {:?}", account);
        prop_assert!(at.windows(2).all(|pair| pair[0].waited.sum() >= pair[1].waited.sum()), "{at:?}");
    }
}
