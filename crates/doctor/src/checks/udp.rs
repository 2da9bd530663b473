//! What QUIC needs from the kernel: many datagrams per call, and buffers for a burst.

use std::io;

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const SEGMENTATION: CheckSubject = CheckSubject::new("udp-gso", Area::Udp, "Segmentation (GSO)");
const COALESCING: CheckSubject = CheckSubject::new("udp-gro", Area::Udp, "Coalescing (GRO)");
const BUFFERS: CheckSubject = CheckSubject::new("udp-buffers", Area::Udp, "Buffers");

/// The buffer size that QUIC implementations usually ask for, in bytes.
const WANTED_BUFFER: u64 = 2 << 20;

pub(super) fn examine(scene: &ExaminedSystem, probes: &Probes) -> Vec<Check> {
    vec![
        segmentation(&probes.udp_segmentation),
        coalescing(&probes.udp_coalescing),
        buffers(scene),
    ]
}

fn segmentation(probe: &io::Result<()>) -> Check {
    match probe {
        Ok(()) => SEGMENTATION.good(
            "works",
            "One system call sends many QUIC packets; the kernel, or the network card if it can, \
             cuts them apart.",
        ),
        Err(error) => SEGMENTATION
            .notice(
                format!("refused: {error}"),
                "Each QUIC packet passes through the network stack separately: a core sends much less.",
            )
            .change("Linux 4.18 or later"),
    }
}

fn coalescing(probe: &io::Result<()>) -> Check {
    match probe {
        Ok(()) => COALESCING.good("works", "One system call receives many QUIC packets."),
        Err(error) => COALESCING
            .notice(
                format!("refused: {error}"),
                "Each QUIC packet is received by a separate system call.",
            )
            .change("Linux 5.0 or later"),
    }
}

fn buffers(scene: &ExaminedSystem) -> Check {
    let most = [
        scene.number::<u64>("net.core.rmem_max"),
        scene.number::<u64>("net.core.wmem_max"),
    ];
    let (receive, send) = match most {
        [Ok(receive), Ok(send)] => (receive, send),
        [Err(lack), _] | [_, Err(lack)] => {
            return BUFFERS.unknown(
                lack,
                "Nothing shows how large a burst a QUIC socket can absorb; in a container these \
                 settings may be hidden.",
            );
        }
    };
    let value = format!("rmem_max {receive}, wmem_max {send}");
    if receive.min(send) < WANTED_BUFFER {
        return BUFFERS
            .notice(
                value,
                "UDP buffers do not grow by themselves. A burst larger than the buffer is lost, \
                 and QUIC slows down as if the path were bad.",
            )
            .change("sysctl -w net.core.rmem_max=7500000 net.core.wmem_max=7500000");
    }
    BUFFERS.good(
        value,
        "A QUIC program can ask for enough room to absorb a burst.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    #[test]
    fn says_what_the_kernel_said() {
        let refused = || Err(io::Error::from_raw_os_error(libc::ENOPROTOOPT));
        assert_eq!(segmentation(&Ok(())).status, CheckStatus::Good);
        assert_eq!(segmentation(&refused()).status, CheckStatus::Notice);
        assert_eq!(coalescing(&Ok(())).status, CheckStatus::Good);
        assert_eq!(coalescing(&refused()).status, CheckStatus::Notice);
    }

    #[test]
    fn the_smaller_buffer_counts() {
        let with = |receive, send| {
            let files = [("net.core.rmem_max", receive), ("net.core.wmem_max", send)];
            fake::machine(&files).check(buffers).status
        };
        assert_eq!(with("4194304", "4194304"), CheckStatus::Good);
        assert_eq!(with("4194304", "212992"), CheckStatus::Notice);
        assert_eq!(with("4194304", ""), CheckStatus::Unknown);
    }
}
