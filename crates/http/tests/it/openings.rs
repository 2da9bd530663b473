//! Connections that are given up while they come up.

use std::net::UdpSocket;
use std::time::Duration;

use roundtrip_http::{Opening, OpeningFacts, Tokens};
use roundtrip_model::{AttemptOutcome, Event};
use roundtrip_tls::{Client, Roots};

use crate::requests::{h3_offer, recorder};

/// The address that was tried first answers after it was given up: nobody uses that answer.
#[tokio::test]
async fn an_address_that_was_given_up_is_heard_no_more() {
    let (late, never) = (
        UdpSocket::bind("127.0.0.1:0").unwrap(),
        UdpSocket::bind("127.0.0.1:0").unwrap(),
    );
    let peers = [late.local_addr().unwrap(), never.local_addr().unwrap()];
    let client = Client::new(Roots::Anything, None).unwrap();
    let recorder = recorder();
    let (tokens, mut opening_facts) = (Tokens::default(), OpeningFacts::default());
    let opening = Opening {
        host: "localhost",
        client: Some(&client),
        tokens: &tokens,
        bind: None,
        first: None,
        recorder: &recorder,
    };
    let (offer, mut buffer) = (h3_offer(), [0; 2048]);
    let trying = opening.over_quic(&offer, &peers, &mut opening_facts);
    // Long enough for the second address to be tried, and for the first to be late.
    let tried = tokio::time::timeout(Duration::from_millis(400), async {
        tokio::select! {
            _ = trying => {}
            () = async {
                tokio::time::sleep(Duration::from_millis(320)).await;
                let (n, from) = late.recv_from(&mut buffer).unwrap();
                late.send_to(&buffer[..n], from).unwrap();
                std::future::pending::<()>().await;
            } => {}
        }
    });
    assert!(tried.await.is_err());
    assert_eq!(opening_facts.attempts.len(), 2);
    let given_up = |a: &roundtrip_model::Attempt| a.outcome == AttemptOutcome::Abandoned;
    assert!(opening_facts.attempts.iter().all(given_up));
    let heard = |e: &Event| matches!(e, Event::Received { .. });
    assert_eq!(recorder.snapshot().last(heard), None);
    // It was notified that nobody waits for it.
    late.set_nonblocking(true).unwrap();
    let mut told = 0;
    while late.recv_from(&mut buffer).is_ok() {
        told += 1;
    }
    assert!(told > 0);
}
