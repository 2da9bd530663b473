//! Whether an idle connection forgets the speed of its path, and whether new connections remember
//! it.

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const AFTER_IDLE: CheckSubject = CheckSubject::new(
    "tcp-slow-start-after-idle",
    Area::Tcp,
    "Slow start after idle",
);
const METRICS: CheckSubject = CheckSubject::new("tcp-metrics-save", Area::Tcp, "Memory of paths");

pub(super) fn examine(scene: &ExaminedSystem, _probes: &Probes) -> Vec<Check> {
    vec![after_idle(scene), metrics(scene)]
}

fn after_idle(scene: &ExaminedSystem) -> Check {
    match scene.number::<u8>("net.ipv4.tcp_slow_start_after_idle") {
        Err(lack) => AFTER_IDLE.unknown(lack, "Nothing shows what an idle connection starts with."),
        Ok(0) => AFTER_IDLE.good(
            "off",
            "A reused connection sends at once as much as it did before the pause.",
        ),
        Ok(_) => AFTER_IDLE
            .notice(
                "on",
                "A connection idle for longer than its retransmission timeout (200 ms and more) \
                 starts again with ten segments: a large response on a reused connection pays one \
                 round trip for each doubling, as on a new one (RFC 5681, section 4.1).",
            )
            .change("sysctl -w net.ipv4.tcp_slow_start_after_idle=0"),
    }
}

fn metrics(scene: &ExaminedSystem) -> Check {
    match scene.number::<u8>("net.ipv4.tcp_no_metrics_save") {
        Err(lack) => METRICS.unknown(lack, "Nothing shows whether earlier connections help."),
        Ok(0) => METRICS.good(
            "kept",
            "New connections start with what earlier ones to the same address learnt of the round \
             trip. Repeated measurements are therefore not quite cold.",
        ),
        Ok(_) => METRICS.notice(
            "not kept",
            "Each connection learns its path afresh, so measurements are cold each time.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    #[test]
    fn slow_start_after_idle_is_worth_a_notice() {
        let name = "net.ipv4.tcp_slow_start_after_idle";
        let check = fake::machine(&[(name, "1\n")]).check(after_idle);
        assert_eq!(check.status, CheckStatus::Notice);
        assert!(check.change.unwrap().ends_with("after_idle=0"));
        let check = fake::machine(&[(name, "0\n")]).check(after_idle);
        assert_eq!((check.status, check.change), (CheckStatus::Good, None));
    }

    #[test]
    fn forgotten_paths_are_worth_a_notice() {
        let name = "net.ipv4.tcp_no_metrics_save";
        assert_eq!(fake::machine(&[(name, "0")]).check(metrics).value, "kept");
        assert_eq!(
            fake::machine(&[(name, "1")]).check(metrics).value,
            "not kept"
        );
    }
}
