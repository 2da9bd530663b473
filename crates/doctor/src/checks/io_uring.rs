//! Whether `io_uring` may be used.

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const RING: CheckSubject = CheckSubject::new("io-uring", Area::System, "io_uring");

pub(super) fn examine(scene: &ExaminedSystem, probes: &Probes) -> Vec<Check> {
    vec![ring(scene, probes)]
}

fn ring(scene: &ExaminedSystem, probes: &Probes) -> Check {
    let Err(error) = &probes.io_uring else {
        return RING.good("works", "Programs that use it save system calls.");
    };
    let (why, change) = match scene.number::<u8>("kernel.io_uring_disabled") {
        Ok(1) => (
            "off for ordinary users",
            Some("sysctl -w kernel.io_uring_disabled=0"),
        ),
        Ok(2) => (
            "off for everybody",
            Some("sysctl -w kernel.io_uring_disabled=0"),
        ),
        _ if error.raw_os_error() == Some(libc::ENOSYS) => ("not in this kernel", None),
        _ => ("refused, perhaps by a container's seccomp filter", None),
    };
    let check = RING.notice(
        format!("{why} ({error})"),
        "Programs fall back to epoll: the same round trips, somewhat more CPU.",
    );
    check.change_if(change.is_some(), change.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    #[test]
    fn names_who_refused() {
        let fake = fake::machine(&[("kernel.io_uring_disabled", "2\n")]);
        assert_eq!(
            ring(&fake.scene, &Probes::granting()).status,
            CheckStatus::Good
        );
        let check = ring(&fake.scene, &Probes::refusing());
        assert!(
            check.value.starts_with("off for everybody"),
            "{}",
            check.value
        );
        fake.write("kernel.io_uring_disabled", b"0");
        let check = ring(&fake.scene, &Probes::refusing());
        assert!(check.value.contains("seccomp"), "{}", check.value);
        assert_eq!(check.change, None);
    }
}
