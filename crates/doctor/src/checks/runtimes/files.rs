//! Finds the runtimes and their versions, and knows which versions support TLS 1.3.
//!
//! TLS 1.3 is on by default since Go 1.13, JDK 11 and 8u341, and Node 12.

use crate::scan;
use crate::scene::ExaminedSystem;
use crate::version::SoftwareVersion;

/// A language runtime and where its version is found.
pub(super) struct Runtime {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// Files that contain the version.
    pub(super) files: &'static [&'static str],
    pub(super) read: fn(&ExaminedSystem, &str) -> Option<FoundVersion>,
    pub(super) remedy: &'static str,
}

/// The version found in a file.
pub(super) struct FoundVersion {
    pub(super) value: String,
    pub(super) tls_1_3: bool,
    pub(super) remark: &'static str,
}

pub(super) const RUNTIMES: [Runtime; 4] = [
    Runtime {
        id: "runtime-go",
        title: "Go",
        files: &[
            "/usr/local/go/VERSION",
            "/usr/lib/go*/VERSION",
            "/usr/lib/golang/VERSION",
        ],
        read: go,
        remedy: "rebuild programs with a newer Go",
    },
    Runtime {
        id: "runtime-java",
        title: "Java",
        files: &[
            "/usr/lib/jvm/*/release",
            "/opt/*/release",
            "/usr/local/openjdk*/release",
        ],
        read: java,
        remedy: "JDK 11 or later, or 8u341; before that -Djdk.tls.client.protocols=TLSv1.3 (8u261)",
    },
    Runtime {
        id: "runtime-node",
        title: "Node",
        files: &[
            "/usr/local/bin/node",
            "/usr/bin/node",
            "/usr/lib/libnode.so*",
            "/usr/lib/*-linux-*/libnode.so*",
        ],
        read: node,
        remedy: "Node 12 or later",
    },
    Runtime {
        id: "runtime-python",
        title: "Python",
        files: &[
            "/usr/lib/python*/lib-dynload/_ssl*.so",
            "/usr/lib64/python*/lib-dynload/_ssl*.so",
            "/usr/local/lib/python*/lib-dynload/_ssl*.so",
        ],
        read: python,
        remedy: "a base image with OpenSSL 1.1.1 or later",
    },
];

fn go(scene: &ExaminedSystem, path: &str) -> Option<FoundVersion> {
    let text = scene.root.read_text(path).ok()?;
    let version = SoftwareVersion::parse(text.trim_start().strip_prefix("go")?)?;
    let post_quantum = if version.at_least(1, 24, 0) {
        "post-quantum by default"
    } else {
        "no post-quantum"
    };
    let tls_1_3 = version.at_least(1, 13, 0);
    let tls = spoken(tls_1_3);
    Some(FoundVersion {
        value: format!("Go {version}, {tls}, {post_quantum}"),
        tls_1_3,
        remark: "Programs it built carry their own TLS and resolver, of the version that built \
                 them.",
    })
}

fn java(scene: &ExaminedSystem, path: &str) -> Option<FoundVersion> {
    let text = scene.root.read_text(path).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    let text = line.trim_matches(['"', ' ']);
    // The first release of a JDK is called 21, not 21.0.
    let version =
        SoftwareVersion::parse(text).or_else(|| SoftwareVersion::parse(&format!("{text}.0")))?;
    let tls_1_3 = match (version.major(), version.minor()) {
        (1, 8) => update(text) >= 341,
        (major, _) => major >= 11,
    };
    Some(FoundVersion {
        value: format!("Java {text}, {}", spoken(tls_1_3)),
        tls_1_3,
        remark: "The first handshake of a process also waits for classes to load and compile.",
    })
}

fn node(scene: &ExaminedSystem, path: &str) -> Option<FoundVersion> {
    let file = scene.root.open_file(path).ok()?;
    let found = scan::scan(file, scan::MAX_PROGRAM_BYTES, &["node-v", "OpenSSL "]).ok()?;
    let mut versions = found.iter().map(|captures| {
        // One of the texts is `node-v20.11.0-headers.tar.gz`; others are versions of other
        // software.
        let texts = captures.iter().filter_map(|text| text.split('-').next());
        let versions = texts.filter_map(SoftwareVersion::parse);
        versions.max_by_key(SoftwareVersion::numbers)
    });
    let version = versions.next()??;
    let library = versions.next().flatten();
    let library = library.map_or_else(
        || "the system's OpenSSL".to_owned(),
        |library| format!("OpenSSL {library}"),
    );
    let tls_1_3 = version.at_least(12, 0, 0);
    Some(FoundVersion {
        value: format!("Node {version} with {library}, {}", spoken(tls_1_3)),
        tls_1_3,
        remark: "",
    })
}

fn python(scene: &ExaminedSystem, path: &str) -> Option<FoundVersion> {
    let file = scene.root.open_file(path).ok()?;
    let found = scan::scan(file, scan::MAX_LIBRARY_BYTES, &["libssl.so."]).ok()?;
    let library = found.first()?.first()?;
    let (_, after) = path.split_once("/python")?;
    let (version, _) = after.split_once('/')?;
    let tls_1_3 = !library.starts_with("1.0") && !library.starts_with("10");
    Some(FoundVersion {
        value: format!(
            "Python {version} with libssl.so.{library}, {}",
            spoken(tls_1_3)
        ),
        tls_1_3,
        remark: "It speaks what that library speaks; each new context loads the certificates again.",
    })
}

fn spoken(tls_1_3: bool) -> &'static str {
    if tls_1_3 {
        "TLS 1.3"
    } else {
        "TLS 1.2 at most"
    }
}

/// The update number: 345 in `1.8.0_345`.
fn update(version: &str) -> u32 {
    let after = version.split_once('_').map_or("", |(_, update)| update);
    let digits = after
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(after.len());
    after
        .get(..digits)
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}
