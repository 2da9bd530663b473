//! Whether an emulated path can be built: user and network namespaces, and the tunnel device.

use std::io;

use crate::check::{Area, Check, CheckSubject};
use crate::kernel::Unshared;
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const NAMESPACES: CheckSubject =
    CheckSubject::new("user-namespaces", Area::Namespaces, "User namespaces");
const TUNNEL: CheckSubject = CheckSubject::new("tun-device", Area::Namespaces, "/dev/net/tun");

/// Settings that can forbid user namespaces: the value that does, and the remedy.
const SWITCHES: [(&str, &str, &str); 3] = [
    (
        "kernel.apparmor_restrict_unprivileged_userns",
        "1",
        "an AppArmor profile with `userns,` for the binary, or \
         sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        "kernel.unprivileged_userns_clone",
        "0",
        "sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "user.max_user_namespaces",
        "0",
        "sysctl -w user.max_user_namespaces=10000",
    ),
];

pub(super) fn examine(scene: &ExaminedSystem, probes: &Probes) -> Vec<Check> {
    vec![namespaces(scene, &probes.unshared), tunnel(&probes.tunnel)]
}

fn namespaces(scene: &ExaminedSystem, unshared: &Unshared) -> Check {
    let value = match unshared {
        Unshared::Both => {
            let meaning = "Emulated paths and cold experiments run here, each in its own network, \
                           without privilege.";
            return NAMESPACES.good("allowed, each with its own network", meaning);
        }
        Unshared::UserOnly(error) => format!("allowed, but without a network: {error}"),
        Unshared::Neither(error) => format!("refused: {error}"),
    };
    let switch = SWITCHES
        .iter()
        .find(|(name, forbids, _)| scene.setting(name).is_ok_and(|found| found == *forbids));
    let change = match switch {
        Some((_, _, remedy)) => (*remedy).to_owned(),
        None => "in a container: run it with a seccomp profile that allows unshare".to_owned(),
    };
    let meaning = "Emulated paths and the lab's experiments cannot run; measuring real servers \
                   can.";
    NAMESPACES.problem(value, meaning).change(change)
}

fn tunnel(probe: &io::Result<()>) -> Check {
    match probe {
        Ok(()) => TUNNEL.good("opens", "Emulated paths may use it; they do not need it."),
        Err(error) => TUNNEL.notice(
            format!("does not open: {error}"),
            "Nothing is lost: emulated paths use packet sockets in namespaces instead.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    fn refused() -> io::Error {
        io::Error::from_raw_os_error(libc::EPERM)
    }

    #[test]
    fn names_the_switch_that_forbids_them() {
        let name = "kernel.apparmor_restrict_unprivileged_userns";
        let fake = fake::machine(&[(name, "1\n")]);
        let check = namespaces(&fake.scene, &Unshared::UserOnly(refused()));
        assert_eq!(check.status, CheckStatus::Problem);
        assert!(check.change.unwrap().contains("AppArmor"));
        fake.write(name, b"0\n");
        fake.write("user.max_user_namespaces", b"0\n");
        let check = namespaces(&fake.scene, &Unshared::Neither(refused()));
        assert!(check.change.unwrap().contains("max_user_namespaces"));
        fake.write("user.max_user_namespaces", b"1000\n");
        let check = namespaces(&fake.scene, &Unshared::Neither(refused()));
        assert!(check.change.unwrap().contains("seccomp"));
    }

    #[test]
    fn a_namespace_that_works_outweighs_the_settings() {
        let fake = fake::machine(&[("user.max_user_namespaces", "0")]);
        assert_eq!(
            namespaces(&fake.scene, &Unshared::Both).status,
            CheckStatus::Good
        );
    }

    #[test]
    fn the_tunnel_device_is_optional() {
        assert_eq!(tunnel(&Ok(())).status, CheckStatus::Good);
        assert_eq!(tunnel(&Err(refused())).status, CheckStatus::Notice);
    }
}
