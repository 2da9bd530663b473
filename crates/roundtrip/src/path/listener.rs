//! Whether something listens at the far end, according to its own table of sockets: this sends no
//! packet.

use std::fs;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use roundtrip_path::Namespace;

use crate::cli::Wait;

const TIMEOUT: Duration = Duration::from_secs(30);
/// A server that exited successfully has become a daemon, which listens soon, or is not a daemon at
/// all.
const DAEMON_TIMEOUT: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(5);

/// Waits until something listens; `ended` returns how the server ended, or `None` while it runs.
pub(super) fn wait_for(
    side: &Namespace,
    what: Option<Wait>,
    ended: impl FnMut() -> Option<ExitStatus> + Send,
) -> Result<(), String> {
    let port = match what {
        Some(Wait::Nothing) => return Ok(()),
        Some(Wait::Port(port)) => Some(port),
        None => None,
    };
    side.run(move || poll(port, ended))
        .map_err(|error| error.to_string())?
}

fn poll(port: Option<u16>, mut ended: impl FnMut() -> Option<ExitStatus>) -> Result<(), String> {
    let what = port.map_or("a TCP port".into(), |port| format!("TCP port {port}"));
    let began = Instant::now();
    let mut limit = began + TIMEOUT;
    let mut end = None;
    while Instant::now() < limit {
        let tables = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"];
        let listens =
            |table: &&str| fs::read_to_string(table).is_ok_and(|table| has_listener(&table, port));
        if tables.iter().any(listens) {
            return Ok(());
        }
        match ended() {
            Some(status) if !status.success() => {
                return Err(format!(
                    "the server ended ({status}) before it listened on {what}"
                ));
            }
            Some(status) if end.is_none() => {
                end = Some(status);
                limit = limit.min(Instant::now() + DAEMON_TIMEOUT);
            }
            _ => {}
        }
        std::thread::sleep(STEP);
    }
    let why = end.map_or(String::new(), |status| {
        format!(": the server ended ({status}) and left nothing that listens")
    });
    Err(format!(
        "nothing listens on {what} of the server after {} s{why}; --wait PORT names another, --wait none does not wait",
        began.elapsed().as_secs()
    ))
}

/// Whether a table as in `/proc/net/tcp` has this local port, or any, in state 0A.
fn has_listener(table: &str, port: Option<u16>) -> bool {
    let port = port.map(|port| format!(":{port:04X}"));
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let local = fields.next().unwrap_or_default();
        port.as_ref().is_none_or(|port| local.ends_with(port)) && fields.nth(1) == Some("0A")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_told_from_a_connection() {
        let table = |state| {
            format!("  sl  local\n   0: 00000000:0050 00000000:0000 {state} 00000000:00000000")
        };
        assert!(has_listener(&table("0A"), Some(80)));
        assert!(has_listener(&table("0A"), None));
        assert!(!has_listener(&table("01"), None));
        assert!(!has_listener(&table("0A"), Some(8080)));
    }
}
