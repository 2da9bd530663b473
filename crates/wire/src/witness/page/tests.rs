//! Page loads that were made up, and their critical paths.

use super::super::TimeSource;
use super::*;

const MS: u64 = 1_000_000;

/// Makes a request whose spans follow each other, starting at `begin`, in milliseconds.
fn request(url: &str, begin: u64, spans: &[(ToldPhase, u64)]) -> ToldRequest {
    let mut request = ToldRequest {
        url: url.to_owned(),
        begin: begin * MS,
        ..ToldRequest::default()
    };
    let mut at = begin;
    for (phase, length) in spans {
        request.span(*phase, at * MS, (at + length) * MS, TimeSource::Told);
        at += length;
    }
    request.end = Some(at * MS);
    request
}

/// A document; a slow style next to it that nothing waits for; a script; and a request of the
/// script, which waits until the style has released the only connection.
fn load() -> Witness {
    use ToldPhase::{Body, Connect, Handshake, Queue, Send, Wait};
    let document = [
        (Connect, 50),
        (Handshake, 50),
        (Send, 0),
        (Wait, 60),
        (Body, 10),
    ];
    let mut requests = vec![
        request("https://a/", 0, &document),
        request("https://a/x.css", 150, &[(Send, 0), (Wait, 200)]),
        request("https://a/x.js", 170, &[(Send, 0), (Wait, 60), (Body, 20)]),
        request(
            "https://a/x.json",
            255,
            &[(Queue, 100), (Send, 0), (Wait, 55)],
        ),
    ];
    requests[1].initiator = Some("https://a/".to_owned());
    requests[3].initiator = Some("https://a/x.js".to_owned());
    for request in &mut requests {
        request.connection = Some(0);
    }
    Witness {
        requests,
        ..Witness::default()
    }
}

#[test]
fn the_critical_path_covers_the_load_and_names_who_held_the_connection() {
    let witness = load();
    let page = PageLoad::from_witness(&witness).unwrap();
    assert_eq!(
        page.parents,
        [
            None,
            Some((0, Reason::Named)),
            Some((0, Reason::After)),
            Some((2, Reason::Named)),
        ]
    );
    let of: Vec<usize> = page.critical.iter().map(|step| step.request).collect();
    assert_eq!(of, [0, 0, 0, 0, 2, 2, 2, 3, 3]);
    assert!(
        page.critical
            .windows(2)
            .all(|two| two[0].end == two[1].begin)
    );
    assert_eq!(page.length(), 410 * MS);
    assert_eq!(page.round_trips(1), 5);
    let queued = page
        .critical
        .iter()
        .find(|s| s.phase == Some(ToldPhase::Queue))
        .unwrap();
    assert_eq!(queued.holder, Some(1));
    let unknown = page.critical.iter().find(|s| s.phase.is_none()).unwrap();
    assert_eq!((unknown.request, unknown.end - unknown.begin), (2, 5 * MS));
}

#[test]
fn what_if_keeps_what_was_beside_the_path() {
    let witness = load();
    let page = PageLoad::from_witness(&witness).unwrap();
    let without = |phase| page.without(&witness, |step| step.phase == Some(phase)) / MS;
    assert_eq!(page.without(&witness, |_| false), page.length());
    // Without the queue, the style is the last to end.
    assert_eq!(without(ToldPhase::Queue), 350);
    assert_eq!(without(ToldPhase::Connect), 360);
    assert_eq!(without(ToldPhase::Handshake), 360);
    assert_eq!(page.without(&witness, |_| true), 0);
}

#[test]
fn requests_of_the_browser_itself_do_not_belong_to_the_load() {
    let mut witness = load();
    let mut own = request("https://update.example/", 0, &[(ToldPhase::Wait, 300)]);
    own.begin = MS;
    witness.requests.push(own);
    let page = PageLoad::from_witness(&witness).unwrap();
    assert_eq!((page.length(), page.parents[4]), (410 * MS, None));
    assert_eq!(page.without(&witness, |_| true), 0);
}

#[test]
fn a_request_comes_after_the_last_answer_of_its_server_however_late() {
    let wait = [(ToldPhase::Wait, 10)];
    let mut witness = Witness {
        requests: vec![
            request("https://a/", 0, &wait),
            request("https://b/", 15, &[(ToldPhase::Wait, 480)]),
            request("https://a/late", 500, &wait),
            request("https://c/", 500, &wait),
        ],
        ..Witness::default()
    };
    witness.requests[3].initiator = Some("https://a".to_owned());
    let after = |request| Some((request, Reason::After));
    let page = PageLoad::from_witness(&witness).unwrap();
    assert_eq!(page.parents, [None, after(0), after(0), after(0)]);
    // On other servers, only requests that ended shortly before.
    witness.requests.remove(0);
    witness.requests[2].initiator = None;
    let page = PageLoad::from_witness(&witness).unwrap();
    assert_eq!(page.parents, [None, after(0), after(0)]);
    witness.requests[2].begin += 100 * MS;
    assert_eq!(PageLoad::from_witness(&witness).unwrap().parents[2], None);
}

#[test]
fn nothing_is_not_a_page() {
    assert_eq!(PageLoad::from_witness(&Witness::default()), None);
    let alone = Witness {
        requests: vec![request("u", 5, &[])],
        ..Witness::default()
    };
    assert_eq!(PageLoad::from_witness(&alone).unwrap().length(), 0);
}
