//! Violations of HTTP/3 end as the RFCs say, and never reach a backend.

use super::meet_bare;
use crate::accept::front::scene::{Scene, run};

#[path = "../../../../../../../tests/h3_cases.rs"]
pub(super) mod h3_cases;

use h3_cases::Expected;

#[test]
fn requests_and_streams_are_judged_by_the_rfcs() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut wrong = Vec::new();
            for case in h3_cases::cases("a.example") {
                let forwarded = scene.backend.heads.borrow().len();
                let bare = meet_bare(&scene).await;
                bare.confirmed.give();
                let outcome = case.play(&bare.quic).await;
                let expected = case.expected;
                if !expected.permits(outcome) {
                    wrong.push(format!(
                        "{}: {outcome:?} instead of {expected:?}",
                        case.name
                    ));
                }
                let reached = scene.backend.heads.borrow().len() > forwarded;
                if reached && expected == Expected::Malformed {
                    wrong.push(format!("{}: it reached the backend", case.name));
                }
                bare.quic.close(0_u32.into(), b"");
                drop(bare.endpoint);
                let _ = bare.served.await;
            }
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        },
    );
}
