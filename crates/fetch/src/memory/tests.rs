//! The directory: who can write to it, broken files, and data that is handed out only once.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use proptest::prelude::*;

use super::origin::{Addresses, Alternative, Hints, OriginState, Session, Taken, Transport};
use super::*;

const NOW: Stamp = Stamp(1_790_000_000_000);

fn open(directory: &Path) -> Memory {
    Memory::open(directory, DEFAULT_SIZE).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn session(n: u8) -> Session {
    Session {
        transport: if n.is_multiple_of(2) {
            Transport::Tcp
        } else {
            Transport::Quic
        },
        expires: NOW.plus(Duration::from_secs(60 + u64::from(n))),
        blob: vec![n; 100],
    }
}

#[test]
fn only_the_user_can_access_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b");
    let memory = open(&path);
    let origin = Authority::new("a.example", 443);
    memory.change_origin(&origin, NOW, |state| state.alpn = Some("h2".into()));
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&path.join("origins")), 0o700);
    for name in ["a.example_443.state", "a.example_443.limits"] {
        assert_eq!(mode(&path.join("origins").join(name)), 0o600, "{name}");
    }
    assert_eq!(fs::read_dir(path.join("origins")).unwrap().count(), 2);
    assert_eq!(open(&path).origin(&origin, NOW).alpn.as_deref(), Some("h2"));
    assert!(memory.notes().is_empty());
}

#[test]
fn a_directory_that_others_write_to_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o770)).unwrap();
    let error = Memory::open(directory.path(), 0).unwrap_err();
    assert!(matches!(
        error,
        MemoryError::OthersWrite { mode: 0o770, .. }
    ));
    assert!(error.to_string().contains("chmod 700"), "{error}");
}

#[test]
fn a_directory_of_someone_else_is_refused() {
    // Owned by root if the test runs as a user, and by a user if it runs as root.
    let directory = tempfile::tempdir().unwrap();
    let path = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(directory.path(), Some(65_534), None).unwrap();
        directory.path()
    } else {
        Path::new("/")
    };
    let error = Memory::open(path, 0).unwrap_err();
    assert!(matches!(error, MemoryError::NotOurs { .. }), "{error}");
}

#[test]
fn without_a_directory_nothing_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let memory = open(&file.join("below"));
    let origin = Authority::new("a.example", 443);
    assert_eq!(memory.change_origin(&origin, NOW, |_| ()), None);
    assert_eq!(memory.origin(&origin, NOW), OriginState::default());
    let notes = memory.notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("cannot be used"), "{notes:?}");
    assert!(memory.notes().is_empty());
}

#[test]
fn one_note_reports_that_nothing_can_be_written() {
    let directory = tempfile::tempdir().unwrap();
    // A file takes the place of a directory: for root, modes would not prevent writing.
    fs::write(directory.path().join("origins"), "").unwrap();
    let memory = open(directory.path());
    for host in ["a.example", "b.example"] {
        let origin = Authority::new(host, 443);
        assert_eq!(memory.change_origin(&origin, NOW, |_| ()), None);
    }
    let notes = memory.notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("not shared"), "{notes:?}");
}

/// Runs as an ordinary user, because root can write anywhere.
#[test]
fn a_read_only_directory_is_read() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let known = Authority::new("a.example", 443);
    let first = open(directory.path());
    first.change_origin(&known, NOW, |state| state.alpn = Some("h3".into()));
    let origins = directory.path().join("origins");
    for path in [&origins, directory.path()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o500)).unwrap();
    }
    let memory = std::sync::Arc::new(open(directory.path()));
    assert_eq!(memory.origin(&known, NOW).alpn.as_deref(), Some("h3"));
    for host in ["b.example", "c.example"] {
        let origin = Authority::new(host, 443);
        assert!(memory.limits(&origin).is_none());
        assert_eq!(memory.change_origin(&origin, NOW, |_| ()), None);
    }
    assert!(!memory.keep_document("dns", &super::documents::Document::default()));
    let notes = memory.notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    for path in [directory.path(), &origins] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn links_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (ours, elsewhere) = (
        directory.path().join("m"),
        directory.path().join("elsewhere"),
    );
    let memory = open(&ours);
    let origin = Authority::new("a.example", 443);
    memory.change_origin(&origin, NOW, |state| state.alpn = Some("h2".into()));
    let state = ours.join("origins/a.example_443.state");
    fs::rename(&state, &elsewhere).unwrap();
    symlink(&elsewhere, &state).unwrap();
    assert_eq!(memory.origin(&origin, NOW).alpn, None);
    assert_eq!(memory.notes().len(), 1);
    assert!(elsewhere.exists());
    // Links that lead out of the directory are not followed either.
    fs::create_dir(directory.path().join("other")).unwrap();
    fs::rename(ours.join("origins"), directory.path().join("origins")).unwrap();
    symlink(directory.path().join("other"), ours.join("origins")).unwrap();
    let memory = open(&ours);
    memory.change_origin(&origin, NOW, |state| state.alpn = Some("h2".into()));
    assert_eq!(
        fs::read_dir(directory.path().join("other"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn broken_files_are_set_aside_a_few_times() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let origin = Authority::new("a.example", 443);
    let path = directory.path().join("origins/a.example_443.state");
    for n in 0..6 {
        memory.change_origin(&origin, NOW, |state| {
            state.rtt = Some(Duration::from_millis(9));
        });
        let mut bytes = fs::read(&path).unwrap();
        bytes[5] ^= 1 + n; // a version to come
        fs::write(&path, &bytes).unwrap();
        assert_eq!(memory.origin(&origin, NOW), OriginState::default());
        let notes = memory.notes();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(
            notes[0].contains("set aside as a.example_443.state.broken-"),
            "{notes:?}"
        );
        assert!(!path.exists());
    }
    let names = fs::read_dir(directory.path().join("origins")).unwrap();
    assert_eq!(names.count(), 4, "the lock and three broken ones");
}

#[test]
fn a_replaced_file_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let directory = Directory::open(place.path()).unwrap();
    for text in ["first", "second", "third"] {
        directory.replace("a", &[text.as_bytes()]).unwrap();
        assert_eq!(directory.read("a", 9).unwrap().unwrap(), text.as_bytes());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}

#[test]
fn only_a_bad_file_is_set_aside() {
    let passing = [Errno::MFILE, Errno::IO, Errno::ACCESS];
    assert!(passing.into_iter().all(|errno| may_pass(&errno.into())));
    assert!(!may_pass(&Errno::LOOP.into()));
    assert!(!may_pass(&io::Error::other("it is too large")));
}

#[test]
fn each_session_is_handed_out_once() {
    let directory = tempfile::tempdir().unwrap();
    let origin = Authority::new("a.example", 443);
    open(directory.path()).change_origin(&origin, NOW, |state| {
        for n in 0..8 {
            state.keep_session(session(n), NOW);
        }
    });
    let take_all = || {
        let memory = open(directory.path());
        let mut taken = Vec::new();
        while let Some(session) = memory.take(&origin, NOW, 1, 0).sessions.pop() {
            taken.push(session.blob[0]);
        }
        taken
    };
    let taken: Vec<u8> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..4).map(|_| scope.spawn(take_all)).collect();
        takers
            .into_iter()
            .flat_map(|taker| taker.join().unwrap())
            .collect()
    });
    let mut sorted = taken.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 2, 4, 6]);
    let memory = open(directory.path());
    assert_eq!(memory.origin(&origin, NOW).sessions(Transport::Quic), 4);
    let newest = memory.take(&origin, NOW, 0, 1).sessions.remove(0);
    assert_eq!(newest.blob[0], 7);
}

#[test]
fn everything_that_a_connection_needs_is_taken_in_one_change() {
    let directory = tempfile::tempdir().unwrap();
    let origin = Authority::new("a.example", 443);
    let memory = open(directory.path());
    memory.change_origin(&origin, NOW, |state| {
        for n in 0..8 {
            state.keep_session(session(n), NOW);
        }
        state.keep_quic_token(vec![9]);
    });
    let taken = memory.take(&origin, NOW, 2, 1);
    let blobs: Vec<u8> = taken.sessions.iter().map(|s| s.blob[0]).collect();
    assert_eq!((blobs, taken.quic_token), (vec![6, 4, 7], Some(vec![9])));
    let left = memory.origin(&origin, NOW);
    let sessions = [Transport::Tcp, Transport::Quic].map(|kind| left.sessions(kind));
    assert_eq!((sessions, left.has_quic_token()), ([2, 3], false));
}

/// Changes that leave the file as it is do not write it again.
#[test]
fn equal_data_is_not_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let origin = Authority::new("a.example", 443);
    let memory = open(directory.path());
    // The file has microseconds.
    let rtt = Some(Duration::from_nanos(90_000_001));
    let files = || {
        use std::os::unix::fs::MetadataExt;
        let entries = fs::read_dir(directory.path().join("origins")).unwrap();
        let mut inodes: Vec<u64> = entries
            .map(|entry| entry.unwrap().metadata().unwrap().ino())
            .collect();
        inodes.sort_unstable();
        inodes
    };
    memory.change_origin(&origin, NOW, |state| state.rtt = rtt);
    let before = files();
    memory.change_origin(&origin, NOW, |state| state.rtt = rtt);
    assert_eq!(files(), before);
}

#[test]
fn sessions_are_limited_and_expire() {
    let mut state = OriginState::default();
    for n in 0..200 {
        state.keep_session(session(n), NOW);
    }
    assert_eq!(
        (
            state.sessions(Transport::Tcp),
            state.sessions(Transport::Quic)
        ),
        (8, 8)
    );
    assert_eq!(state.take_session(Transport::Tcp).unwrap().blob[0], 198);
    let long = Session {
        expires: Stamp(u64::MAX),
        ..session(0)
    };
    state.keep_session(long, NOW);
    let kept = state.take_session(Transport::Tcp).unwrap();
    assert_eq!(kept.expires, NOW.plus(Duration::from_hours(168)));
    for over in [
        Session {
            expires: NOW,
            ..session(0)
        },
        Session {
            blob: Vec::new(),
            ..session(0)
        },
    ] {
        let before = state.sessions(Transport::Tcp);
        state.keep_session(over, NOW);
        assert_eq!(state.sessions(Transport::Tcp), before);
    }
    let directory = tempfile::tempdir().unwrap();
    let (memory, origin) = (open(directory.path()), Authority::new("a.example", 443));
    memory.change_origin(&origin, NOW, |kept| *kept = state);
    let later = NOW.plus(Duration::from_hours(216));
    assert!(memory.take(&origin, later, 1, 1) == Taken::default());
    // The clock was wrong when it was stored.
    let earlier = NOW.minus(Duration::from_hours(216));
    assert!(memory.take(&origin, earlier, 1, 1) == Taken::default());
}

#[test]
fn each_host_has_a_separate_file_in_the_directory() {
    let names = [
        ("a.example", 443, Some("a.example_443")),
        ("A.Example.", 443, Some("a.example_443")),
        ("2001:db8::1", 8443, Some("2001%3adb8%3a%3a1_8443")),
        ("a/../b", 1, Some("a%2f..%2fb_1")),
        ("a_443", 1, Some("a%5f443_1")),
        ("..", 443, None),
        (".hidden", 443, None),
        ("", 443, None),
    ];
    for (host, port, name) in names {
        assert_eq!(
            Authority::new(host, port).file_name().as_deref(),
            name,
            "{host}"
        );
    }
    assert_eq!(Authority::new(&"a".repeat(300), 1).file_name(), None);
    assert_eq!(
        Authority::new("2001:DB8::1", 80).to_string(),
        "[2001:db8::1]:80"
    );
}

#[test]
fn the_default_is_the_users_cache_directory() {
    let default = |cache: Option<&str>, home: Option<&str>| {
        Memory::default_directory("rdap", cache.map(Into::into), home.map(Into::into))
    };
    let at = |path: &str| Some(PathBuf::from(path));
    assert_eq!(default(Some("/c"), Some("/h")), at("/c/roundtrip/rdap"));
    assert_eq!(
        default(Some("c"), Some("/h")),
        at("/h/.cache/roundtrip/rdap")
    );
    assert_eq!(
        default(Some(""), Some("/h")),
        at("/h/.cache/roundtrip/rdap")
    );
    assert_eq!(default(None, None), None);
}

fn states() -> impl Strategy<Value = OriginState> {
    let blob = || proptest::collection::vec(any::<u8>(), 1..90);
    let sessions = proptest::collection::vec((any::<u8>(), 1_u64..600_000, blob()), 0..12);
    let hints = (
        proptest::collection::vec("[a-z0-9.]{0,9}", 0..5),
        0_u16..999,
    );
    let addresses =
        proptest::option::of(proptest::collection::vec(any::<std::net::IpAddr>(), 0..9));
    let alpn = proptest::option::of("[a-z0-9/.]{1,9}");
    let alt_svc = proptest::option::of((any::<u16>(), any::<bool>()));
    let tokens = proptest::collection::vec(blob(), 0..6);
    let known = (alpn, alt_svc, proptest::option::of(hints), addresses);
    (known, 0_u64..60_000_000, 0_u32..9, sessions, tokens).prop_map(
        |((alpn, alt_svc, hints, addresses), rtt, streams, sessions, tokens)| {
            let expires = NOW.plus(Duration::from_secs(9));
            let mut state = OriginState {
                alpn,
                alt_svc: alt_svc.map(|(port, persist)| Alternative {
                    port,
                    persist,
                    expires,
                }),
                https_record: hints.map(|(alpn, port)| Hints {
                    alpn,
                    port: Some(port).filter(|port| *port > 0),
                    expires,
                }),
                addresses: addresses.map(|list| Addresses { list, expires }),
                rtt: Some(Duration::from_micros(rtt)).filter(|rtt| !rtt.is_zero()),
                streams: Some(streams).filter(|streams| *streams > 0),
                ..OriginState::default()
            };
            for (n, seconds, blob) in sessions {
                let expires = NOW.plus(Duration::from_secs(seconds));
                state.keep_session(
                    Session {
                        expires,
                        blob,
                        ..session(n)
                    },
                    NOW,
                );
            }
            for token in tokens {
                state.keep_quic_token(token);
            }
            state
        },
    )
}

proptest! {
    #[test]
    fn encoded_data_is_decoded(state in states()) {
        prop_assert_eq!(OriginState::decode(&state.encode()), Some(state));
    }

    #[test]
    fn a_truncated_or_changed_file_is_refused(state in states(), at: prop::sample::Index, bit in 0_u8..8) {
        let bytes = state.encode();
        let at = at.index(bytes.len());
        prop_assert_eq!(OriginState::decode(&bytes[..at]), None);
        let mut changed = bytes;
        changed[at] ^= 1 << bit;
        prop_assert_eq!(OriginState::decode(&changed), None);
        changed[at] ^= 1 << bit;
        changed.push(0);
        prop_assert_eq!(OriginState::decode(&changed), None);
    }

    #[test]
    fn a_correct_checksum_does_not_make_content_credible(body: Vec<u8>) {
        let sum = codec::checksum(&[&body]);
        let bytes = [b"rtor\0\x01".as_slice(), &sum, &body].concat();
        if let Some(state) = OriginState::decode(&bytes) {
            prop_assert_eq!(OriginState::decode(&state.encode()), Some(state));
        }
    }
}
