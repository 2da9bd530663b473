//! Each arm with our client takes the number of round trips that its arithmetic predicts.

use std::time::Duration;

use roundtrip_lab::experiment::ArmClient;
use roundtrip_lab::outcome::ArmOutcome;
use roundtrip_lab::packets::{PacketEnd, TracedPacket};

use crate::{arm, round_trips, run, some_of};

const RTT: Duration = Duration::from_millis(40);

fn is_ours(client: &ArmClient) -> bool {
    matches!(client, ArmClient::Ours { .. })
}

#[test]
fn three_lookups() {
    let experiment = some_of("persistence", |_, client| is_ours(client));
    let outcome = run(experiment, 2, Some(RTT));
    for (name, trips) in [
        ("no-reuse", 9.0),
        ("reuse", 5.0),
        ("h2", 3.0),
        ("resume", 3.0),
        ("0rtt", 2.0),
        ("tfo+0rtt", 1.0),
        ("h3", 2.0),
        ("h3+0rtt", 1.0),
    ] {
        let arm = arm(&outcome, name);
        assert_eq!(arm.figures.round_trips, Some(trips), "{name}");
        let least = trips * 40.0;
        let (min, network) = (arm.figures.min.unwrap(), arm.figures.network_ms.unwrap());
        assert!(min >= least, "{name}: {min} ms");
        // A busy machine adds to it, but not another round trip.
        assert!(network < least + 40.0, "{name}: {network} ms of network");
    }
    let saved = arm(&outcome, "reuse").saving.as_ref().unwrap();
    assert_eq!(saved.against, "no-reuse");
    assert!(
        saved.shown.is_none() && saved.saving.share.unwrap() > 0.3,
        "{saved:?}"
    );
    let control = arm(&outcome, "no-reuse (A/A)");
    assert!(control.control && control.figures.round_trips == Some(9.0));
    assert_eq!(outcome.path.rtt(), Some(RTT));
}

#[test]
fn fast_open() {
    let mut experiment = some_of("fast-open", |name, client| {
        is_ours(client) && !name.starts_with("nginx") && !name.starts_with("apache")
    });
    for cell in &mut experiment.cells {
        cell.requests = cell.requests.min(3);
    }
    let outcome = run(experiment, 1, Some(RTT));
    for (name, requests, trips) in [
        ("off", 3, 6),
        ("on", 3, 4),
        ("on-warm", 3, 3),
        ("on-no-cookie", 3, 3),
        ("echo-off", 2, 6),
        ("echo-on", 2, 5),
        ("tls-off", 3, 9),
        ("tls-on", 3, 6),
        ("tls-pq-on", 3, 9),
        ("tls-0rtt", 3, 7),
        ("tls-0rtt-on", 3, 5),
        ("twice", 2, 3),
        ("twice@strip-fast-open", 2, 4),
        ("echo-on@strip-fast-open", 2, 6),
        ("twice@nat", 2, 4),
        ("twice@duplicate-syn", 2, 3),
    ] {
        assert_eq!(round_trips(&outcome, name, requests), trips, "{name}");
    }
    // The third request's ticket comes just when it is needed: a round trip after the first answer.
    let warm = round_trips(&outcome, "tls-0rtt-on-warm", 3);
    assert!((3..=4).contains(&warm), "{warm}");
    // A lost SYN is sent again after a second; of two requests, first one lost it and then both.
    let lost = |name: &str| arm(&outcome, name).figures.loss_ms.unwrap();
    assert!((400.0..900.0).contains(&lost("twice@drop-syn-data")));
    assert!(lost("twice@drop-syn-tfo") > 900.0 && lost("twice") < 100.0);
    let swallowed = arm(&outcome, "twice@drop-after-syn-data");
    let failures = &swallowed.expected_failures;
    assert!(failures.len() == 1 && failures[0].starts_with("request 2: "));
    assert_eq!(
        (swallowed.figures.runs, swallowed.requests_seen),
        (0, Some(2.0))
    );
    greetings(arm(&outcome, "echo-on"));
    for (name, what, again, lost) in [
        ("twice@drop-syn-data", "SYN, shows its cookie", false, true),
        ("twice@nat", "data", true, false),
        ("twice@duplicate-syn", "SYN, shows its cookie", false, false),
        (
            "twice@strip-fast-open",
            "SYN, asks for a cookie",
            false,
            false,
        ),
    ] {
        let packets = &arm(&outcome, name).packets;
        let told = packets.iter().rfind(|packet| {
            packet.from == PacketEnd::Client
                && packet.again == again
                && packet.describe().starts_with(what)
        });
        let told = told.unwrap_or_else(|| panic!("{name}: no {what} in {packets:?}"));
        assert_eq!((told.connection, told.is_lost()), (1, lost), "{name}");
    }
}

/// The second connection's SYN carries the hello, and its answer comes before any other data was
/// sent.
fn greetings(arm: &ArmOutcome) {
    let second = arm
        .packets
        .iter()
        .filter(|p| p.connection == 1 && !p.is_idle());
    let told: Vec<String> = second.map(TracedPacket::describe).collect();
    let hello = "data, 6 bytes";
    assert_eq!(
        told,
        [
            "SYN, shows its cookie, 6 bytes",
            "SYN+ACK, acknowledges 6 bytes of the SYN",
            hello,
            hello,
            hello
        ]
    );
}

#[test]
fn the_time_of_a_handshake_is_attributed() {
    let outcome = run(some_of("https-100ms", |_, _| true), 2, None);
    for (name, trips) in [
        ("old-image@100ms", 3),
        ("new-image@100ms", 2),
        ("slow-client@100ms", 3),
        ("slow-client@lan", 3),
    ] {
        assert_eq!(round_trips(&outcome, name, 1), trips, "{name}");
    }
    for place in ["lan", "100ms"] {
        let client = |name: &str| {
            arm(&outcome, &format!("{name}@{place}"))
                .figures
                .client_ms
                .unwrap()
        };
        let more = client("slow-client") - client("old-image");
        // A busy machine increases it.
        assert!((100.0..400.0).contains(&more), "{place}: {more} ms");
    }
    let slow = &arm(&outcome, "slow-client@lan").figures;
    assert!(slow.network_ms.unwrap() + slow.server_ms.unwrap() < slow.client_ms.unwrap());
}
