//! Answers that are none: told as failures, with what was wrong, and kept by nobody.

use roundtrip_rdap::pool::{Deadlines, Pool, Settings};
use roundtrip_rdap::text::State;
use roundtrip_tls::Roots;

use crate::client::scene::{Scene, look_up, why};

#[tokio::test]
async fn broken_answers_are_failures_that_say_what_is_wrong() {
    let scene = Scene::new();
    let client = scene.client();
    for (word, said) in [
        ("cut", "breaks off"),
        ("died", "ended in the middle"),
        ("html", "web page"),
        ("huge", "larger than"),
    ] {
        let outcome = look_up(&client, &format!("{word}.example")).await;
        assert_eq!(outcome.state(), State::Failed, "{word}");
        let why = why(&outcome);
        assert!(why.contains(said), "{word}: {why}");
    }
    // They have done no harm to the connection that the others use.
    assert_eq!(look_up(&client, "one.example").await.state(), State::Found);
}

#[tokio::test]
async fn what_cannot_be_read_is_not_remembered() {
    let scene = Scene::new();
    for _ in 0..2 {
        look_up(&scene.remembering(|_| {}), "cut.example").await;
    }
    assert_eq!(scene.asked().await["/rdap/domain/cut.example"], 2);
}

#[tokio::test]
async fn an_answer_that_drips_is_given_up() {
    let scene = Scene::new();
    let client = scene.client_with(|parts| {
        parts.pool = Pool::new(Settings {
            roots: Roots::Pem(scene.origin.ca_pem.clone()),
            deadlines: Deadlines {
                total: std::time::Duration::from_millis(300),
                ..Deadlines::default()
            },
            ..Settings::default()
        })
        .unwrap();
    });
    let outcome = look_up(&client, "slow.example").await;
    assert_eq!(outcome.state(), State::Failed);
}
