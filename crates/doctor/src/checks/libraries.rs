//! TLS libraries: which ones are installed, what they support, and what that costs in round trips.
//!
//! A library's version is read from its own bytes; the package manager's version is shown next to
//! it. `known` knows which version supports what.

mod known;

use crate::check::{Area, Check, CheckStatus, CheckSubject};
use crate::packages::Packages;
use crate::root::FileIdentity;
use crate::scan;
use crate::scene::ExaminedSystem;
use known::{Library, LibraryKind, MAKES, PostQuantum, TlsSupport};

const NONE: CheckSubject = CheckSubject::new("tls-libraries", Area::Tls, "TLS libraries");

/// Directories of shared libraries: relative to `/`, `*` within one component.
pub(super) const DIRECTORIES: [&str; 17] = [
    "/lib",
    "/lib64",
    "/lib/*-linux-*",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/*-linux-*",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/lib/*-linux-*",
    "/usr/local/ssl/lib*",
    "/usr/local/*ssl*/lib*",
    "/opt/lib",
    "/opt/*/lib",
    "/opt/*/lib64",
    // Python packages ship their own libraries.
    "/usr/lib/python*/*-packages/*.libs",
    "/usr/local/lib/python*/*-packages/*.libs",
    "/opt/*/lib/python*/*-packages/*.libs",
];

pub(super) fn examine(scene: &ExaminedSystem) -> Vec<Check> {
    let packages = Packages::read(&scene.root);
    let mut seen: Vec<FileIdentity> = Vec::new();
    let mut checks = Vec::new();
    for make in &MAKES {
        for path in shared_objects(scene, make.file) {
            let Ok(identity) = scene.root.identity(&path) else {
                continue;
            };
            if !seen.contains(&identity) {
                seen.push(identity);
                checks.extend(library(scene, make, &path, &packages));
            }
        }
    }
    if checks.is_empty() {
        checks.push(NONE.unknown(
            "none found in the usual directories",
            "Programs here bring their own TLS (Go, Rust, Java, static builds) or speak none.",
        ));
    }
    checks
}

/// The paths of files with this name in the library directories.
pub(super) fn shared_objects(scene: &ExaminedSystem, file: &str) -> Vec<String> {
    let directories = DIRECTORIES.iter();
    let paths = directories.flat_map(|directory| scene.root.glob(&format!("{directory}/{file}")));
    paths.collect()
}

/// Examines one file.
fn library(
    scene: &ExaminedSystem,
    make: &LibraryKind,
    path: &str,
    packages: &Packages,
) -> Option<Check> {
    let scanned = scene.root.open_file(path).and_then(|file| {
        scan::scan(file, scan::MAX_LIBRARY_BYTES, make.markers).map_err(|error| (&error).into())
    });
    let captures = match scanned {
        Ok(captures) => captures,
        Err(lack) => {
            let meaning = "Nothing shows which TLS versions programs with this library speak.";
            return Some(make.subject.unknown(format!("{path} {lack}"), meaning));
        }
    };
    let library = (make.identify)(&captures)?;
    Some(judge(make, path, &library, packages))
}

fn judge(make: &LibraryKind, path: &str, library: &Library, packages: &Packages) -> Check {
    let subject = library.subject.unwrap_or(make.subject);
    let package = packages.find(|package| {
        let version = library
            .version
            .as_ref()
            .is_none_or(|v| package.version.contains(&v.base()));
        version
            && make
                .packages
                .iter()
                .any(|name| package.name.starts_with(name))
    });
    let package = package.map(|p| format!(", package {} {}", p.name, p.version));
    let name = match &library.version {
        Some(version) => version.to_string(),
        None => "version unknown".to_owned(),
    };
    let value = format!(
        "{name}: {}, {} ({path}{})",
        library.tls,
        library.post_quantum,
        package.unwrap_or_default()
    );
    let share = match library.post_quantum {
        PostQuantum::Default => {
            " Its ClientHello carries a post-quantum key share, about 1.2 kB more: two segments, \
             too long for the SYN of a fast-open connection."
        }
        PostQuantum::Possible => {
            " A program that switches the post-quantum key share on sends about 1.2 kB more."
        }
        PostQuantum::No | PostQuantum::Unknown => "",
    };
    let (status, meaning) = match library.tls {
        TlsSupport::V1_3 => (
            CheckStatus::Good,
            format!("A fresh handshake costs one round trip; with early data, none.{share}"),
        ),
        TlsSupport::V1_2 => (
            CheckStatus::Problem,
            "A fresh handshake costs two round trips instead of one, on every new connection; no \
             early data."
                .to_owned(),
        ),
        TlsSupport::V1_0 => (
            CheckStatus::Problem,
            "Two round trips a handshake, and most servers refuse to speak it at all.".to_owned(),
        ),
        TlsSupport::Unknown => (
            CheckStatus::Unknown,
            "Nothing shows how many round trips a handshake costs.".to_owned(),
        ),
    };
    subject
        .found(status, value, meaning)
        .change_if(status == CheckStatus::Problem, make.remedy)
}

#[cfg(test)]
mod tests;
