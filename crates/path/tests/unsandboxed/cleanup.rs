//! Nothing is left behind: no process inside, no reaper, hence no namespace and no interface.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use roundtrip_path::{Namespace, Path};

const TIMEOUT: Duration = Duration::from_secs(20);

/// The target of the link `/proc/PID/ns/net`.
type Network = String;

fn network_of(process: &str) -> Option<Network> {
    let link = fs::read_link(format!("/proc/{process}/ns/net")).ok()?;
    Some(link.display().to_string())
}

fn processes() -> Vec<String> {
    let names = fs::read_dir("/proc")
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.filter(|name| name.parse::<u32>().is_ok()).collect()
}

fn inhabitants(networks: &BTreeSet<Network>) -> Vec<String> {
    let lives_there =
        |process: &String| network_of(process).is_some_and(|its| networks.contains(&its));
    processes().into_iter().filter(lives_there).collect()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let limit = Instant::now() + TIMEOUT;
    while !done() {
        assert!(Instant::now() < limit, "still not: {what}");
        sleep(Duration::from_millis(10));
    }
}

/// Starts a process on this side, and a daemon that has lost its parent.
fn inhabit(side: &Namespace) -> (Child, Network) {
    let line = "setsid sleep 1000 & exec sleep 1000";
    let child = side
        .command("sh")
        .args(["-c", line])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let network = network_of(&child.id().to_string()).unwrap();
    wait_until("both sleep", || {
        inhabitants(&[network.clone()].into()).len() == 2
    });
    (child, network)
}

#[test]
fn dropping_the_path_ends_all_processes_inside() {
    let path = Path::builder().build().unwrap();
    let (mut child, client) = inhabit(path.client());
    let (mut other, server) = inhabit(path.server());
    drop(path);
    assert_eq!(inhabitants(&[client, server].into()), [""; 0]);
    assert!(!child.wait().unwrap().success());
    assert!(!other.wait().unwrap().success());
}

#[test]
fn a_panic_ends_it_too() {
    let mut started = None;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let path = Path::builder().build().unwrap();
        started = Some(inhabit(path.client()));
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    let (mut child, network) = started.unwrap();
    assert_eq!(inhabitants(&[network].into()), [""; 0]);
    child.wait().unwrap();
}

#[test]
fn sigkill_of_the_owner_ends_it_too() {
    end_owner("KILL", |owner| owner.to_string());
}

#[test]
fn ctrl_c_ends_it_too() {
    // Like a terminal: to the whole group in the foreground.
    end_owner("INT", |owner| format!("-{owner}"));
}

/// Makes another process own a path, ends that process, and waits until path and reaper are gone.
fn end_owner(signal: &str, whom: impl Fn(u32) -> String) {
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "cleanup::owns_a_path_until_it_is_killed",
            "--ignored",
            "--nocapture",
        ])
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let mut networks: BTreeSet<Network> = BTreeSet::new();
    for line in lines.map(Result::unwrap) {
        // libtest writes the test's name on the same line first.
        if let Some((_, told)) = line.split_once("inside ") {
            networks.extend(told.split(' ').map(Network::from));
            break;
        }
    }
    assert_eq!(networks.len(), 2, "the owner told its networks");
    // The reaper lives in the relay's network.
    networks.extend(
        reapers_of(owner.id())
            .iter()
            .filter_map(|reaper| network_of(reaper)),
    );
    assert_eq!(networks.len(), 3);
    assert_eq!(inhabitants(&networks).len(), 5);
    let killed = Command::new("sh")
        .args([
            "-c",
            "kill -s \"$1\" -- \"$2\"",
            "sh",
            signal,
            &whom(owner.id()),
        ])
        .status();
    assert!(killed.unwrap().success());
    assert!(!owner.wait().unwrap().success());
    wait_until("all gone", || inhabitants(&networks).is_empty());
}

fn reapers_of(owner: u32) -> Vec<String> {
    let is_reaper = |process: &String| {
        fs::read_to_string(format!("/proc/{process}/stat"))
            .is_ok_and(|stat| stat.contains(&format!("(path-reaper) S {owner} ")))
    };
    processes().into_iter().filter(is_reaper).collect()
}

#[test]
#[ignore = "started by end_owner, to be killed"]
fn owns_a_path_until_it_is_killed() {
    let path = Path::builder().build().unwrap();
    let (_client, client) = inhabit(path.client());
    let (_server, server) = inhabit(path.server());
    wait_until("the reaper stays", || {
        !reapers_of(std::process::id()).is_empty()
    });
    println!("inside {client} {server}");
    sleep(2 * TIMEOUT);
}
