//! Which answers are stored, for which requests they are found, and whether they are read as
//! written.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::super::{file, freshness};
use super::*;

#[test]
fn answers_that_must_not_be_stored_are_not() {
    let server = Server::new();
    let fresh = owned(&[("cache-control", "max-age=60")]);
    let tells_who = [
        ("Authorization", "Basic eA=="),
        ("cookie", "a=b"),
        ("Range", "bytes=0-1"),
        ("cache-control", "no-store"),
    ];
    for (name, value) in tells_who {
        let fields = texts(&[(name, value)]);
        assert!(
            !server
                .memory
                .keep_answer(&get(URL, &fields), &received(200, &fresh, b"")),
            "{name}"
        );
    }
    let plain = get(URL, &[]);
    for request in [
        Request {
            method: "HEAD",
            ..plain
        },
        Request {
            credentials: true,
            ..plain
        },
        Request {
            url: "https://a:b@rdap.example/",
            ..plain
        },
    ] {
        assert!(
            !server
                .memory
                .keep_answer(&request, &received(200, &fresh, b"")),
            "{request:?}"
        );
    }
    for status in [201, 206, 302, 304, 400, 401, 403, 429, 500, 503] {
        assert!(
            !server.answers(status, &[("cache-control", "max-age=60")]),
            "{status}"
        );
    }
    for header in [
        ("cache-control", "max-age=60, no-store"),
        ("vary", "*"),
        ("Vary", "accept, *"),
    ] {
        assert!(
            !server.answers(200, &[("cache-control", "max-age=60"), header]),
            "{header:?}"
        );
    }
    let long = vec![0; MAX_BODY_LENGTH + 1];
    assert!(
        !server
            .memory
            .keep_answer(&plain, &received(200, &fresh, &long))
    );
    // Requests with credentials do not find it either, and an answer that must not be stored
    // replaces the stored one.
    assert!(server.answers(200, &[("cache-control", "max-age=60")]));
    assert_eq!(
        server.memory.answer(&Request {
            credentials: true,
            ..plain
        }),
        None
    );
    assert!(server.memory.answer(&plain).is_some());
    server.answers(503, &[]);
    assert!(server.memory.answer(&plain).is_some());
    server.answers(200, &[("cache-control", "no-store")]);
    assert!(server.memory.answer(&plain).is_none());
}

#[test]
fn an_answer_with_vary_is_used_only_for_the_same_request() {
    let server = Server::new();
    let (german, english) = (
        texts(&[("Accept-Language", "de")]),
        texts(&[("accept-language", "en")]),
    );
    let headers = owned(&[
        ("cache-control", "max-age=60"),
        ("vary", "Accept-Language,, Accept"),
    ]);
    assert!(
        server
            .memory
            .keep_answer(&get(URL, &german), &received(200, &headers, b"de"))
    );
    assert!(server.memory.answer(&get(URL, &german)).is_some());
    assert!(server.memory.answer(&get(URL, &english)).is_none());
    assert!(server.memory.answer(&get(URL, &[])).is_none());
}

#[test]
fn a_broken_copy_is_set_aside() {
    let server = Server::new();
    server.answers(200, &[("cache-control", "max-age=60")]);
    let files = files_below(&server.directory.path().join("answers"));
    assert_eq!(files.len(), 1);
    let mut bytes = fs::read(&files[0].0).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&files[0].0, bytes).unwrap();
    assert_eq!(server.decides(&Policy::default(), 1), Decision::Fetch);
    let notes = server.memory.notes();
    assert!(
        notes.len() == 1 && notes[0].contains("set aside"),
        "{notes:?}"
    );
    assert!(server.answers(200, &[("cache-control", "max-age=60")]));
    assert!(matches!(
        server.decides(&Policy::default(), 1),
        Decision::Fresh(_)
    ));
}

#[test]
fn the_total_size_is_limited() {
    const ROOM: u64 = 1 << 20;
    let server = Server::with_room(ROOM);
    let forgotten = server.directory.path().join("answers/0/.new-1-1");
    fs::create_dir_all(forgotten.parent().unwrap()).unwrap();
    fs::write(&forgotten, "x").unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    fs::File::options()
        .write(true)
        .open(&forgotten)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    let body = vec![7; 4096];
    for n in 0..1000 {
        let url = format!("{URL}{n}");
        assert!(
            server
                .memory
                .keep_answer(&get(&url, &[]), &received(200, &[], &body))
        );
    }
    let sizes: u64 = files_below(server.directory.path())
        .iter()
        .map(|(_, size)| size)
        .sum();
    assert!(sizes <= ROOM && sizes > ROOM / 2, "{sizes}");
    assert!(!forgotten.exists());
    assert!(
        server
            .memory
            .answer(&get(&format!("{URL}999"), &[]))
            .is_some()
    );
    let none = Server::with_room(0);
    assert!(!none.answers(200, &[]));
}

fn files_below(directory: &Path) -> Vec<(std::path::PathBuf, u64)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push((entry.path(), metadata.len()));
        }
    }
    files
}

fn answers() -> impl Strategy<Value = Stored> {
    let headers = proptest::collection::vec(
        (
            "[a-z-]{1,12}",
            proptest::collection::vec(any::<u8>(), 0..40),
        ),
        0..8,
    );
    let vary = proptest::collection::vec(("[a-z-]{1,12}", "[ -~]{0,20}"), 0..3);
    let body = proptest::collection::vec(any::<u8>(), 0..200);
    (
        any::<u16>(),
        headers,
        vary,
        body,
        any::<u64>(),
        any::<u64>(),
    )
        .prop_map(
            |(status, headers, vary, body, asked_at, fetched_at)| Stored {
                status,
                headers,
                body: body.into(),
                fetched_at: Stamp(fetched_at),
                asked_at: Stamp(asked_at),
                vary,
            },
        )
}

proptest! {
    #[test]
    fn encoded_answers_are_decoded(answer in answers(), key: Vec<u8>) {
        let bytes = answer.encode(&key).unwrap();
        prop_assert_eq!(file::decode(&bytes), Some(file::Entry { key, answer }));
    }

    #[test]
    fn a_truncated_or_changed_answer_is_refused(answer in answers(), at: prop::sample::Index, bit in 0_u8..8) {
        let mut bytes = answer.encode(b"key").unwrap();
        let at = at.index(bytes.len());
        prop_assert_eq!(Stored::decode(&bytes[..at]), None);
        bytes[at] ^= 1 << bit;
        prop_assert_eq!(Stored::decode(&bytes), None);
    }

    #[test]
    fn ages_never_shrink(answer in answers(), now: u64, more: u64) {
        let later = Stamp(now.saturating_add(more));
        prop_assert!(answer.age(later) >= answer.age(Stamp(now)));
        let _ = freshness::is_fresh(&answer, &Policy::default(), later);
    }
}
