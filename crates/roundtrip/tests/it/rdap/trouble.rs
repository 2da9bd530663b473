//! Servers that close connections at any time: lists are printed completely.

use roundtrip_origin::Quic;

use crate::rdap::scene::{Scene, documents};

#[test]
fn servers_that_close_after_each_answer_or_some_are_asked_on() {
    for after in [1, 3] {
        for word in ["h1+tls1.3", "h2+tls1.3"] {
            let scene = Scene::with(|knobs| {
                knobs.http.close_after = Some(after);
                knobs.listen.h3 = Quic::Off;
            });
            let list: String = (0..20).map(|n| format!("n{n}.example\n")).collect();
            let list = scene.write("list", list);
            let said = scene.run(&["--json", "--no-follow", "--strategy", word, "-f", &list]);
            assert_eq!(said.code, 0, "{after} {word}: {said:?}");
            let told = documents(&said.out);
            assert_eq!(told.len(), 20);
            assert!(told.iter().all(|d| d["status"] == "found"));
        }
    }
}

#[test]
fn one_bad_answer_harms_no_other() {
    let scene = Scene::new();
    let words = ["n", "died-", "cut-", "missing-"];
    let names = (0..20).flat_map(|n| words.map(|word| format!("{word}{n}.example")));
    let list = names.collect::<Vec<_>>().join("\n");
    let list = scene.write("list", list);
    let said = scene.run(&["--json", "--no-follow", "-f", &list]);
    assert_eq!(said.code, 1, "{said:?}");
    let told = documents(&said.out);
    let count = |state: &str| told.iter().filter(|d| d["status"] == state).count();
    assert_eq!(
        (count("found"), count("not-registered"), count("failed")),
        (20, 20, 40)
    );
}
