//! The evidence of a series about a cause that a single exchange cannot judge.

use roundtrip_explain::{account, review};
use roundtrip_model::{Answer, Exchange};

use crate::story::Story;

/// The exchange after its account was made: the SYN-ACK and the acknowledgement of the request were
/// late by `syn` milliseconds, and the answer by `think`.
fn explained(syn: f64, think: f64) -> Exchange {
    let story = Story::new().looked_up(Answer::Hosts, 0.1).connected(syn);
    let mut e = story.asked().told(think).end();
    let account = account(&e);
    (e.findings, e.unexplained) = (account.findings, account.unexplained);
    e.undecided = account.undecided;
    e
}

fn ids_of(exchanges: &[Exchange]) -> Vec<&'static str> {
    exchanges
        .iter()
        .flat_map(|e| e.findings.iter().map(|f| f.id))
        .collect()
}

/// The milliseconds that the server is charged, rounded.
fn of_server(e: &Exchange) -> i64 {
    let server: f64 = e.phases().iter().map(|phase| phase.waited.server).sum();
    server.round() as i64
}

/// Ten exchanges; those at the indices in `late` have an answer that is late by `think`.
fn ten(syn: [f64; 10], late: &[usize], think: f64) -> Vec<Exchange> {
    syn.into_iter()
        .enumerate()
        .map(|(n, syn)| explained(syn, if late.contains(&n) { think } else { 0.0 }))
        .collect()
}

const STEADY: [f64; 10] = [0.1, 0.2, 0.1, 0.0, 0.3, 0.1, 0.2, 0.1, 0.0, 0.1];
const VARYING: [f64; 10] = [0.1, 9.0, 33.0, 2.0, 14.0, 0.2, 38.0, 21.0, 0.3, 6.0];

#[test]
fn delays_that_other_round_trips_have_too_are_withdrawn() {
    let mut series = ten(VARYING, &[5], 30.0);
    let before = series[5].unexplained;
    let (id, cost) = (series[5].findings[0].id, series[5].findings[0].ms);
    assert_eq!(id, "server-think-time");
    review(&mut series);
    let withdrawn = ids_of(&series[5..6]);
    assert_eq!(withdrawn, Vec::<&str>::new());
    assert!((series[5].unexplained - before - cost).abs() < 0.01);
    assert_eq!(of_server(&series[5]), 0);
}

#[test]
fn delays_that_are_far_more_frequent_are_the_server_s() {
    let all = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    for (syn, late, think) in [
        (STEADY, &all[..1], 30.0),
        (STEADY, &all[..], 30.0),
        (VARYING, &all[..], 200.0),
        (VARYING, &all[3..6], 300.0),
    ] {
        let mut series = ten(syn, late, think);
        let before = ids_of(&series);
        assert!(before.contains(&"server-think-time"), "{before:?}");
        review(&mut series);
        let thinking = |ids: &[&str]| ids.iter().filter(|id| **id == "server-think-time").count();
        assert_eq!(thinking(&ids_of(&series)), thinking(&before), "{late:?}");
    }
}

#[test]
fn one_late_round_trip_does_not_excuse_every_other_answer() {
    let mut syn = STEADY;
    syn[7] = 60.0;
    let mut series = ten(syn, &[0, 1, 2, 3, 4], 30.0);
    review(&mut series);
    let thinking = ids_of(&series);
    let thinking = thinking.iter().filter(|id| **id == "server-think-time");
    assert_eq!(thinking.count(), 5);
}

/// One answer of ten is late by a server's timeout, and another exchange lost its SYN.
#[test]
fn a_rare_delay_on_a_path_with_losses_is_withdrawn() {
    let thinking = |late: &[usize], think: f64, lossy: bool| {
        let mut series = ten(STEADY, late, think);
        if lossy {
            series[9] = lost_syn();
        }
        review(&mut series);
        let ids = ids_of(&series);
        let of_server = |id: &&&str| ["server-think-time", "late-answer"].contains(*id);
        ids.iter().filter(of_server).count()
    };
    assert_eq!(thinking(&[4], 260.0, true), 0);
    assert_eq!(thinking(&[4], 260.0, false), 1);
    assert_eq!(thinking(&[4], 305.0, false), 0, "a timeout of 200 ms");
    // Lost twice: a probe after 400 ms, and a timeout of 300 ms.
    assert_eq!(thinking(&[4], 715.0, false), 0, "two timeouts");
    assert_eq!(thinking(&[2, 7], 710.0, false), 0, "twice the same");
    assert_eq!(thinking(&[2, 7], 560.0, false), 2, "of another length");
    assert_eq!(
        thinking(&[4], 30.0, true),
        1,
        "sooner than any retransmission"
    );
    assert_eq!(thinking(&[0, 1, 2, 3, 4, 5], 260.0, true), 6, "it recurs");
}

/// The kernel sent the SYN twice.
fn lost_syn() -> Exchange {
    let mut e = Story::new().looked_up(Answer::Hosts, 0.1).connected(1000.0);
    if let Some(tcp) = &mut e.e.tcp {
        tcp.syn_retransmits = 1;
    }
    let mut e = e.asked().told(0.0).end();
    e.findings = account(&e).findings;
    assert_eq!(ids_of(std::slice::from_ref(&e)), ["syn-lost"]);
    e
}

/// A server that holds small segments back does so each time.
#[test]
fn small_segments_that_were_held_back_once_are_not_the_server_s_setting() {
    let held = |times: usize| {
        let mut series: Vec<Exchange> = (0..9)
            .map(|n| {
                let mut story = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.1);
                story = story.asked().told(0.3);
                if n < times {
                    let r = story.r;
                    story = story.pass(r).received(300);
                }
                let mut e = story.end();
                e.findings = account(&e).findings;
                e
            })
            .collect();
        let before = ids_of(&series);
        assert_eq!(before, vec!["nagle-delayed-ack"; times]);
        review(&mut series);
        ids_of(&series).len()
    };
    assert_eq!((held(2), held(5)), (0, 5));
}

/// A segment that was only late was sent again.
#[test]
fn a_retransmission_as_late_as_other_round_trips_of_the_series_is_not_a_loss() {
    let lost = |syn: [f64; 10]| {
        let mut series = ten(syn, &[], 0.0);
        series[5].findings.push(roundtrip_model::Finding {
            id: "segment-lost",
            ms: 30.0,
            round_trips: 0,
            evidence: String::new(),
            remedy: String::new(),
            settings: Vec::new(),
        });
        review(&mut series);
        ids_of(&series).contains(&"segment-lost")
    };
    assert!(lost(STEADY) && !lost(VARYING));
}

#[test]
fn delays_that_the_server_reports_are_not_the_path_s() {
    let mut series = ten(VARYING, &[5], 30.0);
    let took = Some(std::time::Duration::from_millis(30));
    let http = series[5].http.as_mut().unwrap();
    http.server_timing = vec![("db".into(), took, String::new())];
    review(&mut series);
    assert_eq!(ids_of(&series[5..6]), ["server-think-time"]);
}

#[test]
fn a_caveat_of_one_exchange_ends_with_the_third() {
    let caveat = |n: usize| {
        let late = || {
            let mut e = Story::over(20.0)
                .looked_up(Answer::Hosts, 0.1)
                .connected(0.1)
                .asked()
                .pass(20.0 + 270.0)
                .received(800)
                .event(roundtrip_model::Event::FirstByte)
                .end();
            let account = account(&e);
            (e.findings, e.undecided) = (account.findings, account.undecided);
            e
        };
        let mut series: Vec<Exchange> = (0..n).map(|_| late()).collect();
        review(&mut series);
        // Repetition is a witness.
        let charged = if n >= 3 { 270 } else { 0 };
        assert_eq!(of_server(&series[0]), charged);
        assert_eq!(ids_of(&series), vec!["late-answer"; n]);
        series[0].findings[0].evidence.contains("ask again")
    };
    assert!(caveat(1) && !caveat(3));
}
