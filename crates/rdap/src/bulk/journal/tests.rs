//! Journals that are truncated anywhere, whose process is killed, or that belong to another list.

use std::fs;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// Set in a process of the test's own program that writes until it is killed.
const DIRECTORY: &str = "ROUNDTRIP_TEST_JOURNAL";

struct Run {
    directory: TempDir,
}

impl Run {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    fn with(journal: &[u8], output: &[u8]) -> Self {
        let run = Self::new();
        fs::write(run.journal(), journal).unwrap();
        fs::write(run.output(), output).unwrap();
        run
    }

    fn journal(&self) -> PathBuf {
        self.directory.path().join("journal")
    }

    fn output(&self) -> PathBuf {
        self.directory.path().join("output")
    }

    fn open(&self, identity: &Identity) -> Result<Journal, JournalError> {
        Journal::open(&self.journal(), &self.output(), identity)
    }

    fn read(&self) -> (Vec<u8>, Vec<u8>) {
        (
            fs::read(self.journal()).unwrap(),
            fs::read(self.output()).unwrap(),
        )
    }
}

/// The identity of a list of `length` bytes.
fn identity(length: u64) -> Identity {
    Identity::from_list(&mut io::repeat(b'x').take(length), "json").unwrap()
}

fn result(position: u64) -> Vec<u8> {
    // The lengths differ; some are zero.
    let text = format!("<{position}{}>\n", "-".repeat(position as usize % 3));
    if position % 5 == 3 {
        Vec::new()
    } else {
        text.into_bytes()
    }
}

/// Whether an output holds each result exactly once and complete, in any order.
fn is_exactly(output: &[u8], positions: impl Iterator<Item = u64>) -> bool {
    let mut found: Vec<&[u8]> = output.split_inclusive(|byte| *byte == b'\n').collect();
    let mut wanted: Vec<Vec<u8>> = positions.map(result).filter(|r| !r.is_empty()).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    found == wanted
}

fn finish_all(journal: &mut Journal, order: &[u64]) {
    for position in order {
        if !journal.is_finished(*position) {
            journal.finish(*position, &result(*position)).unwrap();
        }
    }
    journal.flush().unwrap();
}

#[test]
fn a_completed_run_has_no_queries_left() {
    let run = Run::new();
    let order = [3, 0, 4, 1, 2];
    finish_all(&mut run.open(&identity(5)).unwrap(), &order);
    let again = run.open(&identity(5)).unwrap();
    assert_eq!(again.finished(), 5);
    assert!((0..5).all(|position| again.is_finished(position)) && !again.is_finished(5));
    assert_eq!(run.read().1, b"<0>\n<4->\n<1->\n<2-->\n");
}

#[test]
fn a_cut_at_any_byte_loses_and_repeats_nothing() {
    const COUNT: u64 = 4;
    let whole = Run::new();
    finish_all(&mut whole.open(&identity(COUNT)).unwrap(), &[1, 0, 2, 3]);
    let (journal, output) = whole.read();
    let ends: Vec<u64> = [1, 0, 2, 3]
        .iter()
        .scan(0, |end, position| {
            *end += result(*position).len() as u64;
            Some(*end)
        })
        .collect();
    let run = Run::new();
    for cut_journal in 0..=journal.len() {
        for cut_output in 0..=output.len() {
            fs::write(run.journal(), &journal[..cut_journal]).unwrap();
            fs::write(run.output(), &output[..cut_output]).unwrap();
            let records = cut_journal.saturating_sub(HEADER) / RECORD;
            // The recorded positions whose results are there.
            let told = ends
                .iter()
                .take(records)
                .filter(|end| **end <= cut_output as u64)
                .count();
            let opened = run.open(&identity(COUNT));
            if cut_journal < HEADER && cut_output > 0 {
                // No kill causes this: the header is written before the first result.
                assert!(matches!(opened, Err(JournalError::OutputNotEmpty { .. })));
                assert_eq!(run.read().1, output[..cut_output]);
                continue;
            }
            let mut resumed = opened.unwrap();
            assert_eq!(
                resumed.finished(),
                told as u64,
                "{cut_journal} {cut_output}"
            );
            let (_, kept) = run.read();
            assert_eq!(
                kept,
                output[..ends[..told].last().copied().unwrap_or(0) as usize]
            );
            finish_all(&mut resumed, &[0, 1, 2, 3]);
            drop(resumed);
            assert!(is_exactly(&run.read().1, 0..COUNT));
            assert_eq!(run.open(&identity(COUNT)).unwrap().finished(), COUNT);
        }
    }
}

#[test]
fn buffered_results_are_not_yet_recorded() {
    let run = Run::new();
    let mut journal = run.open(&identity(100_000)).unwrap();
    journal.finish(7, b"seven\n").unwrap();
    journal.finish(7, b"again\n").unwrap();
    assert_eq!(run.read().1, b"");
    journal.flush().unwrap();
    let (told, output) = run.read();
    assert_eq!(
        (told.len(), output.as_slice()),
        (HEADER + RECORD, &b"seven\n"[..])
    );
    for position in 100..5000 {
        journal.finish(position, &result(position)).unwrap();
    }
    assert!(run.read().1.len() > 6, "a full buffer is written");
    drop(journal);
    assert_eq!(run.open(&identity(100_000)).unwrap().finished(), 4901);
}

#[test]
fn another_list_is_not_resumed() {
    let run = Run::new();
    finish_all(&mut run.open(&identity(5)).unwrap(), &[0, 1]);
    let before = run.read();
    let list = run.open(&identity(6)).unwrap_err();
    assert!(matches!(&list, JournalError::OtherList(_)), "{list}");
    let settings = Identity::from_list(&mut io::repeat(b'x').take(5), "csv").unwrap();
    let settings = run.open(&settings).unwrap_err();
    assert!(
        matches!(&settings, JournalError::OtherSettings(_)),
        "{settings}"
    );
    assert_eq!(run.read(), before);
    for (error, words) in [(list, "another list"), (settings, "other options")] {
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn other_files_are_left_unchanged() {
    let five = identity(5);
    for content in [&b"a"[..], b"precious data", &[0; 200], b"rtjourn2"] {
        let run = Run::with(content, b"");
        assert!(matches!(run.open(&five), Err(JournalError::NotAJournal(_))));
        assert_eq!(run.read().0, content);
    }
    let run = Run::with(b"", b"precious data");
    assert!(matches!(
        run.open(&five),
        Err(JournalError::OutputNotEmpty { length: 13, .. })
    ));
    let run = Run::new();
    let one = Journal::open(&run.output(), &run.output(), &five);
    assert!(matches!(one, Err(JournalError::OneFile(_))));
    let device = Journal::open(&run.journal(), Path::new("/dev/null"), &five);
    assert!(matches!(device, Err(JournalError::NotAFile(_))));
    let first = run.open(&five).unwrap();
    assert!(matches!(run.open(&five), Err(JournalError::Busy(_))));
    drop(first);
    assert!(run.open(&five).is_ok());
}

#[test]
fn all_records_but_the_last_must_be_valid() {
    let run = Run::new();
    finish_all(&mut run.open(&identity(9)).unwrap(), &[0, 1, 2, 3]);
    let (journal, output) = run.read();
    for at in HEADER..journal.len() {
        let mut changed = journal.clone();
        changed[at] ^= 0x40;
        let run = Run::with(&changed, &output);
        let number = (at - HEADER) / RECORD;
        match run.open(&identity(9)) {
            Err(JournalError::Damaged { record, .. }) => assert_eq!(record, number as u64 + 1),
            Ok(resumed) => assert_eq!((number, resumed.finished()), (3, 3)),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn positions_are_those_of_the_list() {
    let run = Run::new();
    let mut journal = run.open(&identity(5)).unwrap();
    assert!(matches!(
        journal.finish(6, b""),
        Err(JournalError::NotInTheList(6))
    ));
    assert!(matches!(
        journal.finish(u64::MAX, b""),
        Err(JournalError::NotInTheList(_))
    ));
    journal.finish(5, b"").unwrap();
}

#[test]
fn a_million_positions_take_little_memory() {
    let mut finished = Finished::default();
    for position in (0..1_000_000).rev() {
        assert!(finished.add(position));
    }
    assert_eq!(finished.count(), 1_000_000);
    assert!(finished.has(999_999) && !finished.has(1_000_000));
}

/// Writes results until the process is killed.
#[test]
fn one_that_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let directory = Path::new(&directory);
    let mut journal = Journal::open(
        &directory.join("journal"),
        &directory.join("output"),
        &identity(10_000_000),
    )
    .unwrap();
    for position in 0..10_000_000 {
        journal.finish(position, &result(position)).unwrap();
        if position % 7 == 0 {
            journal.flush().unwrap();
        }
    }
}

#[test]
fn a_killed_run_is_resumed() {
    let run = Run::new();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "bulk::journal::tests::one_that_is_killed"])
        .env(DIRECTORY, run.directory.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let length = || fs::metadata(run.journal()).map_or(0, |metadata| metadata.len());
    while length() < 100_000 {
        assert!(process.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let mut resumed = run.open(&identity(10_000_000)).unwrap();
    let finished = resumed.finished();
    assert!(finished > 4000 && resumed.is_finished(finished - 1));
    for position in finished..finished + 10 {
        assert!(!resumed.is_finished(position));
        resumed.finish(position, &result(position)).unwrap();
    }
    drop(resumed);
    assert!(is_exactly(&run.read().1, 0..finished + 10));
}

proptest! {
    #[test]
    fn any_bytes_behind_the_head_are_read_without_harm(tail: Vec<u8>, output: Vec<u8>) {
        let run = Run::new();
        drop(run.open(&identity(1000)).unwrap());
        let (head, _) = run.read();
        let run = Run::with(&[head.as_slice(), &tail].concat(), &output);
        if let Ok(resumed) = run.open(&identity(1000)) {
            prop_assert_eq!(resumed.finished(), 0);
        }
    }

    #[test]
    fn any_file_is_opened_without_harm(journal: Vec<u8>, output: Vec<u8>) {
        let run = Run::with(&journal, &output);
        if run.open(&identity(1000)).is_err() {
            prop_assert_eq!(run.read(), (journal, output));
        }
    }
}
