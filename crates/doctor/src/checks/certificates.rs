//! The trusted certificates: where they are, and how many.

use crate::check::{Area, Check, CheckSubject};
use crate::root::FileIdentity;
use crate::scene::ExaminedSystem;

const BUNDLE: CheckSubject = CheckSubject::new("ca-bundle", Area::Tls, "Trusted certificates");

/// Where distributions keep the bundle, most common first.
const PLACES: [&str; 7] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];
/// PEM headers of a certificate (RFC 7468, and OpenSSL's own).
const BEGINNINGS: [&str; 2] = [
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN TRUSTED CERTIFICATE-----",
];
/// If there are fewer certificates than this, some public servers will not be trusted.
const USUAL_COUNT: usize = 100;

pub(super) fn examine(scene: &ExaminedSystem) -> Vec<Check> {
    vec![bundle(scene)]
}

fn bundle(scene: &ExaminedSystem) -> Check {
    let mut seen: Vec<FileIdentity> = Vec::new();
    for path in PLACES {
        let Ok(identity) = scene.root.identity(path) else {
            continue;
        };
        if seen.contains(&identity) {
            continue;
        }
        seen.push(identity);
        let Ok(text) = scene.root.read_text(path) else {
            continue;
        };
        let count = text
            .lines()
            .filter(|line| BEGINNINGS.contains(&line.trim()))
            .count();
        let value = format!("{count} in {path}");
        return match count {
            0 => BUNDLE
                .problem(value, "No server can be verified: HTTPS fails.")
                .change("update-ca-certificates, or reinstall ca-certificates"),
            1..USUAL_COUNT => BUNDLE.notice(
                value,
                "Fewer than browsers trust: quick to load, but some public servers will not be \
                 verified.",
            ),
            _ => BUNDLE.good(
                value,
                "Programs that load all of them when they start pay for it in client time before \
                 the first ClientHello; long-lived programs pay once.",
            ),
        };
    }
    BUNDLE
        .problem(
            "none found",
            "No server can be verified, unless a program brings its own certificates.",
        )
        .change("install ca-certificates")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    fn pem(count: usize) -> String {
        "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n".repeat(count)
    }

    #[test]
    fn counts_the_certificates_of_the_first_bundle() {
        let fake = fake::image(&[
            ("/etc/pki/tls/certs/ca-bundle.crt", &pem(140)),
            ("/etc/ssl/cert.pem", &pem(3)),
        ]);
        let check = fake.check(bundle);
        assert_eq!(check.value, "140 in /etc/pki/tls/certs/ca-bundle.crt");
        assert_eq!(check.status, CheckStatus::Good);
    }

    #[test]
    fn few_none_and_missing_differ() {
        let status = |text: &str| {
            let fake = fake::image(&[("/etc/ssl/cert.pem", text)]);
            fake.check(bundle).status
        };
        assert_eq!(status(&pem(3)), CheckStatus::Notice);
        assert_eq!(status("not PEM\n"), CheckStatus::Problem);
        assert_eq!(fake::image(&[]).check(bundle).value, "none found");
    }
}
