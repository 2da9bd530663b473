//! The congestion control of new connections, and the available alternatives.

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::root::RootReadError;
use crate::scene::ExaminedSystem;

const CONTROL: CheckSubject =
    CheckSubject::new("tcp-congestion-control", Area::Tcp, "Congestion control");

pub(super) fn examine(scene: &ExaminedSystem, _probes: &Probes) -> Vec<Check> {
    vec![control(scene)]
}

fn control(scene: &ExaminedSystem) -> Check {
    let current = match scene.setting("net.ipv4.tcp_congestion_control") {
        Ok(name) if !name.is_empty() => name,
        Ok(_) => {
            return CONTROL.unknown(
                RootReadError::Absurd,
                "Nothing shows how connections react to loss.",
            );
        }
        Err(lack) => return CONTROL.unknown(lack, "Nothing shows how connections react to loss."),
    };
    let available = scene.setting("net.ipv4.tcp_available_congestion_control");
    let available = available.unwrap_or_default();
    let value = match available.as_str() {
        "" => current.clone(),
        names => format!("{current} (available: {names})"),
    };
    let advice = "sysctl -w net.ipv4.tcp_congestion_control=bbr (modprobe tcp_bbr first where it \
                  is not available), with fq as queueing discipline; measure both";
    match current.as_str() {
        "bbr" => CONTROL.good(
            value,
            "Sends at the path's measured rate: random loss hardly slows it, and it fills queues \
             less than cubic.",
        ),
        "cubic" => CONTROL
            .good(
                value,
                "The default: each loss cuts the window by 30 % (RFC 9438), so on a long path with \
                 random loss transfers take longer.",
            )
            .change_if(available.contains("bbr"), advice),
        "reno" => CONTROL
            .notice(
                value,
                "Each loss halves the window, and it grows back by one segment a round trip: on a \
                 long path, minutes.",
            )
            .change("sysctl -w net.ipv4.tcp_congestion_control=cubic"),
        "dctcp" => CONTROL.notice(
            value,
            "Made for data centres whose switches mark ECN (RFC 8257); unfair elsewhere.",
        ),
        _ => CONTROL.notice(
            value,
            "Not one of the usual ones; measure before relying on it.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    fn with(current: &str, available: &str) -> Check {
        fake::machine(&[
            ("net.ipv4.tcp_congestion_control", current),
            ("net.ipv4.tcp_available_congestion_control", available),
        ])
        .check(control)
    }

    #[test]
    fn names_the_current_and_the_available() {
        let check = with("cubic\n", "reno cubic\n");
        assert_eq!(check.value, "cubic (available: reno cubic)");
        assert_eq!((check.status, check.change), (CheckStatus::Good, None));
        assert!(
            with("cubic", "reno cubic bbr")
                .change
                .unwrap()
                .contains("bbr")
        );
    }

    #[test]
    fn reno_is_worth_a_notice_and_nothing_is_unknown() {
        assert_eq!(with("reno", "reno cubic").status, CheckStatus::Notice);
        assert_eq!(with("", "reno").status, CheckStatus::Unknown);
    }
}
