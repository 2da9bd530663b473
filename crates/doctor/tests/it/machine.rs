//! The examination of whatever machine runs the tests, through the public API: it completes,
//! whatever it is allowed to see.

use roundtrip_doctor::{Area, CheckStatus, DoctorReport, SCHEMA, examine, render};
use roundtrip_report::terminal::Style;

#[test]
fn examines_the_running_machine() {
    let checks = examine(None).unwrap();
    let areas = [
        Area::System,
        Area::FastOpen,
        Area::Tcp,
        Area::Udp,
        Area::Names,
    ];
    for area in areas {
        assert!(checks.iter().any(|check| check.area == area), "{area:?}");
    }
    assert!(checks.is_sorted_by_key(|check| check.area));
}

#[test]
fn values_are_those_of_the_kernel() {
    let checks = examine(None).unwrap();
    let value = |id: &str| checks.iter().find(|check| check.id == id).unwrap();
    let control = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    let check = value("tcp-congestion-control");
    match control {
        Ok(control) => assert!(check.value.starts_with(control.trim()), "{}", check.value),
        Err(_) => assert_eq!(check.status, CheckStatus::Unknown),
    }
    let tunnel = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun");
    assert_eq!(
        tunnel.is_ok(),
        value("tun-device").status == CheckStatus::Good
    );
}

#[test]
fn json_has_the_promised_keys() {
    let checks = examine(None).unwrap();
    let count = checks.len();
    let json = serde_json::to_value(DoctorReport::new(None, checks)).unwrap();
    assert_eq!(json["schema"], SCHEMA);
    assert!(json["root"].is_null());
    assert_eq!(json["checks"].as_array().unwrap().len(), count);
    let summary = json["summary"].as_object().unwrap();
    let sum: u64 = summary
        .values()
        .map(|number| number.as_u64().unwrap())
        .sum();
    assert_eq!(usize::try_from(sum).unwrap(), count);
    for key in [
        "id", "area", "title", "value", "status", "meaning", "change",
    ] {
        assert!(json["checks"][0].get(key).is_some(), "{key}");
    }
}

#[test]
fn text_and_json_agree_on_an_image() {
    let image = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(image.path().join("usr/lib64")).unwrap();
    let library = image.path().join("usr/lib64/libcrypto.so.1.0.2k");
    std::fs::write(library, "OpenSSL 1.0.2k-fips  26 Jan 2017\0").unwrap();
    let report = DoctorReport::new(Some(image.path()), examine(Some(image.path())).unwrap());
    let openssl = report
        .checks
        .iter()
        .find(|check| check.id == "tls-openssl")
        .unwrap();
    assert_eq!(openssl.status, CheckStatus::Problem);
    let text = render(
        &report.checks,
        Style {
            width: 100,
            ..Style::default()
        },
    );
    assert!(
        text.contains("  problem OpenSSL: 1.0.2k-fips: TLS 1.2 at most"),
        "{text}"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["root"], image.path().to_str().unwrap());
}

#[test]
fn a_root_that_is_not_there_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let error = examine(Some(&directory.path().join("nothing"))).unwrap_err();
    assert!(error.to_string().starts_with("cannot examine "), "{error}");
}
