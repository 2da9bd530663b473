//! Names, files that are replaced, and files that cannot be used.

use std::fs;
use std::path::Path;

use rustls::crypto::aws_lc_rs::default_provider;

use super::*;

fn write(folder: &Path, name: &str, names: &[&str]) -> config::CertificateFiles {
    let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let setting = config::CertificateFiles {
        chain: folder.join(format!("{name}.pem")),
        key: folder.join(format!("{name}.key")),
    };
    fs::write(&setting.chain, made.cert.pem()).unwrap();
    fs::write(&setting.key, made.signing_key.serialize_pem()).unwrap();
    for path in [&setting.key, &setting.chain] {
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(path, private).unwrap();
    }
    setting
}

fn load(settings: &[config::CertificateFiles]) -> Result<Certificates, GateError> {
    Certificates::load(settings, &[], Arc::new(default_provider()), None)
}

fn shown(certificates: &Certificates, name: Option<&str>) -> Vec<String> {
    names(&certificates.choice().choose(name).unwrap())
}

#[test]
fn names_choose_and_the_first_is_for_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [
        write(folder.path(), "a", &["a.test"]),
        write(folder.path(), "b", &["b.test", "*.B.test"]),
        write(folder.path(), "c", &["deep.b.test"]),
    ];
    let certificates = load(&settings).unwrap();
    for (asked, expected) in [
        (None, "a.test"),
        (Some("a.test"), "a.test"),
        (Some("unknown.test"), "a.test"),
        (Some("b.test"), "b.test"),
        (Some("X.b.TEST"), "b.test"),
        (Some("deep.b.test"), "deep.b.test"),
        (Some("x.y.b.test"), "a.test"),
        (Some("x.a.test"), "a.test"),
        (Some("test"), "a.test"),
        (Some("b.test."), "b.test"),
        (Some("X.b.test."), "b.test"),
        (Some("deep.b.test."), "deep.b.test"),
        (Some("b.test.."), "a.test"),
        (Some("."), "a.test"),
    ] {
        assert_eq!(shown(&certificates, asked)[0], expected, "{asked:?}");
    }
}

#[test]
fn a_replaced_file_is_taken_and_a_broken_one_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [
        write(folder.path(), "a", &["a.test"]),
        write(folder.path(), "b", &["b.test"]),
    ];
    let certificates = load(&settings).unwrap();
    assert!(certificates.look().is_empty() && certificates.look().is_empty());

    write(folder.path(), "b", &["new.test"]);
    assert!(
        certificates.look().is_empty(),
        "it may still be being written"
    );
    assert_eq!(certificates.look()[0].as_ref().unwrap(), &settings[1].chain);
    assert_eq!(shown(&certificates, Some("new.test")), ["new.test"]);
    assert!(certificates.look().is_empty());

    fs::write(&settings[1].chain, "no certificate").unwrap();
    assert!(certificates.look().is_empty());
    let told = certificates.look()[0].as_ref().unwrap_err().to_string();
    assert!(told.contains("b.pem"), "{told}");
    assert!(certificates.look().is_empty(), "said once");
    assert_eq!(shown(&certificates, Some("new.test")), ["new.test"]);

    write(folder.path(), "b", &["third.test"]);
    certificates.look();
    assert!(certificates.look()[0].is_ok());
    assert_eq!(shown(&certificates, Some("third.test")), ["third.test"]);
}

#[test]
fn errors_name_the_file_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(folder.path(), "good", &["a.test"]);
    let other = write(folder.path(), "other", &["b.test"]);
    let refused = |chain: &Path, key: &Path| {
        let setting = config::CertificateFiles {
            chain: chain.to_owned(),
            key: key.to_owned(),
        };
        load(&[setting]).unwrap_err().to_string()
    };
    let mismatch = refused(&good.chain, &other.key);
    assert!(mismatch.contains("other.key"), "{mismatch}");
    assert!(refused(&good.key, &good.key).contains("0 certificates"));
    assert!(refused(&good.chain, &good.chain).contains("no private key"));
    assert!(refused(&folder.path().join("none"), &good.key).contains("none"));
}

#[test]
fn without_files_one_is_made_for_the_addresses() {
    let addresses = ["192.0.2.7".parse().unwrap(), "0.0.0.0".parse().unwrap()];
    let made = Certificates::load(&[], &addresses, Arc::new(default_provider()), None).unwrap();
    assert!(
        made.self_made()
            .unwrap()
            .starts_with("-----BEGIN CERTIFICATE-----")
    );
    assert_eq!(
        shown(&made, None),
        ["localhost", "127.0.0.1", "::1", "192.0.2.7"]
    );
}
