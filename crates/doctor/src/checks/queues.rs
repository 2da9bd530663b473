//! Where packets wait before they leave: queueing disciplines.

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const QUEUE: CheckSubject =
    CheckSubject::new("queueing-discipline", Area::Tcp, "Queueing discipline");

/// Disciplines in which one flow's burst does not delay other flows. `noqueue` has no queue at all,
/// and `mq` distributes packets to children with the default discipline.
const FAIR: [&str; 6] = ["fq", "fq_codel", "cake", "fq_pie", "noqueue", "mq"];

pub(super) fn examine(scene: &ExaminedSystem, probes: &Probes) -> Vec<Check> {
    vec![queue(scene, probes)]
}

fn queue(scene: &ExaminedSystem, probes: &Probes) -> Check {
    let default = scene.setting("net.core.default_qdisc");
    let links = probes.links.as_deref().unwrap_or_default();
    let mut parts: Vec<String> = Vec::new();
    parts.extend(default.iter().map(|name| format!("default {name}")));
    parts.extend(
        links
            .iter()
            .map(|link| format!("{} {}", link.name, link.queue)),
    );
    if parts.is_empty() {
        let why = default
            .err()
            .map_or_else(String::new, |lack| lack.to_string());
        return QUEUE.unknown(
            why,
            "Nothing shows whether a bulk transfer delays other flows here.",
        );
    }
    let default = default.as_deref().unwrap_or("fq_codel");
    let plain = !FAIR.contains(&default) && links.iter().any(|link| link.queue == "mq");
    let plain = plain
        || links
            .iter()
            .any(|link| !FAIR.contains(&link.queue.as_str()));
    let plain = plain || (links.is_empty() && !FAIR.contains(&default));
    if plain {
        return QUEUE
            .notice(
                parts.join(", "),
                "One queue for all: while a bulk transfer fills it, every other connection waits \
                 behind it (bufferbloat, RFC 8290). Matters where this machine's own link is the \
                 bottleneck.",
            )
            .change(
                "sysctl -w net.core.default_qdisc=fq_codel (fq for servers), then \
                     tc qdisc replace dev LINK root fq_codel",
            );
    }
    QUEUE.good(
        parts.join(", "),
        "Flows take turns: a bulk transfer does not delay small exchanges beside it.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::netlink::links::NetworkInterface;
    use crate::scene::fake;

    fn with(default: &str, queues: &[&str]) -> Check {
        let fake = fake::machine(&[("net.core.default_qdisc", default)]);
        let mut probes = Probes::granting();
        let link = |queue: &&str| NetworkInterface {
            name: "eth0".into(),
            mtu: 1500,
            queue: (*queue).into(),
        };
        probes.links = Ok(queues.iter().map(link).collect());
        queue(&fake.scene, &probes)
    }

    #[test]
    fn the_link_counts_not_the_default() {
        let check = with("fq_codel", &["pfifo_fast"]);
        assert_eq!(check.value, "default fq_codel, eth0 pfifo_fast");
        assert_eq!(check.status, CheckStatus::Notice);
        assert_eq!(with("pfifo_fast", &["fq"]).status, CheckStatus::Good);
        assert_eq!(with("pfifo_fast", &["mq"]).status, CheckStatus::Notice);
        assert_eq!(with("fq", &["mq", "noqueue"]).status, CheckStatus::Good);
        assert_eq!(with("pfifo_fast", &[]).status, CheckStatus::Notice);
    }

    #[test]
    fn nothing_known_is_unknown() {
        let fake = fake::machine(&[]);
        assert_eq!(
            queue(&fake.scene, &Probes::refusing()).status,
            CheckStatus::Unknown
        );
    }
}
