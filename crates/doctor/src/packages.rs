//! Lists the packages that the package manager has installed: a second source besides the
//! libraries' own bytes, and the distribution's name for a version. Reads the databases of Debian
//! and Alpine; that of RPM is binary and not supported.

use crate::root::Root;

/// Databases with one file for all packages (Debian, Alpine).
const DATABASES: [&str; 2] = ["/var/lib/dpkg/status", "/lib/apk/db/installed"];
/// Databases with one file for each package (images without a package manager).
const DISTROLESS: &str = "/var/lib/dpkg/status.d/*";
/// The largest number of packages that are read, so that a hostile database cannot fill memory.
const MAX_PACKAGES: usize = 50_000;

/// The installed packages.
#[derive(Debug, Default)]
pub(crate) struct Packages(Vec<Package>);

/// A package and its version, as its distribution writes it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
}

impl Packages {
    /// Reads all databases that exist.
    pub(crate) fn read(root: &Root) -> Self {
        let mut packages = Vec::new();
        let files = DATABASES.map(str::to_owned).into_iter();
        for path in files.chain(root.glob(DISTROLESS)) {
            if let Ok(text) = root.read_text(&path) {
                packages.extend(parse(&text));
            }
            packages.truncate(MAX_PACKAGES);
        }
        Self(packages)
    }

    /// The first installed package that satisfies `fits`.
    pub(crate) fn find(&self, fits: impl Fn(&Package) -> bool) -> Option<&Package> {
        self.0.iter().find(|package| fits(package))
    }
}

/// Reads paragraphs of `Package:`/`Version:`/`Status:` (Debian) or `P:`/`V:` (Alpine) lines.
fn parse(text: &str) -> Vec<Package> {
    let mut packages = Vec::new();
    let (mut name, mut version, mut installed) = ("", "", true);
    for line in text.lines().chain([""]) {
        if line.is_empty() {
            if !name.is_empty() && !version.is_empty() && installed {
                packages.push(Package {
                    name: name.to_owned(),
                    version: version.to_owned(),
                });
            }
            (name, version, installed) = ("", "", true);
        }
        match line.split_once(':') {
            Some(("Package" | "P", value)) => name = value.trim(),
            Some(("Version" | "V", value)) => version = value.trim(),
            // A removed package keeps its paragraph while its configuration files remain.
            Some(("Status", value)) => installed = value.trim().ends_with(" installed"),
            _ => {}
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::fake;

    #[test]
    fn reads_debian_and_passes_over_what_was_removed() {
        let status = "Package: libssl3\nStatus: install ok installed\nVersion: 3.0.17-1~deb12u2\n\
                      Description: text\n Version: of something else\n\n\
                      Package: libssl1.0.0\nStatus: deinstall ok config-files\nVersion: 1.0.2\n";
        let fake = fake::image(&[("/var/lib/dpkg/status", status)]);
        let packages = Packages::read(&fake.scene.root);
        assert_eq!(packages.0.len(), 1);
        let found = packages.find(|p| p.name.starts_with("libssl")).unwrap();
        assert_eq!(found.version, "3.0.17-1~deb12u2");
    }

    #[test]
    fn reads_alpine_and_distroless() {
        let apk = "C:Q1\nP:libcrypto3\nV:3.3.2-r1\nA:x86_64\n\nP:musl\nV:1.2.5-r0\n\n";
        let one = "Package: base-files\nVersion: 12.4\n";
        let fake = fake::image(&[
            ("/lib/apk/db/installed", apk),
            ("/var/lib/dpkg/status.d/base-files", one),
        ]);
        let packages = Packages::read(&fake.scene.root);
        let names: Vec<_> = packages.0.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["libcrypto3", "musl", "base-files"]);
    }

    #[test]
    fn nonsense_is_not_a_package() {
        assert!(parse("Package:\nVersion:\n\n::::\n\0\nPackage: half\n").is_empty());
    }
}
