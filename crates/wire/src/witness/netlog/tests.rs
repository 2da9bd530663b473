//! A log in Chrome's form, with its numbers chosen here: requests, their jobs and sockets.

use super::*;
use crate::witness::TransportEvent;

const EVENTS: [&str; 22] = [
    "REQUEST_ALIVE",
    "URL_REQUEST_START_JOB",
    "HTTP_STREAM_REQUEST",
    "HTTP_STREAM_REQUEST_BOUND_TO_JOB",
    "SOCKET_POOL_BOUND_TO_SOCKET",
    "SOCKET_POOL_STALLED_MAX_SOCKETS_PER_GROUP",
    "TCP_CONNECT",
    "SSL_CONNECT",
    "HTTP_TRANSACTION_SEND_REQUEST",
    "HTTP_TRANSACTION_READ_HEADERS",
    "HTTP_TRANSACTION_READ_RESPONSE_HEADERS",
    "HTTP_TRANSACTION_READ_BODY",
    "SOCKET_ALIVE",
    "HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION",
    "QUIC_SESSION_CRYPTO_HANDSHAKE",
    "QUIC_SESSION_PACKET_SENT",
    "QUIC_SESSION_PACKET_RECEIVED",
    "QUIC_SESSION_PACKET_LOST",
    "QUIC_SESSION_ACK_FRAME_RECEIVED",
    "HTTP_STREAM_JOB_CONTROLLER_BOUND",
    "HTTP_STREAM_REQUEST_STARTED_JOB",
    "HOST_RESOLVER_MANAGER_REQUEST",
];
const REQUEST: u64 = 1;
const JOB: u64 = 2;
const SOCKET: u64 = 3;
const SESSION: u64 = 4;

fn log(events: &[(u64, u64, u64, &str, u64, &str)]) -> String {
    let number = |name: &str| EVENTS.iter().position(|known| *known == name).unwrap();
    let types: Vec<_> = EVENTS
        .iter()
        .map(|name| format!("\"{name}\":{}", number(name)))
        .collect();
    let events: Vec<_> = events
        .iter()
        .map(|(time, kind, id, name, phase, params)| {
            format!(
                r#"{{"time":"{}","source":{{"id":{id},"type":{kind}}},"type":{},"phase":{phase},"params":{{{params}}}}}"#,
                time + 5000,
                number(name)
            )
        })
        .collect();
    format!(
        r#"{{"constants":{{"logEventTypes":{{{}}},"logSourceType":{{"URL_REQUEST":1,"HTTP_STREAM_JOB":2,"SOCKET":3,"QUIC_SESSION":4}},"logEventPhase":{{"PHASE_BEGIN":1,"PHASE_END":2,"PHASE_NONE":0}},"timeTickOffset":1700000000000}},
"events": [
{}
]}}"#,
        types.join(","),
        events.join(",\n")
    )
}

/// Two requests on one connection; the second waits until the first has left it.
fn two() -> String {
    let names = |id: u64| format!(r#""source_dependency":{{"id":{id},"type":2}}"#);
    let (job, socket, second) = (names(20), names(30), names(21));
    log(&[
        (0, REQUEST, 10, "REQUEST_ALIVE", 1, r#""url":"https://a/1""#),
        (
            0,
            REQUEST,
            10,
            "URL_REQUEST_START_JOB",
            1,
            r#""method":"POST","url":"https://a/1""#,
        ),
        (1, REQUEST, 10, "HTTP_STREAM_REQUEST", 1, ""),
        (5, REQUEST, 11, "REQUEST_ALIVE", 1, r#""url":"https://a/2""#),
        (5, REQUEST, 11, "HTTP_STREAM_REQUEST", 1, ""),
        (
            6,
            JOB,
            21,
            "SOCKET_POOL_STALLED_MAX_SOCKETS_PER_GROUP",
            0,
            "",
        ),
        (10, SOCKET, 30, "TCP_CONNECT", 1, ""),
        (
            50,
            SOCKET,
            30,
            "TCP_CONNECT",
            2,
            r#""remote_address":"192.0.2.1:443""#,
        ),
        (50, SOCKET, 30, "SSL_CONNECT", 1, ""),
        (90, SOCKET, 30, "SSL_CONNECT", 2, ""),
        (91, JOB, 20, "SOCKET_POOL_BOUND_TO_SOCKET", 0, &socket),
        (91, REQUEST, 10, "HTTP_STREAM_REQUEST_BOUND_TO_JOB", 0, &job),
        (91, REQUEST, 10, "HTTP_STREAM_REQUEST", 2, ""),
        (91, REQUEST, 10, "HTTP_TRANSACTION_SEND_REQUEST", 1, ""),
        (91, REQUEST, 10, "HTTP_TRANSACTION_SEND_REQUEST", 2, ""),
        (91, REQUEST, 10, "HTTP_TRANSACTION_READ_HEADERS", 1, ""),
        (
            150,
            REQUEST,
            10,
            "HTTP_TRANSACTION_READ_RESPONSE_HEADERS",
            0,
            r#""headers":["HTTP/1.1 201 Created"]"#,
        ),
        (150, REQUEST, 10, "HTTP_TRANSACTION_READ_HEADERS", 2, ""),
        (150, REQUEST, 10, "HTTP_TRANSACTION_READ_BODY", 1, ""),
        (150, REQUEST, 10, "HTTP_TRANSACTION_READ_BODY", 2, ""),
        (151, REQUEST, 10, "HTTP_TRANSACTION_READ_BODY", 1, ""),
        (160, REQUEST, 10, "HTTP_TRANSACTION_READ_BODY", 2, ""),
        (160, REQUEST, 10, "REQUEST_ALIVE", 2, ""),
        (161, JOB, 21, "SOCKET_POOL_BOUND_TO_SOCKET", 0, &socket),
        (
            161,
            REQUEST,
            11,
            "HTTP_STREAM_REQUEST_BOUND_TO_JOB",
            0,
            &second,
        ),
        (161, REQUEST, 11, "HTTP_STREAM_REQUEST", 2, ""),
        (161, REQUEST, 11, "HTTP_TRANSACTION_READ_HEADERS", 1, ""),
        (220, REQUEST, 11, "HTTP_TRANSACTION_READ_HEADERS", 2, ""),
        (220, REQUEST, 11, "REQUEST_ALIVE", 2, r#""net_error":-101"#),
    ])
}

fn spans(request: &ToldRequest) -> Vec<(ToldPhase, u64, u64)> {
    let spans = request.spans.iter();
    spans
        .map(|s| (s.phase, s.begin / 1_000_000, s.end / 1_000_000))
        .collect()
}

#[test]
fn requests_have_what_their_jobs_and_sockets_did() {
    let witness = read(two().as_bytes()).unwrap();
    assert_eq!((witness.damaged, witness.is_cut), (0, false));
    assert_eq!(witness.started, Some(1_700_000_005_000_000_000));
    let [first, second] = witness.requests.as_slice() else {
        panic!("{witness:?}");
    };
    assert_eq!((first.method.as_str(), first.status), ("POST", Some(201)));
    assert_eq!(
        spans(first),
        [
            (ToldPhase::Queue, 1, 10),
            (ToldPhase::Connect, 10, 50),
            (ToldPhase::Handshake, 50, 90),
            (ToldPhase::Queue, 90, 91),
            (ToldPhase::Send, 91, 91),
            (ToldPhase::Wait, 91, 150),
            (ToldPhase::Body, 150, 160),
        ]
    );
    // The second one waited while the socket was made and used.
    assert_eq!(second.connection, first.connection);
    let reason = "SOCKET_POOL_STALLED_MAX_SOCKETS_PER_GROUP";
    assert_eq!(second.queued_for.as_deref(), Some(reason));
    assert_eq!(second.error.as_deref(), Some("-101"));
    assert_eq!(
        spans(second),
        [(ToldPhase::Queue, 5, 161), (ToldPhase::Wait, 161, 220)]
    );
    assert_eq!(
        witness.connections[0].peer.as_deref(),
        Some("192.0.2.1:443")
    );
}

#[test]
fn a_log_that_is_cut_off_anywhere_has_what_is_before() {
    let whole = two();
    let constants = whole.find("\"events\"").unwrap() + 10;
    let mut most = 0;
    for end in (constants..whole.len()).step_by(13) {
        let witness = read(&whole.as_bytes()[..end]).unwrap();
        assert!(witness.is_cut && witness.damaged <= 1);
        assert!(witness.requests.len() >= most);
        most = witness.requests.len();
    }
    assert_eq!(most, 2);
    assert_eq!(read(b"{\"events\": []}"), None);
    assert_eq!(read(b"[]"), None);
}

#[test]
fn a_quic_session_has_its_packets_losses_and_round_trips() {
    let session = r#""source_dependency":{"id":40,"type":4}"#;
    let bound = "HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION";
    let sent = |number: u64| {
        format!(r#""packet_number":{number},"size":1250,"encryption_level":"ENCRYPTION_INITIAL""#)
    };
    let (first, second) = (sent(1), sent(2));
    let witness = read(
        log(&[
            (0, REQUEST, 10, "REQUEST_ALIVE", 1, r#""url":"https://a/""#),
            (0, REQUEST, 10, bound, 0, session),
            (1, SESSION, 40, "QUIC_SESSION_CRYPTO_HANDSHAKE", 1, ""),
            (1, SESSION, 40, "QUIC_SESSION_PACKET_SENT", 0, &first),
            (2, SESSION, 40, "QUIC_SESSION_PACKET_SENT", 0, &second),
            (
                45,
                SESSION,
                40,
                "QUIC_SESSION_PACKET_RECEIVED",
                0,
                r#""size":1200"#,
            ),
            (
                45,
                SESSION,
                40,
                "QUIC_SESSION_ACK_FRAME_RECEIVED",
                0,
                r#""largest_observed":"2","delta_time_largest_observed_us":3000"#,
            ),
            // It was acknowledged before.
            (
                46,
                SESSION,
                40,
                "QUIC_SESSION_ACK_FRAME_RECEIVED",
                0,
                r#""largest_observed":2"#,
            ),
            (
                50,
                SESSION,
                40,
                "QUIC_SESSION_PACKET_LOST",
                0,
                r#""packet_number":1"#,
            ),
            (60, SESSION, 40, "QUIC_SESSION_CRYPTO_HANDSHAKE", 2, ""),
            (99, REQUEST, 10, "REQUEST_ALIVE", 2, ""),
        ])
        .as_bytes(),
    )
    .unwrap();
    let handshake = (ToldPhase::Handshake, 1, 60);
    assert!(spans(&witness.requests[0]).contains(&handshake));
    let events = &witness.connections[0].events;
    let count = |is: fn(&TransportEvent) -> bool| events.iter().filter(|(_, e)| is(e)).count();
    assert_eq!(count(|e| matches!(e, TransportEvent::PacketSent { .. })), 2);
    assert_eq!(
        count(|e| matches!(e, TransportEvent::PacketReceived { .. })),
        1
    );
    assert_eq!(count(|e| matches!(e, TransportEvent::PacketLost { .. })), 1);
    let trips: Vec<f64> = events
        .iter()
        .filter_map(|(_, event)| match event {
            TransportEvent::Metrics { latest_rtt, .. } => *latest_rtt,
            _ => None,
        })
        .collect();
    assert_eq!(trips, [40.0]);
}

#[test]
fn a_lookup_of_a_job_that_did_not_win_is_the_requests() {
    let names = |id: u64| format!(r#""source_dependency":{{"id":{id},"type":2}}"#);
    let (controller, lost, won) = (names(20), names(21), names(22));
    let log = log(&[
        (0, REQUEST, 10, "REQUEST_ALIVE", 1, r#""url":"https://a/1""#),
        (0, REQUEST, 10, "HTTP_STREAM_REQUEST", 1, ""),
        (
            0,
            REQUEST,
            10,
            "HTTP_STREAM_JOB_CONTROLLER_BOUND",
            0,
            &controller,
        ),
        (0, JOB, 20, "HTTP_STREAM_REQUEST_STARTED_JOB", 0, &lost),
        (0, JOB, 20, "HTTP_STREAM_REQUEST_STARTED_JOB", 0, &won),
        (1, JOB, 21, "HOST_RESOLVER_MANAGER_REQUEST", 1, ""),
        (40, JOB, 21, "HOST_RESOLVER_MANAGER_REQUEST", 2, ""),
        (90, REQUEST, 10, "HTTP_STREAM_REQUEST_BOUND_TO_JOB", 0, &won),
        (90, REQUEST, 10, "HTTP_STREAM_REQUEST", 2, ""),
        (90, REQUEST, 10, "HTTP_TRANSACTION_READ_HEADERS", 1, ""),
        (150, REQUEST, 10, "HTTP_TRANSACTION_READ_HEADERS", 2, ""),
        (150, REQUEST, 10, "REQUEST_ALIVE", 2, ""),
    ]);
    // The browser's own sources may have negative numbers.
    let log = log.replace(r#""id":20"#, r#""id":-20"#);
    let witness = read(log.as_bytes()).unwrap();
    assert_eq!(witness.damaged, 0);
    assert_eq!(
        spans(&witness.requests[0]),
        [
            (ToldPhase::Queue, 0, 1),
            (ToldPhase::Name, 1, 40),
            (ToldPhase::Queue, 40, 90),
            (ToldPhase::Wait, 90, 150),
        ]
    );
}
