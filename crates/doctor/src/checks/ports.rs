//! How many connections to one server a client can open: local ports and their reuse.

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::root::RootReadError;
use crate::scene::ExaminedSystem;

const PORTS: CheckSubject = CheckSubject::new("local-ports", Area::Tcp, "Local ports");

/// The duration of TIME-WAIT in Linux, regardless of settings.
const TIME_WAIT_S: u64 = 60;
/// A busy client soon exhausts fewer ports than this.
const COMFORTABLE: u64 = 20_000;

pub(super) fn examine(scene: &ExaminedSystem, _probes: &Probes) -> Vec<Check> {
    vec![ports(scene)]
}

fn ports(scene: &ExaminedSystem) -> Check {
    const OPEN: &str = "Nothing shows how many connections to one server are possible.";
    let [first, last] = match scene.numbers("net.ipv4.ip_local_port_range") {
        Ok(numbers) => numbers,
        Err(lack) => return PORTS.unknown(lack, OPEN),
    };
    if first > last || last > u64::from(u16::MAX) {
        return PORTS.unknown(RootReadError::Absurd, OPEN);
    }
    let count = last - first + 1;
    let (reuse, early) = match scene.number::<u8>("net.ipv4.tcp_tw_reuse") {
        Ok(0) => ("never reused early", false),
        Ok(1) => ("reused early", true),
        Ok(2) => ("reused early on loopback only", false),
        _ => ("early reuse unknown", false),
    };
    let value = format!("{first} to {last}: {count}, {reuse}");
    let meaning = if early {
        "A port in TIME-WAIT is reused after about 1 s for a new connection to the same server \
         (RFC 6191): a client that opens many connections does not run out. Reusing connections \
         saves their round trips as well."
            .to_owned()
    } else {
        format!(
            "A closed connection holds its port for {TIME_WAIT_S} s: to one server address, {} new \
             connections a second at most. Reusing connections avoids this limit and saves round trips.",
            count / TIME_WAIT_S
        )
    };
    if count < COMFORTABLE && !early {
        let change = "sysctl -w net.ipv4.ip_local_port_range='10240 65535' net.ipv4.tcp_tw_reuse=1";
        return PORTS.notice(value, meaning).change(change);
    }
    PORTS.good(value, meaning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    fn with(range: &str, reuse: &str) -> Check {
        fake::machine(&[
            ("net.ipv4.ip_local_port_range", range),
            ("net.ipv4.tcp_tw_reuse", reuse),
        ])
        .check(ports)
    }

    #[test]
    fn counts_ports_and_connections() {
        let check = with("32768\t60999\n", "2\n");
        assert_eq!(
            check.value,
            "32768 to 60999: 28232, reused early on loopback only"
        );
        assert!(
            check.meaning.contains("470 new connections"),
            "{}",
            check.meaning
        );
        assert_eq!(check.status, CheckStatus::Good);
    }

    #[test]
    fn few_ports_matter_unless_they_are_reused() {
        assert_eq!(with("50000 51000", "0").status, CheckStatus::Notice);
        assert_eq!(with("50000 51000", "1").status, CheckStatus::Good);
    }

    #[test]
    fn a_range_that_makes_no_sense_is_unknown() {
        for range in ["5 4", "1 70000", "1", "", "0 18446744073709551615"] {
            assert_eq!(with(range, "1").status, CheckStatus::Unknown, "{range}");
        }
    }
}
