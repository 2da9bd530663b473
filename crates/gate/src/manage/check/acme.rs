//! `[acme]`: a CA that can be asked, names that can have certificates, and a store that keeps them.

use super::CheckReport;
use crate::config::{AcmeChallenge, Config, name_error};
use crate::judge::acme::AcmeClient;

/// If there are more names, they should share a certificate, which gate does not order.
const MAX_NAMES: usize = 100;
const MIN_ORDER_SECONDS: u64 = 10;

pub(super) fn check(config: &Config, report: &mut CheckReport) {
    let Some(acme) = &config.acme else {
        return;
    };
    let names = acme.all_names(&config.route);
    if names.is_empty() {
        let what = "there is no name; set acme.names, or the host of a route";
        report.error("acme.names", what);
    }
    if names.len() > MAX_NAMES {
        let what =
            format!("gate orders a certificate for each name, and there are more than {MAX_NAMES}");
        report.error("acme.names", what);
    }
    for (n, name) in acme.names.iter().enumerate() {
        if let Some(why) = name_error(name.trim_end_matches('.')) {
            report.error(format!("acme.names[{n}]"), why);
        }
    }
    if !acme.terms_agreed {
        let what = "most CAs register no account unless you have read their terms and agree; set it to true";
        report.warn("acme.terms_agreed", what);
    }
    for (n, contact) in acme.contact.iter().enumerate() {
        if !contact.starts_with("mailto:") && !contact.starts_with("tel:") {
            let what = "write it as a URL: \"mailto:ops@example.com\" (RFC 8555 §7.3)";
            report.error(format!("acme.contact[{n}]"), what);
        }
    }
    if acme.order_time.0.as_secs() < MIN_ORDER_SECONDS {
        let what = "an order takes longer; allow at least 10 s";
        report.error("acme.order_time", what);
    }
    if config.session.seal.is_empty() {
        let what =
            "keys are stored sealed, and there is no key to seal them with; add a [[session.seal]]";
        report.error("session.seal", what);
    }
    if config.session.store == "memory:" {
        let what = "each start would order all certificates again, and CAs limit that; use \"redb:/path/of/a/file\" or Redis";
        report.error("session.store", what);
    }
    if config.listen.https.is_empty() {
        report.error(
            "listen.https",
            "without such an address, [acme] has no effect",
        );
    }
    listeners(config, acme.challenge, report);
    if let Some(external) = &acme.external_account {
        report.secret("acme.external_account.key", &external.key);
        if external.id.is_empty() {
            report.error(
                "acme.external_account.id",
                "the CA issues it together with the key",
            );
        }
    }
    if let Some(ca) = &acme.ca {
        report.authority("acme.ca", ca);
    }
    if let Err(error) = AcmeClient::new(acme) {
        report.error("acme", error);
    }
}

/// The CA connects to fixed ports.
fn listeners(config: &Config, challenge: AcmeChallenge, report: &mut CheckReport) {
    let (key, addresses, port) = match challenge {
        AcmeChallenge::TlsAlpn => ("listen.https", &config.listen.https, 443),
        AcmeChallenge::Http => ("listen.http", &config.listen.http, 80),
    };
    if !addresses.iter().any(|address| address.port() == port) {
        let what = format!(
            "a public CA connects to port {port} for {}; forward that port to gate",
            challenge.as_str()
        );
        report.warn(key, what);
    }
}
