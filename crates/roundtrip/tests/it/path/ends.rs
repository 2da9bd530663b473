//! However a path ends, nothing is left: no process at either end, no reaper, and so no namespace
//! and no interface.

use crate::path::run::{Running, inhabitants, is_reaper, path, reapers_of, said};
use crate::process::wait_until;

/// A command that first runs `first`, leaves a daemon behind at both ends, prints both networks,
/// and then runs `then`.
fn with_daemons(first: &str, then: &str) -> Running {
    let serve = "setsid sleep 1000 & readlink /proc/self/ns/net > \"$FAR\"; exec sleep 1000";
    let near =
        format!("{first}; setsid sleep 1000 & readlink /proc/self/ns/net; cat \"$FAR\"; {then}");
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut command = path(
        &["--quiet", "--serve", serve, "--wait", "none"],
        &[
            "sh",
            "-c",
            // The far end may be a little later.
            &format!("while ! [ -s \"$FAR\" ]; do sleep 0.01; done; {near}"),
        ],
    );
    command.env("FAR", file.path());
    let running = Running::start(command);
    // It has been read by then.
    file.keep().unwrap();
    running
}

struct Networks([String; 2]);

impl Networks {
    fn of(running: &mut Running) -> Self {
        Self([running.line(), running.line()])
    }

    fn are_empty(&self) -> bool {
        self.0.iter().all(|network| inhabitants(network).is_empty())
    }
}

#[test]
fn success_and_failure_end_it_all() {
    for (then, code) in [("exit 0", 0), ("exit 9", 9)] {
        let mut running = with_daemons(":", then);
        let networks = Networks::of(&mut running);
        assert_ne!(networks.0[0], networks.0[1]);
        assert_eq!(running.end(), code);
        // By then, not some time later.
        assert!(networks.are_empty(), "{then}");
    }
}

#[test]
fn ctrl_c_ends_it_all() {
    let mut running = with_daemons(":", "exec sleep 1000");
    let networks = Networks::of(&mut running);
    assert!(!networks.are_empty());
    running.signal("INT", true);
    assert_eq!(running.end(), 130);
    assert!(networks.are_empty());
}

#[test]
fn a_signal_ends_the_command_first() {
    let mut running = with_daemons("trap 'exit 5' TERM", "while :; do sleep 0.05; done");
    let networks = Networks::of(&mut running);
    running.signal("TERM", false);
    assert_eq!(running.end(), 5);
    assert!(networks.are_empty());
}

#[test]
fn sigkill_ends_it_all() {
    let mut running = with_daemons(":", "exec sleep 1000");
    let networks = Networks::of(&mut running);
    let reapers = reapers_of(running.id());
    assert_eq!(reapers.len(), 1, "the reaper stays");
    assert!(!networks.are_empty());
    running.signal("KILL", false);
    running.end();
    wait_until("both ends are empty", || networks.are_empty());
    wait_until("the reaper is gone", || !is_reaper(&reapers[0]));
}

/// The host's proxies cannot be reached.
#[test]
fn the_host_s_proxies_are_left_behind() {
    let mut command = path(&[], &["sh", "-c", "echo \"[$https_proxy$ALL_PROXY]\""]);
    command.env("https_proxy", "http://proxy.example:1");
    command.env("ALL_PROXY", "http://proxy.example:2");
    assert_eq!(said(command).out, "[]\n");
}
