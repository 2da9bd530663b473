//! Reads from `/proc` the resource use of processes and whether they listen. `server` knows the
//! processes.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use roundtrip_net::cpu::schedstat;

/// The largest number of processes that are counted; more than any server here starts.
const MAX_PROCESSES: usize = 256;
/// The state of a socket that listens, in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// Processor time of a process with all its threads, and of its descendants that are still alive.
pub(super) fn cpu(process: u32) -> Option<Duration> {
    let mut family = vec![process];
    let mut used = Duration::ZERO;
    let mut next = 0;
    while let Some(process) = family.get(next).copied().filter(|_| next < MAX_PROCESSES) {
        next += 1;
        for task in tasks(process) {
            used += schedstat(task.join("schedstat")).map_or(Duration::ZERO, |(ran, _)| ran);
            let children = fs::read_to_string(task.join("children")).unwrap_or_default();
            family.extend(
                children
                    .split_whitespace()
                    .filter_map(|c| c.parse::<u32>().ok()),
            );
        }
    }
    (!used.is_zero()).then_some(used)
}

fn tasks(process: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(format!("/proc/{process}/task"));
    let entries = entries.into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}

/// Whether a process listens on this TCP port in the network of `process`.
pub(super) fn listens(process: u32, port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    ["tcp", "tcp6"].iter().any(|table| {
        let table = fs::read_to_string(format!("/proc/{process}/net/{table}"));
        table.is_ok_and(|table| table.lines().skip(1).any(|line| is_listener(line, &wanted)))
    })
}

fn is_listener(line: &str, wanted: &str) -> bool {
    let mut fields = line.split_whitespace().skip(1);
    let (local, state) = (fields.next(), fields.nth(1));
    local.is_some_and(|local| local.ends_with(wanted)) && state == Some(LISTENING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_this_process_grows() {
        let before = cpu(std::process::id()).unwrap();
        let mut sum = 0_u64;
        while cpu(std::process::id()).unwrap() < before + Duration::from_millis(2) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert_eq!(cpu(u32::MAX), None);
    }

    #[test]
    fn a_listening_process_is_seen() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(listens(std::process::id(), port));
        drop(listener);
        assert!(!listens(std::process::id(), port));
        let connected = "1: 0100007F:0050 0200007F:1234 01 0";
        let listening = "2: 00000000:0050 00000000:0000 0A 0";
        assert!(!is_listener(connected, ":0050") && is_listener(listening, ":0050"));
        assert!(!is_listener("", ":0050"));
    }
}
