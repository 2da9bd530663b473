//! TCP options that every modern connection needs, and explicit congestion notification.

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const OPTIONS: CheckSubject = CheckSubject::new("tcp-options", Area::Tcp, "Options");
const ECN: CheckSubject = CheckSubject::new("tcp-ecn", Area::Tcp, "ECN");

/// Setting, name for people, and the cost of its absence.
const NEEDED: [(&str, &str, &str); 3] = [
    (
        "net.ipv4.tcp_window_scaling",
        "window scaling",
        "Without window scaling at most 64 KiB are in flight: 5.8 Mbit/s at 90 ms.",
    ),
    (
        "net.ipv4.tcp_sack",
        "selective acknowledgement",
        "Without selective acknowledgement, several losses in a window cost a round trip each.",
    ),
    (
        "net.ipv4.tcp_timestamps",
        "timestamps",
        "Without timestamps, the round trip is measured less exactly, and ports are not reused early.",
    ),
];

pub(super) fn examine(scene: &ExaminedSystem, _probes: &Probes) -> Vec<Check> {
    vec![options(scene), ecn(scene)]
}

fn options(scene: &ExaminedSystem) -> Check {
    let (mut on, mut off, mut costs, mut change) = (vec![], vec![], vec![], vec![]);
    for (setting, name, cost) in NEEDED {
        match scene.number::<u8>(setting) {
            Err(lack) => return OPTIONS.unknown(lack, "Nothing shows what connections negotiate."),
            Ok(0) => {
                off.push(name);
                costs.push(cost);
                change.push(format!("{setting}=1"));
            }
            Ok(_) => on.push(name),
        }
    }
    if off.is_empty() {
        let meaning = "Every connection negotiates what a long path needs (RFC 7323, 2018).";
        return OPTIONS.good(on.join(", "), meaning);
    }
    OPTIONS
        .problem(format!("off: {}", off.join(", ")), costs.join(" "))
        .change(format!("sysctl -w {}", change.join(" ")))
}

fn ecn(scene: &ExaminedSystem) -> Check {
    match scene.number::<u8>("net.ipv4.tcp_ecn") {
        Err(lack) => ECN.unknown(lack, "Nothing shows whether routers can signal congestion."),
        Ok(0) => ECN
            .notice(
                "off",
                "Congestion is learnt from loss only; a lost tail costs a timeout.",
            )
            .change("sysctl -w net.ipv4.tcp_ecn=2 (accept) or 1 (ask for it too)"),
        Ok(1) => ECN.good(
            "asked for and accepted",
            "Routers can mark instead of drop (RFC 3168). A middlebox that drops such a SYN costs \
             1 s; the kernel then tries again without ECN.",
        ),
        Ok(2) => ECN.good(
            "accepted when asked",
            "The default: peers may ask (RFC 3168).",
        ),
        Ok(mode) => ECN.good(
            format!("mode {mode}"),
            "One of the modes with accurate feedback (AccECN), Linux 6.18 and later.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    #[test]
    fn an_option_that_is_off_is_a_problem_with_its_price() {
        let on = NEEDED.map(|(setting, _, _)| (setting, "1"));
        let fake = fake::machine(&on);
        assert_eq!(fake.check(options).status, CheckStatus::Good);
        fake.write("net.ipv4.tcp_window_scaling", b"0\n");
        let check = fake.check(options);
        assert_eq!(check.value, "off: window scaling");
        assert_eq!(
            check.change.unwrap(),
            "sysctl -w net.ipv4.tcp_window_scaling=1"
        );
    }

    #[test]
    fn ecn_off_is_worth_a_notice() {
        let at = |value| {
            fake::machine(&[("net.ipv4.tcp_ecn", value)])
                .check(ecn)
                .status
        };
        assert_eq!(at("0"), CheckStatus::Notice);
        assert_eq!(["1", "2", "3"].map(at), [CheckStatus::Good; 3]);
    }
}
