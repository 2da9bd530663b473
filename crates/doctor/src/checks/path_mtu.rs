//! Whether lost large packets are noticed (black holes), and how large packets may be.

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const PROBING: CheckSubject = CheckSubject::new("tcp-mtu-probing", Area::Tcp, "MTU probing");
const LINKS: CheckSubject = CheckSubject::new("link-mtu", Area::Tcp, "Link MTU");

/// Ethernet's MTU in bytes: with a smaller one, most servers send packets that do not fit this
/// link.
const ETHERNET_MTU: u32 = 1500;

pub(super) fn examine(scene: &ExaminedSystem, probes: &Probes) -> Vec<Check> {
    vec![probing(scene), links(probes)]
}

fn probing(scene: &ExaminedSystem) -> Check {
    match scene.number::<u8>("net.ipv4.tcp_mtu_probing") {
        Err(lack) => PROBING.unknown(
            lack,
            "Nothing shows what an MTU black hole would cost here.",
        ),
        Ok(0) => PROBING
            .notice(
                "off",
                "If a path swallows large packets and the ICMP that says so, a transfer hangs for \
                 seconds or for good, while small exchanges work.",
            )
            .change("sysctl -w net.ipv4.tcp_mtu_probing=1"),
        Ok(1) => PROBING.good(
            "after a black hole",
            "After repeated loss of large packets the kernel tries smaller ones (RFC 4821).",
        ),
        Ok(_) => PROBING.good(
            "always",
            "The kernel searches the path's MTU itself (RFC 4821).",
        ),
    }
}

fn links(probes: &Probes) -> Check {
    let links = match &probes.links {
        Ok(links) => links,
        Err(error) => {
            let why = format!("the kernel does not say ({error})");
            return LINKS.unknown(why, "Nothing shows how much a packet carries.");
        }
    };
    let list = links
        .iter()
        .map(|link| format!("{} {}", link.name, link.mtu));
    let value = list.collect::<Vec<_>>().join(", ");
    if links.is_empty() {
        return LINKS.notice("no link is up", "Only this machine can be reached.");
    }
    if links.iter().any(|link| link.mtu < ETHERNET_MTU) {
        return LINKS.notice(
            value,
            format!(
                "Packets here carry less than Ethernet's {ETHERNET_MTU} bytes, as through a tunnel: \
                 larger ones from elsewhere depend on ICMP getting through, and the first ten \
                 segments carry less."
            ),
        );
    }
    LINKS.good(
        value,
        "Packets of the usual size pass; ten of them carry about 14 kB.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::netlink::links::NetworkInterface;
    use crate::scene::fake;

    #[test]
    fn probing_after_a_black_hole_suffices() {
        let at = |value| {
            let fake = fake::machine(&[("net.ipv4.tcp_mtu_probing", value)]);
            fake.check(probing).status
        };
        assert_eq!(
            ["0", "1", "2"].map(at),
            [CheckStatus::Notice, CheckStatus::Good, CheckStatus::Good]
        );
    }

    #[test]
    fn a_tunnel_is_noticed() {
        let link = |mtu| NetworkInterface {
            name: "wg0".into(),
            mtu,
            queue: "noqueue".into(),
        };
        let mut probes = Probes::granting();
        assert_eq!(links(&probes).value, "no link is up");
        probes.links = Ok(vec![link(1500), link(1420)]);
        assert_eq!(links(&probes).status, CheckStatus::Notice);
        probes.links = Ok(vec![link(1500), link(9000)]);
        assert_eq!(links(&probes).status, CheckStatus::Good);
    }
}
