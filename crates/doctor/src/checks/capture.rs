//! Whether packets can be captured and timestamped.

use std::io;

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const PACKETS: CheckSubject = CheckSubject::new("packet-capture", Area::Capture, "Packet capture");
const STAMPS: CheckSubject = CheckSubject::new("timestamping", Area::Capture, "Packet timestamps");

pub(super) fn examine(_scene: &ExaminedSystem, probes: &Probes) -> Vec<Check> {
    vec![packets(&probes.packet_socket), stamps(&probes.timestamping)]
}

fn packets(probe: &io::Result<()>) -> Check {
    match probe {
        Ok(()) => PACKETS.good(
            "allowed",
            "Any program's packets can be traced on this machine.",
        ),
        Err(error) => PACKETS
            .notice(
                format!("refused: {error}"),
                "Only traffic in the user's own namespace, and saved captures, can be traced.",
            )
            .change("setcap cap_net_raw+ep on the binary, or run as root"),
    }
}

fn stamps(probe: &io::Result<()>) -> Check {
    match probe {
        Ok(()) => STAMPS.good(
            "in software",
            "The kernel timestamps packets as they leave and arrive, so that the program's own \
             delays are not mistaken for the network's.",
        ),
        Err(error) => STAMPS.notice(
            format!("refused: {error}"),
            "Times are taken in the program: on a busy machine its own delays count as network.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;

    #[test]
    fn a_refusal_says_how_to_get_the_right() {
        let check = packets(&Err(io::Error::from_raw_os_error(libc::EPERM)));
        assert_eq!(check.status, CheckStatus::Notice);
        assert!(check.change.unwrap().contains("cap_net_raw"));
        assert_eq!(packets(&Ok(())).status, CheckStatus::Good);
        assert_eq!(stamps(&Ok(())).status, CheckStatus::Good);
    }
}
