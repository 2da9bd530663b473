//! The same for hosts: one host is protected, and all other names are open.

use crate::lifecycle::scene::Scene;
use crate::readings::h2::Connection;
use crate::readings::hosts::{self, FORMS};
use crate::readings::servers::Make;
use crate::readings::wire::Wire;
use crate::readings::{MARKER, OPEN, SEED, tune};

const NAME: &str = "secret.example";
const MOST: usize = 200;

#[test]
fn no_other_spelling_of_a_host_before_nginx() {
    before(Make::Nginx);
}

#[test]
fn no_other_spelling_of_a_host_before_apache() {
    before(Make::Apache);
}

#[test]
fn no_other_spelling_of_a_host_before_tomcat() {
    before(Make::Tomcat);
}

#[test]
fn no_other_spelling_of_a_host_before_node() {
    before(Make::Node);
}

fn before(make: Make) {
    let Some(server) = make.start() else {
        return;
    };
    let more = format!("[[route]]\nhost = \"{NAME}\"\nupstream = \"backend\"\n");
    let scene = Scene::tuned(server.address, &more, |config| {
        tune(config);
        config.route[0].auth = false;
        config.listen.https = vec!["127.0.0.1:0".parse().unwrap()];
    });
    let gate = scene.gate().addresses().http[0];
    let (mut direct, mut through) = (Wire::to(server.address), Wire::to(gate));
    assert!(direct.get(b"/", NAME).holds(MARKER));
    assert_eq!(through.get(b"/", NAME).status, 401);
    let open = through.get(b"/", "open.example");
    assert_eq!(open.status, 200);
    assert!(open.holds(OPEN));

    let spellings = hosts::spellings(NAME, MOST, SEED);
    let (mut reached, mut wrong) = (0, Vec::new());
    for host in &spellings {
        for form in FORMS {
            let (request, last) = hosts::request(form, host);
            reached += usize::from(direct.ask(&request, last).holds(MARKER));
            let reply = through.ask(&request, last);
            assert!(!(502..=504).contains(&reply.status), "{reply:?}");
            if reply.holds(MARKER) {
                wrong.push(format!("{form:?} {}", host.escape_ascii()));
            }
        }
    }
    println!(
        "{make:?}: {} hosts in {} forms, {reached} of which get there without gate",
        spellings.len(),
        FORMS.len()
    );
    assert!(
        reached > 0,
        "without gate no other spelling gets there either"
    );
    wrong.extend(by_http_2(&scene, &spellings));
    let shown = wrong
        .iter()
        .take(60)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(wrong.is_empty(), "{} got through, as\n{shown}", wrong.len());
}

/// Only `:authority`, with an equal Host, and with another one; and only Host.
fn by_http_2(scene: &Scene, spellings: &[Vec<u8>]) -> Vec<String> {
    let mut connection = Connection::open(scene, &[]);
    let mut ask = |fields: &[(&str, &[u8])]| {
        let mut all: Vec<(&str, &[u8])> =
            vec![(":method", b"GET"), (":scheme", b"https"), (":path", b"/")];
        all.extend(fields);
        let id = connection.ask(&all, true);
        let answered = connection.answer(id);
        if answered.over {
            connection = Connection::open(scene, &[]);
        }
        answered
    };
    let open = ask(&[(":authority", b"open.example")]);
    assert_eq!(open.status, 200);
    assert_eq!(open.body, OPEN.as_bytes());
    let plain = ask(&[(":authority", NAME.as_bytes())]);
    assert!(plain.status != 200 && plain.body != MARKER.as_bytes());
    let mut wrong = Vec::new();
    for host in spellings {
        let (host, other) = (host.as_slice(), b"open.example".as_slice());
        for fields in [
            vec![(":authority", host)],
            vec![(":authority", host), ("host", host)],
            vec![(":authority", host), ("host", other)],
            vec![(":authority", other), ("host", host)],
            vec![("host", host)],
        ] {
            if ask(&fields)
                .body
                .windows(MARKER.len())
                .any(|w| w == MARKER.as_bytes())
            {
                let names: Vec<_> = fields
                    .iter()
                    .map(|(name, value)| format!("{name} {}", value.escape_ascii()))
                    .collect();
                wrong.push(format!("HTTP/2 {}", names.join(", ")));
            }
        }
    }
    wrong
}
