//! The register of checks. A new check is one new file here and one line below.
//!
//! A check is a pure function of the scene: it reads, judges and reports, and never fails; a fact
//! that it cannot determine has status `Unknown`.

mod buffers;
mod capture;
mod certificates;
mod congestion;
mod curl;
mod fast_open;
mod io_uring;
mod libraries;
mod listeners;
mod namespaces;
mod openssl_config;
mod path_mtu;
mod ports;
mod queues;
mod resolver;
mod runtimes;
mod slow_start;
mod syn;
mod system;
mod tcp_options;
mod udp;
mod windows;

use crate::check::{Area, Check, CheckSubject};
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

/// Checks that need only files: they apply to a machine and to an image.
const OF_FILES: [fn(&ExaminedSystem) -> Vec<Check>; 7] = [
    system::examine,
    resolver::examine,
    libraries::examine,
    openssl_config::examine,
    certificates::examine,
    curl::examine,
    runtimes::examine,
];

/// Checks of the kernel's settings and answers: they apply to a machine only.
const OF_THE_KERNEL: [fn(&ExaminedSystem, &Probes) -> Vec<Check>; 15] = [
    fast_open::examine,
    slow_start::examine,
    congestion::examine,
    windows::examine,
    buffers::examine,
    queues::examine,
    path_mtu::examine,
    tcp_options::examine,
    syn::examine,
    ports::examine,
    listeners::examine,
    udp::examine,
    io_uring::examine,
    capture::examine,
    namespaces::examine,
];

const NO_KERNEL: CheckSubject = CheckSubject::new("kernel", Area::System, "Kernel settings");

/// Runs every check that applies, in the order of their areas.
pub(crate) fn all(scene: &ExaminedSystem) -> Vec<Check> {
    let mut checks: Vec<Check> = OF_FILES.iter().flat_map(|check| check(scene)).collect();
    match &scene.probes {
        Some(probes) => checks.extend(OF_THE_KERNEL.iter().flat_map(|check| check(scene, probes))),
        None => checks.push(NO_KERNEL.unknown(
            "not examined",
            "An image contains no kernel: fast open, windows, buffers and queues are those of the \
             host that runs it. Run the doctor there as well.",
        )),
    }
    checks.sort_by_key(|check| check.area);
    checks
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    #[test]
    fn an_empty_machine_yields_answers_and_no_panic() {
        let mut fake = fake::machine(&[]);
        let granted = all(&fake.scene);
        fake.scene.probes = Some(Probes::refusing());
        let refused = all(&fake.scene);
        assert!(granted.len() > 25, "{}", granted.len());
        assert_eq!(granted.len(), refused.len());
        assert!(
            refused.iter().all(|c| c.status != CheckStatus::Good),
            "{refused:#?}"
        );
    }

    #[test]
    fn absurd_settings_are_unknown_not_believed() {
        for content in [
            "",
            "nonsense",
            "-1",
            "99999999999999999999999",
            "\0\0",
            "1 2 3 4 5 6",
        ] {
            let names = [
                "net.ipv4.tcp_fastopen",
                "net.ipv4.tcp_slow_start_after_idle",
                "net.ipv4.tcp_rmem",
                "net.ipv4.tcp_wmem",
                "net.ipv4.tcp_mtu_probing",
                "net.ipv4.tcp_syn_retries",
                "net.ipv4.ip_local_port_range",
                "net.core.rmem_max",
                "net.core.somaxconn",
            ];
            let files: Vec<_> = names.iter().map(|name| (*name, content)).collect();
            let fake = fake::machine(&files);
            let unknown = all(&fake.scene)
                .into_iter()
                .filter(|check| check.status == CheckStatus::Unknown)
                .count();
            assert!(unknown >= 7, "{content:?}: {unknown}");
        }
    }

    #[test]
    fn an_image_has_no_kernel_and_says_so() {
        let fake = fake::image(&[("net.ipv4.tcp_fastopen", "3")]);
        let checks = all(&fake.scene);
        assert!(
            checks
                .iter()
                .all(|c| c.area != Area::Tcp && c.area != Area::FastOpen)
        );
        assert!(checks.iter().any(|c| c.id == "kernel"));
    }

    #[test]
    fn every_check_has_a_name_of_its_own_and_a_meaning() {
        let checks = all(&fake::machine(&[]).scene);
        let names: BTreeSet<_> = checks.iter().map(|c| c.id).collect();
        assert_eq!(names.len(), checks.len());
        for check in &checks {
            let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(check.id.chars().all(kebab), "{}", check.id);
            assert!(
                check.meaning.ends_with('.'),
                "{}: {}",
                check.id,
                check.meaning
            );
        }
    }
}
