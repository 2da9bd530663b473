//! Invalid answers: reported as failures with the reason, and not stored.

use roundtrip_fetch::pool::{Deadlines, Pool, Settings};
use roundtrip_rdap::check::{Delivery, check};
use roundtrip_rdap::text::State;
use roundtrip_tls::Roots;

use crate::client::scene::{Scene, look_up, why};
use crate::client::scripted::{Scripted, domain, rdap};

#[tokio::test]
async fn broken_answers_are_failures_with_a_reason() {
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
    // They have not harmed the connection that the others use.
    assert_eq!(look_up(&client, "one.example").await.state(), State::Found);
}

#[tokio::test]
async fn an_encoding_that_was_not_offered_is_named() {
    let server = Scripted::start(|_, _| rdap("200 OK", "Content-Encoding: zstd\r\n", "x")).await;
    let scene = Scene::new();
    let client = scene.client_with(|parts| parts.options.server = Some(server.base()));
    let outcome = look_up(&client, "one.example").await;
    assert_eq!(outcome.state(), State::Failed);
    let why = why(&outcome);
    assert!(why.contains("encoded as 'zstd'"), "{why}");
}

#[tokio::test]
async fn invalid_answers_are_not_stored() {
    let scene = Scene::new();
    for _ in 0..2 {
        look_up(&scene.remembering(|_| {}), "cut.example").await;
    }
    assert_eq!(scene.asked().await["/rdap/domain/cut.example"], 2);
}

#[tokio::test]
async fn a_slow_answer_times_out() {
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

#[tokio::test]
async fn after_a_silent_close_the_request_is_repeated_once() {
    for (silent, state, asked) in [(1, State::Found, 2), (9, State::Failed, 2)] {
        let server = Scripted::start(move |_, n| match n {
            n if n < silent => String::new(),
            _ => domain("one.example"),
        })
        .await;
        let scene = Scene::new();
        let base = server.base();
        let client = scene.client_with(|parts| parts.options.server = Some(base));
        let outcome = look_up(&client, "one.example").await;
        assert_eq!(outcome.state(), state, "{}", why(&outcome));
        assert_eq!(server.heads().len(), asked);
    }
}

#[tokio::test]
async fn bytes_that_are_not_utf8_affect_only_their_text() {
    let scene = Scene::new();
    let name = b"{\"objectClassName\":\"domain\",\"ldhName\":\"one.example\",\"remarks\":[{\"title\":\"M\xfcnchen\"}]}";
    let server = Scripted::start_bytes(move |_, _| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", name.len());
        [head.as_bytes(), name].concat()
    })
    .await;
    let client = scene.client_with(|parts| parts.options.server = Some(server.base()));
    let outcome = look_up(&client, "one.example").await;
    assert_eq!(outcome.state(), State::Found, "{}", why(&outcome));
    let source = outcome.registry.unwrap();
    assert_eq!(&source.body[..], name);
    let answer = source.answer.unwrap();
    let oddities = answer.oddities();
    assert_eq!(oddities.len(), 1);
    assert_eq!(oddities[0].pointer, "/remarks/0/title");
    let found = check(&answer, &Delivery::default(), &[]);
    assert!(
        found.iter().any(|v| v.pointer == "/remarks/0/title"),
        "{found:?}"
    );
}

#[tokio::test]
async fn stray_bytes_that_are_not_utf8_are_passed_over_and_reported() {
    let scene = Scene::new();
    for body in [
        b"\xff{\"objectClassName\":\"domain\",\"ldhName\":\"one.example\"}".as_slice(),
        b"{\"objectClassName\":\xfe\"domain\",\"ldhName\":\"one.example\"}\xff\xc3",
    ] {
        let server = Scripted::start_bytes(move |_, _| {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            [head.as_bytes(), body].concat()
        })
        .await;
        let client = scene.client_with(|parts| parts.options.server = Some(server.base()));
        let outcome = look_up(&client, "one.example").await;
        assert_eq!(outcome.state(), State::Found, "{}", why(&outcome));
        let source = outcome.registry.as_ref().unwrap();
        assert_eq!(&source.body[..], body);
        let oddities = source.answer.as_ref().unwrap().oddities();
        assert!(oddities.len() == 1 && oddities[0].is_of_stray_bytes());
        let line = outcome.told(&[], roundtrip_rdap::text::line).concat();
        let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(line["answer"]["ldhName"], "one.example");
    }
}

#[tokio::test]
async fn a_query_that_was_changed_is_explained() {
    let scene = Scene::new();
    let outcome = look_up(&scene.client(), "https://one.example/a?b=c").await;
    assert_eq!(outcome.state(), State::Found, "{}", why(&outcome));
    let notes = outcome.told(&[], |told| told.note.map(str::to_owned));
    let note = notes[0].as_deref().unwrap();
    assert!(note.contains("the query is for one.example"), "{note}");
}
