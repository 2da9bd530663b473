//! Access logs that are slow, that fail, and that are moved.

use std::fs;
use std::sync::Mutex;

use super::*;

const LONG: Duration = Duration::from_secs(20);

fn lines(log: &AccessLog, from: usize, to: usize) {
    let sender = log.sender();
    (from..to).for_each(|n| sender.write(format!("line {n}\n").into_bytes()));
}

#[test]
fn lines_are_written_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    fs::write(&path, "before\n").unwrap();
    let log = AccessLog::start(&Access::File(path.clone()))
        .unwrap()
        .unwrap();
    lines(&log, 0, 3);
    assert!(log.finish(LONG));
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text, "before\nline 0\nline 1\nline 2\n");
}

#[test]
fn a_file_that_was_moved_is_opened_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (path, moved) = (folder.path().join("a"), folder.path().join("b"));
    let log = AccessLog::start(&Access::File(path.clone()))
        .unwrap()
        .unwrap();
    lines(&log, 0, 1);
    wait_for(|| log.sender().counts().written == 1);
    fs::rename(&path, &moved).unwrap();
    lines(&log, 1, 2);
    wait_for(|| log.sender().counts().written == 2);
    log.reopen();
    lines(&log, 2, 3);
    assert!(log.finish(LONG));
    assert_eq!(fs::read_to_string(moved).unwrap(), "line 0\nline 1\n");
    assert_eq!(fs::read_to_string(path).unwrap(), "line 2\n");
}

#[test]
fn a_log_that_stands_still_costs_lines_and_not_requests() {
    let gate = Arc::new(Mutex::new(()));
    let held = gate.lock().unwrap();
    let (to, out) = (gate.clone(), Arc::new(Mutex::new(Vec::new())));
    let written = out.clone();
    let open: Open = Box::new(move || {
        Ok(Box::new(SlowWriter {
            gate: to.clone(),
            out: written.clone(),
        }))
    });
    let log = AccessLog::with(open, 8).unwrap();
    // These calls return although nothing is written: all lines beyond one batch and a full channel
    // are dropped.
    lines(&log, 0, 1000);
    let counts = log.sender().counts();
    assert!(counts.dropped >= 1000 - 2 * 9, "{counts:?}");
    drop(held);
    wait_for(|| {
        let counts = log.sender().counts();
        counts.written + counts.dropped == 1000
    });
    let text = String::from_utf8(out.lock().unwrap().clone()).unwrap();
    assert!(text.starts_with("line 0\n"));
    assert_eq!(text.lines().count() as u64, log.sender().counts().written);
}

#[test]
fn lines_that_cannot_be_written_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("none/access.log");
    let refused = AccessLog::start(&Access::File(nowhere));
    assert!(matches!(refused, Err(GateError::Unlogged { .. })));
    let log = AccessLog::with(Box::new(|| Err(io::ErrorKind::NotFound.into())), 8).unwrap();
    lines(&log, 0, 3);
    let sender = log.sender();
    assert!(log.finish(LONG));
    assert_eq!((sender.counts().lost, sender.counts().written), (3, 0));
    assert!(sender.counts().stale >= 1);
    sender.write(b"late\n".to_vec());
    assert_eq!(sender.counts().dropped, 1, "after the end");
}

struct SlowWriter {
    gate: Arc<Mutex<()>>,
    out: Arc<Mutex<Vec<u8>>>,
}

impl Write for SlowWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _open = self.gate.lock();
        self.out.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails if it takes too long.
fn wait_for(mut holds: impl FnMut() -> bool) {
    for _ in 0..4000 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("it never came");
}
