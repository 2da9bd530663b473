//! How many connections may wait to be accepted before SYNs are dropped.

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const BACKLOG: CheckSubject = CheckSubject::new("listen-backlog", Area::Tcp, "Listen queue");

/// The default before Linux 5.4, too short for a burst.
const SHORT_BACKLOG: u32 = 128;

pub(super) fn examine(scene: &ExaminedSystem, _probes: &Probes) -> Vec<Check> {
    vec![backlog(scene)]
}

fn backlog(scene: &ExaminedSystem) -> Check {
    match scene.number::<u32>("net.core.somaxconn") {
        Err(lack) => BACKLOG.unknown(
            lack,
            "Nothing shows how large a burst a listener can absorb.",
        ),
        Ok(length) if length <= SHORT_BACKLOG => BACKLOG
            .notice(
                format!("at most {length}"),
                "When a burst fills a listener's queue, SYNs are dropped and each client waits 1 s \
                 before it tries again. The same bound holds for fast open's queue.",
            )
            .change("sysctl -w net.core.somaxconn=4096, and a listener that asks for as much"),
        Ok(length) => BACKLOG.good(
            format!("at most {length}"),
            "A listener that asks for it absorbs a burst of this size without a dropped SYN.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    #[test]
    fn the_old_default_is_short() {
        let at = |n| {
            fake::machine(&[("net.core.somaxconn", n)])
                .check(backlog)
                .status
        };
        assert_eq!(
            ["128", "4096"].map(at),
            [CheckStatus::Notice, CheckStatus::Good]
        );
    }
}
