//! The exit code: of one query, and of many.

use crate::rdap::scene::Scene;

#[test]
fn one_query_has_the_code_of_its_end() {
    let scene = Scene::new();
    for (word, code) in [
        ("one", 0),
        ("missing-1", 4),
        ("refused", 5),
        ("bad", 5),
        ("unable", 5),
        ("html", 1),
        ("cut", 1),
        ("loop", 1),
        ("nowhere", 0),
        ("unknown", 0),
        ("clear", 0),
    ] {
        let said = scene.run(&[&format!("{word}.example")]);
        assert_eq!(said.code, code, "{word}: {said:?}");
        assert!(said.out.contains(word), "{word}: {said:?}");
        assert_eq!(said.err, "", "{word}");
    }
    assert_eq!(scene.run(&["not a name!"]).code, 1);
}

#[test]
fn of_many_the_worst_counts_and_names_that_are_free_are_no_failure() {
    let scene = Scene::new();
    for (words, code) in [
        (&["one", "two"][..], 0),
        (&["one", "missing-1"], 0),
        (&["missing-1", "missing-2"], 0),
        (&["one", "missing-1", "refused"], 5),
        (&["one", "refused", "html"], 1),
    ] {
        let names: Vec<String> = words.iter().map(|w| format!("{w}.example")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let said = scene.run(&[&["--columns", "query"], &names[..]].concat());
        assert_eq!(said.code, code, "{words:?}: {said:?}");
    }
}

#[test]
fn nobody_to_ask_is_a_failure_that_says_where() {
    let scene = Scene::new();
    let said = crate::rdap::scene::said(scene.plain(&[
        "--no-memory",
        "--server",
        "https://127.0.0.1:9/",
        "one.example",
    ]));
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("127.0.0.1:9") && said.out.contains("refused"));
}

#[test]
fn violations_are_a_failed_check() {
    let scene = Scene::new();
    let fine = scene.run(&["--check", "--no-follow", "one.example"]);
    assert_eq!(fine.code, 0, "{fine:?}");
    assert!(fine.out.contains("Checked https://"), "{fine:?}");
}
