//! OpenSSL's configuration file, in which a distribution or an administrator may have disabled what
//! the library supports.

use crate::check::{Area, Check, CheckSubject};
use crate::scene::ExaminedSystem;

const CONFIG: CheckSubject =
    CheckSubject::new("openssl-config", Area::Tls, "OpenSSL's configuration");

const PLACES: [&str; 4] = [
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/openssl.cnf",
    "/usr/lib/ssl/openssl.cnf",
    "/usr/local/ssl/openssl.cnf",
];
/// The commands of `SSL_CONF_cmd(3)` that affect the handshake.
const COMMANDS: [&str; 7] = [
    "MinProtocol",
    "MaxProtocol",
    "Protocol",
    "CipherString",
    "Ciphersuites",
    "Groups",
    "Options",
];
/// Values of `MaxProtocol` that exclude TLS 1.3.
const OLD: [&str; 5] = ["SSLv3", "TLSv1", "TLSv1.0", "TLSv1.1", "TLSv1.2"];

pub(super) fn examine(scene: &ExaminedSystem) -> Vec<Check> {
    let texts = PLACES.iter().map(|path| (path, scene.root.read_text(path)));
    let found = texts
        .into_iter()
        .find_map(|(path, text)| Some((path, text.ok()?)));
    found
        .map(|(path, text)| config(path, &text))
        .into_iter()
        .collect()
}

fn config(path: &str, text: &str) -> Check {
    let settings: Vec<(&str, &str)> = text.lines().filter_map(setting).collect();
    let old = settings.iter().any(|(name, value)| match *name {
        "MaxProtocol" => OLD.contains(value),
        "Protocol" => !allows_tls_1_3(value),
        _ => false,
    });
    let shown = settings
        .iter()
        .map(|(name, value)| format!("{name} = {value}"));
    let shown = shown.collect::<Vec<_>>().join("; ");
    if old {
        return CONFIG
            .problem(
                shown,
                "TLS 1.3 is switched off for programs that use the system's configuration: a \
                 fresh handshake costs two round trips instead of one.",
            )
            .change(format!("remove MaxProtocol or Protocol from {path}"));
    }
    let value = if shown.is_empty() {
        format!("{path} restricts nothing")
    } else {
        shown
    };
    CONFIG.good(value, "TLS 1.3 is not switched off here.")
}

/// Whether a list such as `-ALL,TLSv1.2` leaves TLS 1.3 enabled; later words override earlier ones.
fn allows_tls_1_3(protocols: &str) -> bool {
    protocols
        .split(',')
        .fold(true, |allowed, word| match word.trim() {
            "-ALL" | "-TLSv1.3" => false,
            "ALL" | "+ALL" | "TLSv1.3" | "+TLSv1.3" => true,
            _ => allowed,
        })
}

/// Parses a line `Command = value` with one of the commands. OpenSSL ignores case, and prefixes
/// such as `TLS.` select a protocol.
fn setting(line: &str) -> Option<(&'static str, &str)> {
    let line = line.split('#').next()?;
    let (name, value) = line.split_once('=')?;
    let name = name.trim().rsplit('.').next()?;
    let command = COMMANDS
        .iter()
        .find(|command| command.eq_ignore_ascii_case(name))?;
    Some((command, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::scene::fake;

    fn with(text: &str) -> Check {
        let fake = fake::image(&[("/etc/ssl/openssl.cnf", text)]);
        examine(&fake.scene).remove(0)
    }

    #[test]
    fn a_maximum_below_tls_1_3_is_a_problem() {
        assert_eq!(
            with("[x]\nMaxProtocol = TLSv1.2 # why\n").status,
            CheckStatus::Problem
        );
        assert_eq!(
            with("system.maxprotocol=TLSv1.2\n").status,
            CheckStatus::Problem
        );
        assert_eq!(
            with("Protocol = ALL,-TLSv1.3\n").status,
            CheckStatus::Problem
        );
        let only = |list: &str| with(&format!("Protocol = {list}\n")).status;
        assert_eq!(only("-ALL,TLSv1.2"), CheckStatus::Problem);
        assert_eq!(only("-ALL, TLSv1.3"), CheckStatus::Good);
        assert_eq!(with("# MaxProtocol = TLSv1.2\n").status, CheckStatus::Good);
        assert_eq!(with("MaxProtocol = TLSv1.3\n").status, CheckStatus::Good);
    }

    #[test]
    fn shows_what_is_set() {
        let check = with("MinProtocol = TLSv1.2\nCipherString = DEFAULT@SECLEVEL=2\nother = 1\n");
        assert_eq!(
            check.value,
            "MinProtocol = TLSv1.2; CipherString = DEFAULT@SECLEVEL=2"
        );
        assert!(with("").value.contains("restricts nothing"));
        assert!(examine(&fake::image(&[]).scene).is_empty());
    }
}
