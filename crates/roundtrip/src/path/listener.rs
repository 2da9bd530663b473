//! Whether somebody listens at the far end, from that side's own table of sockets: no packet crosses for it.

use std::fs;
use std::time::{Duration, Instant};

use roundtrip_path::Namespace;

use crate::cli::Wait;

const PATIENCE: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(5);

/// Waits until it listens; `ended` tells why there is nothing left to wait for.
pub(super) fn wait_for(
    side: &Namespace,
    what: Option<Wait>,
    ended: impl FnMut() -> Option<String> + Send,
) -> Result<(), String> {
    let port = match what {
        Some(Wait::Nothing) => return Ok(()),
        Some(Wait::Port(port)) => Some(port),
        None => None,
    };
    side.run(move || poll(port, ended))
        .map_err(|error| error.to_string())?
}

fn poll(port: Option<u16>, mut ended: impl FnMut() -> Option<String>) -> Result<(), String> {
    let what = port.map_or("a TCP port".into(), |port| format!("TCP port {port}"));
    let limit = Instant::now() + PATIENCE;
    while Instant::now() < limit {
        let tables = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"];
        let listens =
            |table: &&str| fs::read_to_string(table).is_ok_and(|table| has_listener(&table, port));
        if tables.iter().any(listens) {
            return Ok(());
        }
        if let Some(why) = ended() {
            return Err(format!("{why} before it listened on {what}"));
        }
        std::thread::sleep(STEP);
    }
    Err(format!(
        "nothing listens on {what} of the server after {} s; --wait PORT names another, --wait none does not wait",
        PATIENCE.as_secs()
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
