//! The examined system: distribution, kernel, C library.

use crate::check::{Area, Check, CheckSubject};
use crate::root::RootReadError;
use crate::scan;
use crate::scene::ExaminedSystem;
use crate::version::SoftwareVersion;

const DISTRIBUTION: CheckSubject = CheckSubject::new("distribution", Area::System, "Distribution");
const KERNEL: CheckSubject = CheckSubject::new("kernel-version", Area::System, "Kernel");
const C_LIBRARY: CheckSubject = CheckSubject::new("c-library", Area::System, "C library");

const OS_RELEASE: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];
const GLIBC: [&str; 5] = [
    "/lib/*-linux-gnu*/libc.so.6",
    "/usr/lib/*-linux-gnu*/libc.so.6",
    "/lib64/libc.so.6",
    "/usr/lib64/libc.so.6",
    "/lib/libc.so.6",
];
const MUSL: &str = "/lib/ld-musl-*.so.1";

pub(super) fn examine(scene: &ExaminedSystem) -> Vec<Check> {
    let mut checks = vec![distribution(scene), c_library(scene)];
    if scene.probes.is_some() {
        checks.push(kernel(scene));
    }
    checks
}

fn distribution(scene: &ExaminedSystem) -> Check {
    let text = OS_RELEASE
        .iter()
        .find_map(|path| scene.root.read_text(path).ok());
    let name = text
        .as_deref()
        .and_then(|text| quoted(text, "PRETTY_NAME").or_else(|| quoted(text, "NAME")));
    match name {
        Some(name) => DISTRIBUTION.good(name, "It determines the libraries and defaults below."),
        None => DISTRIBUTION.unknown(
            "no os-release file",
            "An image without a distribution: expect statically linked programs, whose TLS is \
             their own.",
        ),
    }
}

fn kernel(scene: &ExaminedSystem) -> Check {
    const OPEN: &str = "Which of the settings below exist depends on it.";
    match scene.setting("kernel.osrelease") {
        Err(lack) => KERNEL.unknown(lack, OPEN),
        Ok(release) => match SoftwareVersion::parse(&release) {
            None => KERNEL.unknown(RootReadError::Absurd, OPEN),
            Some(version) if version.at_least(5, 14, 0) => KERNEL.good(
                release,
                "New enough for fast open without a global pause, and UDP segmentation.",
            ),
            Some(_) => KERNEL
                .notice(
                    release,
                    "Before 5.14 one black hole pauses fast open for all destinations.",
                )
                .change("a newer kernel"),
        },
    }
}

/// The dynamic loader of musl, if musl is the C library of the distribution. A machine with glibc
/// may also have it, for building.
pub(super) fn musl(scene: &ExaminedSystem) -> Option<String> {
    let has_glibc = GLIBC.iter().any(|path| !scene.root.glob(path).is_empty());
    scene
        .root
        .glob(MUSL)
        .into_iter()
        .next()
        .filter(|_| !has_glibc)
}

fn c_library(scene: &ExaminedSystem) -> Check {
    if let Some(path) = musl(scene) {
        return C_LIBRARY.good(
            format!("musl ({path})"),
            "Asks all name servers at once and takes the first answer; does not cache.",
        );
    }
    let paths = GLIBC.iter().flat_map(|pattern| scene.root.glob(pattern));
    for path in paths {
        let Ok(file) = scene.root.open_file(&path) else {
            continue;
        };
        let markers = ["GNU C Library ", "stable release version "];
        let Ok(found) = scan::scan(file, scan::MAX_LIBRARY_BYTES, &markers) else {
            continue;
        };
        let mut releases = found.get(1).into_iter().flatten();
        if let Some(version) = releases.find_map(|text| SoftwareVersion::parse(text)) {
            return C_LIBRARY.good(
                format!("glibc {version} ({path})"),
                "Asks one name server after the other, each for A and AAAA together; does not \
                 cache.",
            );
        }
    }
    C_LIBRARY.unknown(
        "none found",
        "Programs here bring their own C library, and with it their resolver.",
    )
}

/// The value of `KEY="value"` or `KEY=value`.
fn quoted(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let value = line.strip_prefix(key)?.strip_prefix('=')?.trim();
        let value = value.trim_matches(['"', '\'']);
        (!value.is_empty()).then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    #[test]
    fn names_the_distribution() {
        let release = "NAME=Old\nPRETTY_NAME=\"CentOS Linux 7 (Core)\"\n";
        let fake = fake::image(&[("/usr/lib/os-release", release)]);
        assert_eq!(fake.check(distribution).value, "CentOS Linux 7 (Core)");
        let fake = fake::image(&[("/etc/os-release", "PRETTY_NAME=\n")]);
        assert_eq!(fake.check(distribution).status, CheckStatus::Unknown);
    }

    #[test]
    fn an_old_kernel_is_noticed() {
        let status = |release| {
            let fake = fake::machine(&[("kernel.osrelease", release)]);
            fake.check(kernel).status
        };
        assert_eq!(status("6.18.44-custom\n"), CheckStatus::Good);
        assert_eq!(status("3.10.0-1160.el7.x86_64\n"), CheckStatus::Notice);
        assert_eq!(status("new\n"), CheckStatus::Unknown);
    }

    #[test]
    fn tells_the_c_libraries_apart() {
        let text = "\0GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\nBy\0";
        let fake = fake::image(&[("/lib/x86_64-linux-gnu/libc.so.6", text)]);
        let check = fake.check(c_library);
        assert_eq!(check.value, "glibc 2.36 (/lib/x86_64-linux-gnu/libc.so.6)");
        let fake = fake::image(&[("/lib/ld-musl-x86_64.so.1", "")]);
        assert!(fake.check(c_library).value.starts_with("musl"));
        // Debian's package musl is for building; the programs there use glibc.
        let glibc = b"GNU C Library (Debian) stable release version 2.36.";
        fake.write("/lib/x86_64-linux-gnu/libc.so.6", glibc);
        assert!(fake.check(c_library).value.starts_with("glibc 2.36"));
        assert_eq!(
            fake::image(&[]).check(c_library).status,
            CheckStatus::Unknown
        );
    }
}
