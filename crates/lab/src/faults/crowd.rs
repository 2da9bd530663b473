//! Another program on the client's processor, behind which the kernel puts the client for a while:
//! the client is ready to run and does not run, and all others share the processor.

use std::fs;
use std::io;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use roundtrip_net::cpu::{allowed_cpus, pin_to};

/// It sets the scheduling policy of a thread.
const CHRT: &str = "chrt";
/// How long that takes at most on a quiet machine.
const PREPARATION: Duration = Duration::from_millis(8);

/// Dropping it waits until the other program has ended.
pub(super) struct Crowd {
    begin: Option<Sender<(Instant, Instant)>>,
    thread: Option<JoinHandle<()>>,
}

impl Crowd {
    /// Whether the client's policy can be set.
    pub(super) fn is_possible() -> bool {
        static POSSIBLE: OnceLock<bool> = OnceLock::new();
        *POSSIBLE.get_or_init(|| chrt(&["--idle", "0", "true"]))
    }

    /// Pins the calling thread to a processor, and starts the other program, which waits.
    pub(super) fn prepare() -> io::Result<Self> {
        let cpus = allowed_cpus()?;
        let cpu = *cpus.last().ok_or(io::ErrorKind::NotFound)?;
        pin_to(cpu)?;
        let (sender, orders) = channel();
        let client = this_thread();
        let (ready, is_ready) = channel();
        let thread = thread::Builder::new()
            .name("roundtrip-crowd".into())
            .spawn(move || compete(cpu, &client, &ready, &orders))?;
        if is_ready.recv() != Ok(true) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(Self {
            begin: Some(sender),
            thread: Some(thread),
        })
    }

    /// The other program runs alone between these times after now.
    pub(super) fn between(&self, begin: Duration, end: Duration) {
        let now = Instant::now();
        if let Some(sender) = &self.begin {
            // Without a receiver, the thread has ended already.
            let _ = sender.send((now + begin, now + end));
        }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.begin = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn compete(cpu: usize, client: &str, ready: &Sender<bool>, orders: &Receiver<(Instant, Instant)>) {
    if ready.send(pin_to(cpu).is_ok()).is_err() {
        return;
    }
    while let Ok((begin, end)) = orders.recv() {
        let prepare = begin.checked_sub(PREPARATION).unwrap_or(begin);
        thread::sleep(prepare.saturating_duration_since(Instant::now()));
        if !chrt(&["--idle", "--pid", "0", client]) {
            return;
        }
        thread::sleep(begin.saturating_duration_since(Instant::now()));
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        chrt(&["--other", "--pid", "0", client]);
    }
}

/// The kernel's number of the calling thread.
fn this_thread() -> String {
    let link = fs::read_link("/proc/thread-self").unwrap_or_default();
    let name = link.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn chrt(arguments: &[&str]) -> bool {
    let mut command = Command::new(CHRT);
    let silent = command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let status = silent.stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
