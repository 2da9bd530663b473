//! Violations of HTTP/3 end as the RFCs require.

use roundtrip_origin::QuicEngine;

use super::start;

#[path = "../../../../../tests/h3_cases.rs"]
mod h3_cases;

pub(super) async fn requests_and_streams_are_judged_by_the_rfcs(engine: QuicEngine) {
    let (_origin, client) = start(engine, |_| {}).await;
    let mut wrong = Vec::new();
    for case in h3_cases::cases("localhost") {
        let quic = client.connecting().await.unwrap();
        let outcome = case.play(&quic).await;
        if !case.expected.permits(outcome) {
            let expected = case.expected;
            wrong.push(format!(
                "{}: {outcome:?} instead of {expected:?}",
                case.name
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
