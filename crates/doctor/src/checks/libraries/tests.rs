//! Libraries made of bytes, with versions embedded as in real ones.

use super::*;
use crate::scene::fake::{self, Fake};

fn with(path: &str, bytes: &str) -> Check {
    let fake = fake::image(&[(path, bytes)]);
    let mut checks = examine(&fake.scene);
    assert_eq!(checks.len(), 1, "{checks:#?}");
    checks.remove(0)
}

#[test]
fn the_old_image_speaks_tls_1_2_only() {
    let bytes = "\x7fELF\0MD5 part of OpenSSL 1.0.2k-fips  26 Jan 2017\0";
    let check = with("/usr/lib64/libcrypto.so.1.0.2k", bytes);
    assert_eq!(check.id, "tls-openssl");
    assert!(
        check
            .value
            .starts_with("1.0.2k-fips: TLS 1.2 at most, no post-quantum")
    );
    assert_eq!(check.status, CheckStatus::Problem);
    assert!(check.meaning.contains("two round trips"));
    assert!(check.change.is_some());
}

#[test]
fn what_openssl_speaks_depends_on_its_version() {
    let value = |bytes| with("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", bytes).value;
    assert!(value("\0OpenSSL 1.0.0t 3 Dec 2015\0").starts_with("1.0.0t: TLS 1.0 at most"));
    assert!(value("\0OpenSSL 1.1.1w  11 Sep 2023\0").starts_with("1.1.1w: TLS 1.3, no post"));
    assert!(value("\0OpenSSL 3.0.17 1 Jul 2025\0").starts_with("3.0.17: TLS 1.3, no post"));
    let prose = value("\0enable OpenSSL 3.0 legacy provider\0OpenSSL 3.0.17 1 Jul 2025\0");
    assert!(prose.starts_with("3.0.17: "), "{prose}");
    let new = value("\0X25519MLKEM768\0OpenSSL 3.5.1 1 Jul 2025\0");
    assert!(
        new.starts_with("3.5.1: TLS 1.3, post-quantum by default"),
        "{new}"
    );
}

#[test]
fn descendants_of_openssl_are_told_apart() {
    let id = |bytes| with("/usr/local/lib/libcrypto.so", bytes).id;
    assert_eq!(
        id("OpenSSL 1.1.1 (compatible; BoringSSL)\0"),
        "tls-boringssl"
    );
    assert_eq!(
        id("OpenSSL 1.1.1 (compatible; AWS-LC 1.30.0)\0"),
        "tls-aws-lc"
    );
    assert_eq!(
        id("LibreSSL 3.8.2\0part of OpenSSL 1.0.1\0"),
        "tls-libressl"
    );
}

#[test]
fn other_makes() {
    let value = |path, bytes| with(path, bytes).value;
    let gnutls = value("/lib/libgnutls.so.30", "Enabled GnuTLS 3.7.9 logging...\0");
    assert!(
        gnutls.starts_with("3.7.9: TLS 1.3, no post-quantum"),
        "{gnutls}"
    );
    let gnutls = value("/lib/libgnutls.so.30", "Enabled GnuTLS 3.3.29 logging...\0");
    assert!(gnutls.starts_with("3.3.29: TLS 1.2 at most"), "{gnutls}");
    let nss = value("/usr/lib64/libnss3.so", "Version: NSS 3.87.1\0");
    assert!(nss.starts_with("3.87.1: TLS 1.3, no post-quantum"), "{nss}");
    let nss = value("/usr/lib64/libnss3.so", "$Header: NSS 3.118  Nov 2025\0");
    assert!(
        nss.starts_with("3.118: TLS 1.3, post-quantum by default"),
        "{nss}"
    );
    let mbed = value("/usr/lib/libmbedcrypto.so.7", "mbed TLS 2.28.3\0");
    assert!(mbed.starts_with("2.28.3: TLS 1.2 at most"), "{mbed}");
    let wolf = value("/usr/lib/libwolfssl.so.35", "wolfSSL 5.6.6\0TLSv1.3\0");
    assert!(
        wolf.starts_with("5.6.6: TLS 1.3, post-quantum unknown"),
        "{wolf}"
    );
}

#[test]
fn one_file_under_several_names_is_named_once_with_its_package() {
    let fake = fake::image(&[
        ("/usr/lib/libcrypto.so.3", "OpenSSL 3.0.17 1 Jul 2025\0"),
        (
            "/var/lib/dpkg/status",
            "Package: libssl3\nStatus: install ok installed\nVersion: 3.0.17-1~deb12u2\n",
        ),
    ]);
    link(&fake, "libcrypto.so.3", "usr/lib/libcrypto.so");
    link(&fake, "usr/lib", "lib");
    let checks = examine(&fake.scene);
    assert_eq!(checks.len(), 1, "{checks:#?}");
    assert!(
        checks[0]
            .value
            .ends_with("package libssl3 3.0.17-1~deb12u2)")
    );
}

#[test]
fn a_link_out_of_the_image_is_not_followed() {
    let outside = fake::image(&[("/libcrypto.so", "OpenSSL 3.0.17 1 Jul 2025\0")]);
    let fake = fake::image(&[("/usr/lib/other", "")]);
    let target = outside.path("libcrypto.so");
    link(&fake, target.to_str().unwrap(), "usr/lib/libcrypto.so");
    assert_eq!(examine(&fake.scene)[0].id, "tls-libraries");
}

#[test]
fn two_versions_are_two_findings() {
    let fake = fake::image(&[
        (
            "/usr/lib64/libcrypto.so.10",
            "OpenSSL 1.0.2k  26 Jan 2017\0",
        ),
        ("/opt/app/lib/libcrypto.so.3", "OpenSSL 3.5.1 1 Jul 2025\0"),
    ]);
    let status: Vec<_> = examine(&fake.scene).iter().map(|c| c.status).collect();
    assert_eq!(status, [CheckStatus::Problem, CheckStatus::Good]);
}

#[test]
fn a_file_with_a_librarys_name_need_not_be_one() {
    for bytes in [
        "",
        "OpenSSL \0OpenSSL x.y\0",
        "OpenSSL 99999999999999999999.1\0",
    ] {
        assert_eq!(
            with("/lib/libcrypto.so", bytes).id,
            "tls-libraries",
            "{bytes:?}"
        );
    }
    let fake = fake::image(&[("/lib/libcrypto.so.3/a-directory", "")]);
    assert_eq!(examine(&fake.scene)[0].status, CheckStatus::Unknown);
}

fn link(fake: &Fake, target: &str, path: &str) {
    std::os::unix::fs::symlink(target, fake.path(path)).unwrap();
}
