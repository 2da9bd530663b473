//! Arguments that error messages quote: scripts pass text that others chose.

use crate::harmless::{User, assert_inert, text, typed};

#[test]
fn wrong_usage_is_cited_without_harm() {
    let user = User::new();
    let word = typed();
    let word = word.as_str();
    // Nothing can be created below a path that is not a directory.
    let (nowhere, url) = (format!("/dev/null/{word}"), format!("http://{word}/"));
    let (nowhere, url) = (nowhere.as_str(), url.as_str());
    let unclosed = format!("%{{{word}");
    let unknown = format!("%{{{word}}}");
    let closed = "http://127.0.0.1:1/";
    let mut cited = 0;
    for words in [
        &[word][..],
        &["causes", word],
        &["completions", word],
        &["man", nowhere],
        &["demo", "--rtt", word],
        &["demo", word],
        &["probe", word],
        &["probe", url],
        &["probe", "--fail-if", word, closed],
        &["probe", "--strategy", word, closed],
        &["probe", "-H", word, closed],
        &["probe", "-X", word, closed],
        &["probe", "--proxy", url, closed],
        &["probe", "--resolve", word, closed],
        &["probe", "--cacert", nowhere, closed],
        &["probe", "--html", nowhere, closed],
        &["probe", "-w", &unclosed, closed],
        &["probe", "-w", &unknown, closed],
        &["probe", "-q", "-A", word, closed],
        &["compare", word],
        &["compare", url],
        &["compare", "--strategies", word, closed],
        &["compare", "--html", nowhere, closed],
        &["diff", word, nowhere],
        &["diff", "--fail-if", word, word, word],
        &["doctor", "--root", word],
        &["doctor", word],
        &["lab", word],
        &["lab", "run", word],
        &["lab", "run", nowhere],
        &["lab", "run", "persistence", "--html", nowhere],
        &["perf", word],
        &["perf", "tcp", "--html", nowhere],
        &["perf", "--for", word],
        &["perf", "client", word, "tcp"],
        &["rdap", word],
        &["rdap", "--kind", word, "a.example"],
        &["rdap", "--columns", word, "a.example"],
        &["rdap", "--server", url, "a.example"],
        &["rdap", "--rate", word, "a.example"],
        &["rdap", "-f", nowhere],
        &["rdap", "-o", nowhere, "--offline", "a.example"],
        &["origin", "--https", word],
        &["origin", word],
        &["path", "--rtt", word, "true"],
        &["path", "--", word],
        &["path", "--", nowhere],
        &["gate", word],
        &["gate", "run", "--config", nowhere],
        &["gate", "run", "--backend", word],
        &["gate", "check", "--config", nowhere],
        &["gate", "init", "-o", nowhere],
        &["gate", "session", "put", word, "--credentials-env", "NONE"],
        &["gate", "session", "show", word],
        &["gate", "session", "revoke", word],
        &["gate", "session", "import", nowhere],
        &["gate", "token", "--sid", word, "--sub", word],
        &["gate", "token", "--sid", "a", "--sub", "b", "--key", word],
        &[
            "gate",
            "token",
            "--sid",
            "a",
            "--sub",
            "b",
            "--expires",
            word,
        ],
    ] {
        let said = user.run(words);
        let (out, err) = (text(&said.stdout), text(&said.stderr));
        assert_inert(&out);
        assert_inert(&err);
        assert!(!said.status.success(), "{words:?}: {out}{err}");
        cited += usize::from(err.contains("\\u{202e}"));
    }
    // Not all messages quote it, and clap leaves out what follows an escape.
    assert!(cited > 20, "{cited}");
}
