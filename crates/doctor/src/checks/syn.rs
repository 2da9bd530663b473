//! What a lost SYN costs, and how long to wait for a silent server.

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const RETRIES: CheckSubject = CheckSubject::new("tcp-syn-retries", Area::Tcp, "Lost SYN");

/// The longest interval of the retransmission timer, in seconds (`TCP_RTO_MAX`).
const MAX_WAIT_S: u64 = 120;

pub(super) fn examine(scene: &ExaminedSystem, _probes: &Probes) -> Vec<Check> {
    vec![retries(scene)]
}

fn retries(scene: &ExaminedSystem) -> Check {
    let retries = match scene.number::<u8>("net.ipv4.tcp_syn_retries") {
        Ok(retries) => u64::from(retries),
        Err(lack) => return RETRIES.unknown(lack, "Nothing shows what a silent server costs."),
    };
    // Linux 6.5 and later; before that, the wait doubles from the first time on.
    let linear = scene.number::<u8>("net.ipv4.tcp_syn_linear_timeouts");
    let linear = linear.map_or(0, u64::from);
    let total = seconds_to_give_up(retries, linear);
    // The first of the waits that double takes 1 s, too.
    let after_1_s = linear + retries.min(1);
    let times = retries + linear;
    let value = match after_1_s {
        1 => format!("sent again {times} times, first after 1 s"),
        _ => format!("sent again {times} times, {after_1_s} of them after 1 s each"),
    };
    let wait = format!(
        "connect() gives up on a silent server after {total} s: programs need their own, shorter \
         timeout, or another address to try (RFC 8305)."
    );
    if linear == 0 {
        return RETRIES
            .notice(
                value,
                format!(
                    "A lost SYN costs 1 s, a second one 2 s more, a third 4 s (RFC 6298). {wait}"
                ),
            )
            .change("Linux 6.5 and later: sysctl -w net.ipv4.tcp_syn_linear_timeouts=4");
    }
    RETRIES.good(
        value,
        format!(
            "A lost SYN costs 1 s (RFC 6298), and so does each of the first {after_1_s}; after \
             these, the wait doubles. {wait}"
        ),
    )
}

/// The sum of the waits of 1 s, then 1, 2, 4, … s; the last one follows the last SYN.
fn seconds_to_give_up(retries: u64, linear: u64) -> u64 {
    let doubling = (0..=retries).map(|n| match u32::try_from(n) {
        Ok(n @ 0..7) => 1 << n,
        _ => MAX_WAIT_S,
    });
    linear + doubling.sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    #[test]
    fn agrees_with_the_kernels_documentation() {
        assert_eq!(seconds_to_give_up(6, 4), 131); // ip-sysctl.rst, tcp_syn_retries
        assert_eq!(seconds_to_give_up(6, 0), 127); // before Linux 6.5
        assert_eq!(seconds_to_give_up(0, 0), 1);
        assert_eq!(seconds_to_give_up(255, 255), 255 + 127 + 249 * 120);
    }

    #[test]
    fn a_kernel_that_doubles_from_the_start_is_noticed() {
        let retries_only = fake::machine(&[("net.ipv4.tcp_syn_retries", "6")]);
        let check = retries_only.check(retries);
        assert_eq!(check.status, CheckStatus::Notice);
        assert_eq!(check.value, "sent again 6 times, first after 1 s");
        retries_only.write("net.ipv4.tcp_syn_linear_timeouts", b"4\n");
        let check = retries_only.check(retries);
        assert_eq!(check.status, CheckStatus::Good);
        assert_eq!(check.value, "sent again 10 times, 5 of them after 1 s each");
        assert!(check.meaning.contains("first 5;"), "{}", check.meaning);
        // If no wait doubles, only the linear ones are left.
        retries_only.write("net.ipv4.tcp_syn_retries", b"0\n");
        let check = retries_only.check(retries);
        assert_eq!(check.value, "sent again 4 times, 4 of them after 1 s each");
    }
}
