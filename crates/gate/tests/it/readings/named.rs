//! The same for hosts: one host is protected, and all other names are open.

use crate::lifecycle::scene::Scene;
use crate::readings::hosts::{self, FORMS};
use crate::readings::protocols::{Streams, listen};
use crate::readings::servers::Make;
use crate::readings::wire::Wire;
use crate::readings::{MARKER, OPEN, SEED, readers, tune};

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
        listen(config);
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
    wrong.extend(over("HTTP/2", Streams::http2(&scene), &spellings));
    wrong.extend(over("HTTP/3", Streams::http3(&scene), &spellings));
    let shown = wrong
        .iter()
        .take(60)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(wrong.is_empty(), "{} got through, as\n{shown}", wrong.len());
}

/// Tries `:authority` alone, with the same Host, with another Host, and Host alone.
fn over(protocol: &str, mut streams: Streams<'_>, spellings: &[Vec<u8>]) -> Vec<String> {
    let open = streams.get(b"/", &[(":authority", b"open.example")]);
    assert_eq!(open.status, 200);
    assert_eq!(open.body, OPEN.as_bytes());
    let plain = streams.get(b"/", &[(":authority", NAME.as_bytes())]);
    assert!(plain.status == 401 && !plain.is_guarded(), "{plain:?}");
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
            if streams.get(b"/", &fields).is_guarded() {
                let names: Vec<_> = fields
                    .iter()
                    .map(|(name, value)| format!("{name} {}", value.escape_ascii()))
                    .collect();
                wrong.push(format!("{protocol} {}", names.join(", ")));
            }
        }
    }
    wrong
}

/// Readers of URLs take all of these for one address, and programs that compare text do not.
#[test]
fn no_other_spelling_of_an_address() {
    let backend = readers::serve(|_| b"/guarded".to_vec());
    let more = "[[route]]\nhost = \"127.0.0.1\"\nupstream = \"backend\"\n";
    let scene = Scene::tuned(backend, more, |config| {
        tune(config);
        config.route[0].auth = false;
        listen(config);
    });
    let mut wire = Wire::to(scene.gate().addresses().http[0]);
    let mut others = [Streams::http2(&scene), Streams::http3(&scene)];
    assert!(wire.get(b"/", "127.0.0.2").holds(MARKER));
    for (host, status) in [
        ("127.0.0.1", 401),
        ("127.0.0.1.", 401),
        ("127.0.0.1:80", 401),
        ("127.1", 400),
        ("127.1.", 400),
        ("127.0.1:80", 400),
        ("2130706433", 400),
        ("017700000001", 400),
        ("0x7f000001", 400),
        ("0X7F.1", 400),
        ("0x7f.0.0.0x1", 400),
        ("127.0.0.01", 400),
        ("127.0.0.0x1.", 400),
    ] {
        let reply = wire.get(b"/", host);
        assert!(reply.status == status && !reply.holds(MARKER), "{host}");
        for streams in &mut others {
            let answered = streams.get(b"/", &[(":authority", host.as_bytes())]);
            assert_eq!(answered.status, status, "{host}: {answered:?}");
        }
    }
    let refused = wire.get(b"/", "127.1");
    assert!(refused.holds("host_number"), "{refused:?}");
}
