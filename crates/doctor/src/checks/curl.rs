//! curl and its library: version, TLS backend, HTTP versions. They are read from the files without
//! running them, so that images can be examined too.

use crate::check::{Area, Check, CheckSubject};
use crate::checks::libraries::shared_objects;
use crate::root::FileIdentity;
use crate::scan::{self, Captures};
use crate::scene::ExaminedSystem;
use crate::version::SoftwareVersion;

const TOOL: CheckSubject = CheckSubject::new("curl", Area::Tls, "curl");
const LIBRARY: CheckSubject = CheckSubject::new("libcurl", Area::Tls, "libcurl");

const PROGRAMS: [&str; 4] = [
    "/usr/bin/curl",
    "/usr/local/bin/curl",
    "/bin/curl",
    "/opt/*/bin/curl",
];
const VERSION_OF_TOOL: &str = "curl ";
const VERSION_OF_LIBRARY: &str = "libcurl/";

/// The TLS backends: a text that only a build with it contains (the name of a needed library, or in
/// a static build the library's version text), and its name.
const BACKENDS: [(&str, &str); 8] = [
    ("libssl.so.", "OpenSSL"),
    ("libgnutls.so.", "GnuTLS"),
    ("libnss3.so", "NSS"),
    ("libmbedtls.so", "Mbed TLS"),
    ("libwolfssl.so", "wolfSSL"),
    ("rustls-ffi", "rustls"),
    ("OpenSSL 1.", "OpenSSL 1.x built in"),
    ("OpenSSL 3.", "OpenSSL 3.x built in"),
];
const HTTP_2: &str = "nghttp2";
const HTTP_3: [&str; 2] = ["nghttp3", "quiche"];
const LINKED: &str = "libcurl.so.";

pub(super) fn examine(scene: &ExaminedSystem) -> Vec<Check> {
    let programs = PROGRAMS.iter().flat_map(|pattern| scene.root.glob(pattern));
    let libraries = shared_objects(scene, "libcurl*.so*");
    let mut seen: Vec<FileIdentity> = Vec::new();
    let mut checks = Vec::new();
    for (subject, path) in programs
        .map(|path| (TOOL, path))
        .chain(libraries.into_iter().map(|path| (LIBRARY, path)))
    {
        let Ok(identity) = scene.root.identity(&path) else {
            continue;
        };
        if !seen.contains(&identity) {
            seen.push(identity);
            checks.extend(file(scene, subject, &path));
        }
    }
    checks
}

fn file(scene: &ExaminedSystem, subject: CheckSubject, path: &str) -> Option<Check> {
    let mut markers = vec![VERSION_OF_TOOL, VERSION_OF_LIBRARY, LINKED, HTTP_2];
    markers.extend(HTTP_3);
    markers.extend(BACKENDS.iter().map(|(marker, _)| *marker));
    let scanned = scene.root.open_file(path).and_then(|file| {
        scan::scan(file, scan::MAX_LIBRARY_BYTES, &markers).map_err(|error| (&error).into())
    });
    match scanned {
        Ok(captures) => judge(subject, path, &FoundMarkers { markers, captures }),
        Err(lack) => Some(subject.unknown(
            format!("{path} {lack}"),
            "Nothing shows which HTTP versions it speaks.",
        )),
    }
}

fn judge(subject: CheckSubject, path: &str, found: &FoundMarkers) -> Option<Check> {
    let version = [VERSION_OF_LIBRARY, VERSION_OF_TOOL]
        .iter()
        .find_map(|marker| found.version(marker))?;
    // A tool linked against the library supports what the library supports.
    if subject.id == TOOL.id && found.has(LINKED) {
        let meaning = "It speaks what libcurl speaks, which is shown next.";
        return Some(subject.good(format!("{version} ({path})"), meaning));
    }
    let backends = BACKENDS.iter().filter(|(marker, _)| found.has(marker));
    let backends: Vec<&str> = backends.map(|(_, name)| *name).collect();
    let tls = if backends.is_empty() {
        "no TLS found".to_owned()
    } else {
        backends.join(", ")
    };
    let http_2 = found.has(HTTP_2);
    let http_3 = HTTP_3.iter().any(|marker| found.has(marker));
    let spoken = match (http_2, http_3) {
        (true, true) => "HTTP/1.1, 2 and 3",
        (true, false) => "HTTP/1.1 and 2, no HTTP/3",
        (false, true) => "HTTP/1.1 and 3",
        (false, false) => "HTTP/1.1 only",
    };
    let value = format!("{version}: {tls}; {spoken} ({path})");
    if http_3 {
        return Some(subject.good(
            value,
            "Can save a round trip with HTTP/3 where servers speak it.",
        ));
    }
    let meaning = if http_2 {
        "Cannot try HTTP/3, which sets up a connection in one round trip instead of two."
    } else {
        "One request at a time on a connection: parallel requests need a handshake each."
    };
    let change = "a curl built with nghttp3 and ngtcp2 (curl -V lists HTTP3)";
    Some(subject.notice(value, meaning).change(change))
}

/// What a scan found, by marker.
struct FoundMarkers<'a> {
    markers: Vec<&'a str>,
    captures: Captures,
}

impl FoundMarkers<'_> {
    fn after(&self, marker: &str) -> &[String] {
        let position = self.markers.iter().position(|m| *m == marker);
        let captures = position.and_then(|at| self.captures.get(at));
        captures.map_or(&[], Vec::as_slice)
    }

    fn has(&self, marker: &str) -> bool {
        !self.after(marker).is_empty()
    }

    fn version(&self, marker: &str) -> Option<SoftwareVersion> {
        self.after(marker)
            .iter()
            .find_map(|text| SoftwareVersion::parse(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    fn with(files: &[(&str, &str)]) -> Vec<Check> {
        examine(&fake::image(files).scene)
    }

    #[test]
    fn a_linked_tool_points_to_its_library() {
        let checks = with(&[
            (
                "/usr/bin/curl",
                "\0libcurl.so.4\0curl 7.88.1 (x86_64-pc-linux-gnu) %s\0",
            ),
            (
                "/usr/lib/x86_64-linux-gnu/libcurl.so.4.8.0",
                "\0libnghttp2.so.14\0libssl.so.3\0libcurl/7.88.1\0",
            ),
        ]);
        assert_eq!(checks[0].value, "7.88.1 (/usr/bin/curl)");
        assert!(
            checks[1]
                .value
                .starts_with("7.88.1: OpenSSL; HTTP/1.1 and 2, no HTTP/3")
        );
        assert_eq!(checks[1].status, CheckStatus::Notice);
    }

    #[test]
    fn a_static_tool_speaks_for_itself() {
        let bytes = "libcurl/8.15.0\0nghttp2/%s\0nghttp3/%s\0OpenSSL 3.5.1 1 Jul 2025\0";
        let checks = with(&[("/usr/local/bin/curl", bytes)]);
        assert!(
            checks[0]
                .value
                .starts_with("8.15.0: OpenSSL 3.x built in; HTTP/1.1, 2 and 3")
        );
        assert_eq!(checks[0].status, CheckStatus::Good);
    }

    #[test]
    fn an_old_library_has_http_1_only() {
        let checks = with(&[("/usr/lib64/libcurl.so.4", "libcurl/7.29.0\0libnss3.so\0")]);
        assert!(checks[0].value.starts_with("7.29.0: NSS; HTTP/1.1 only"));
    }

    #[test]
    fn a_script_called_curl_is_not_curl() {
        assert!(with(&[("/usr/bin/curl", "#!/bin/sh\nexec real-curl \"$@\"\n")]).is_empty());
        assert!(with(&[]).is_empty());
    }
}
