//! Language runtimes with their own TLS: Go, Java, Node; and Python, which uses OpenSSL.

mod files;

use crate::check::{Area, Check, CheckStatus, CheckSubject};
use crate::root::FileIdentity;
use crate::scene::ExaminedSystem;
use files::{RUNTIMES, Runtime};

pub(super) fn examine(scene: &ExaminedSystem) -> Vec<Check> {
    let mut seen: Vec<FileIdentity> = Vec::new();
    let mut checks = Vec::new();
    for runtime in &RUNTIMES {
        let patterns = runtime.files.iter();
        for path in patterns.flat_map(|pattern| scene.root.glob(pattern)) {
            let Ok(identity) = scene.root.identity(&path) else {
                continue;
            };
            if !seen.contains(&identity) {
                seen.push(identity);
                checks.extend(judge(scene, runtime, &path));
            }
        }
    }
    checks
}

fn judge(scene: &ExaminedSystem, runtime: &Runtime, path: &str) -> Option<Check> {
    let found = (runtime.read)(scene, path)?;
    let status = if found.tls_1_3 {
        CheckStatus::Good
    } else {
        CheckStatus::Problem
    };
    let meaning = if found.tls_1_3 {
        format!("A fresh handshake costs one round trip. {}", found.remark)
    } else {
        format!(
            "A fresh handshake costs two round trips instead of one. {}",
            found.remark
        )
    };
    let value = format!("{} ({path})", found.value);
    let check = runtime.subject().found(status, value, meaning.trim_end());
    Some(check.change_if(!found.tls_1_3, runtime.remedy))
}

impl Runtime {
    fn subject(&self) -> CheckSubject {
        CheckSubject::new(self.id, Area::Tls, self.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::fake;

    fn with(path: &str, content: &str) -> Check {
        let mut checks = examine(&fake::image(&[(path, content)]).scene);
        assert_eq!(checks.len(), 1, "{checks:#?}");
        checks.remove(0)
    }

    #[test]
    fn go_by_its_version_file() {
        let go = |version| with("/usr/local/go/VERSION", version);
        assert!(
            go("go1.24.1\ntime 2025\n")
                .value
                .starts_with("Go 1.24.1, TLS 1.3, post-quantum")
        );
        assert!(
            go("go1.22")
                .value
                .starts_with("Go 1.22, TLS 1.3, no post-quantum")
        );
        assert_eq!(go("go1.11.13").status, CheckStatus::Problem);
    }

    #[test]
    fn java_by_its_release_file() {
        let java = |version: &str| {
            let text = format!("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"{version}\"\n");
            with("/usr/lib/jvm/java/release", &text).status
        };
        assert_eq!(
            ["17.0.15", "11.0.2", "1.8.0_345"].map(java),
            [CheckStatus::Good; 3]
        );
        assert_eq!(
            ["1.8.0_211", "1.7.0_80", "9.0.4"].map(java),
            [CheckStatus::Problem; 3]
        );
    }

    #[test]
    fn node_by_its_bytes() {
        let bytes = "\0node-v20.11.0\0OpenSSL 3.0.13 30 Jan 2024\0";
        let check = with("/usr/local/bin/node", bytes);
        assert!(
            check
                .value
                .starts_with("Node 20.11.0 with OpenSSL 3.0.13, TLS 1.3")
        );
        let prose =
            "OpenSSL 3.0 legacy\0OpenSSL 3.0.19 27 Jan 2026\0node-v20.20.2-headers.tar.gz\0";
        let check = with("/usr/bin/node", prose);
        assert!(
            check
                .value
                .starts_with("Node 20.20.2 with OpenSSL 3.0.19, "),
            "{}",
            check.value
        );
        let old = with(
            "/usr/bin/node",
            "node-v10.24.1\0OpenSSL 1.1.1k  25 Mar 2021\0",
        );
        assert_eq!(old.status, CheckStatus::Problem, "{old:#?}");
    }

    #[test]
    fn python_by_the_library_it_needs() {
        let path = "/usr/lib/python3.11/lib-dynload/_ssl.cpython-311-x86_64-linux-gnu.so";
        let check = with(path, "\0libssl.so.3\0libcrypto.so.3\0");
        assert!(
            check.value.starts_with("Python 3.11 with libssl.so.3"),
            "{}",
            check.value
        );
        let old = with(
            "/usr/lib/python2.7/lib-dynload/_ssl.so",
            "libssl.so.1.0.0\0",
        );
        assert_eq!(old.status, CheckStatus::Problem);
    }

    #[test]
    fn nonsense_is_not_a_runtime() {
        for path in [
            "/usr/local/go/VERSION",
            "/usr/lib/jvm/x/release",
            "/usr/bin/node",
        ] {
            let fake = fake::image(&[(path, "nonsense 1.2.3\n")]);
            assert!(examine(&fake.scene).is_empty(), "{path}");
        }
    }
}
