//! Pauses in a body: the server's, the path's, and those of a line that is slow.

use roundtrip_explain::findings;
use roundtrip_model::{Answer, Event, Exchange, HttpFacts};

use crate::story::{MSS, R, Story, ids, tls};

/// The server pauses in a small body in clear text, on a connection whose SYN-ACK was late by
/// itself. The acknowledgement of the request came with the answer, `late` ms after a round trip.
fn pause_behind_a_late_first_packet(late: f64) -> Exchange {
    let story = Story::new().looked_up(Answer::Hosts, 0.1).connected(240.0);
    let mut story = story.asked().pass(R + late).acknowledged(R + late);
    story.r = 0.0;
    let story = story.told(0.0).event(Event::Paused {
        segments: 1,
        bytes: 800,
        window: None,
    });
    story.pass(520.0).received(600).end()
}

#[test]
fn a_late_first_packet_excuses_no_pause_of_a_body() {
    let told = |late| {
        let found = findings(&pause_behind_a_late_first_packet(late)).into_iter();
        found
            .map(|f| (f.id, f.ms.round() as i32))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        told(0.0),
        [("body-stalls", 520), ("slow-first-packet", 240)]
    );
    // The path is slow each time.
    let unknown = told(180.0);
    assert!(
        !unknown.iter().any(|(id, _)| *id == "body-stalls"),
        "{unknown:?}"
    );
}

/// Something near acknowledges for a server that is farther away: the pieces of the body double, or
/// the pauses are as long as the answers are late.
#[test]
fn pauses_of_a_window_behind_something_nearer_are_not_the_server_s() {
    let r = 1.0;
    let body = |greeting: f64, pieces: &[u64]| {
        let story = Story::over(r).looked_up(Answer::Hosts, 0.1).connected(0.0);
        let story = story.hello().answered(greeting, 3_000);
        let story = story.shook_hands(tls("TLSv1.3", 3_000));
        let mut story = story.asked().told(80.0);
        for segments in pieces {
            let bytes = segments * MSS * 9 / 10;
            let paused = Event::Paused {
                segments: *segments,
                bytes,
                window: None,
            };
            story = story.pass(0.1).received(bytes).event(paused).pass(80.0);
        }
        ids(&story.received(100).end())
    };
    let (stalls, late) = ("body-stalls", "late-body");
    let told = |found: Vec<&'static str>| (found.contains(&stalls), found.contains(&late));
    assert_eq!(told(body(0.0, &[6, 6, 6])), (true, false));
    assert_eq!(told(body(80.0, &[6, 6, 6])), (false, true));
    assert_eq!(told(body(0.0, &[10, 20, 40])), (false, true));
}

/// Over a line of 500 kbit/s, each full segment takes 24 ms, in the handshake and in the body.
#[test]
fn a_slow_line_is_not_a_path_that_varies() {
    let r = 40.0;
    let pieces = |mut story: Story, count: u64, each: f64| {
        for _ in 0..count {
            let paused = Event::Paused {
                segments: 1,
                bytes: MSS,
                window: None,
            };
            let story_until = story.pass(each).received(MSS);
            story = story_until.event(paused).event(Event::CutOff);
        }
        story
    };
    let exchange = |each: f64| {
        let story = Story::over(r).looked_up(Answer::Hosts, 0.1).connected(0.6);
        let story = story.hello().pass(r).acknowledged(r);
        let story = pieces(story, 3, each).shook_hands(tls("TLSv1.3", 3 * MSS));
        let mut story = story.asked().pass(r).acknowledged(r);
        story.e.http = Some(HttpFacts::default());
        let story = pieces(story, 1, each).event(Event::FirstByte);
        let mut story = pieces(story, 6, each);
        story.e.http.as_mut().unwrap().downloaded = 7 * MSS;
        ids(&story.end())
    };
    assert_eq!(exchange(24.0), ["slow-downlink"]);
    assert_eq!(exchange(0.1), Vec::<&str>::new());
}
