//! Explains why a namespace cannot use a congestion control: only the host decides which ones other
//! namespaces can choose. `namespace` writes the setting itself.

use std::fmt;
use std::io;

pub(crate) const SETTING: &str = "net.ipv4.tcp_congestion_control";
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// The kernel's lists are shorter than this, in bytes.
const MAX_LIST_BYTES: usize = 1024;

/// The host's congestion controls, as far as they can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CongestionControls {
    /// The algorithms that every namespace can choose, separated by spaces.
    allowed: String,
    /// The algorithms that the kernel has loaded, separated by spaces.
    available: String,
}

impl CongestionControls {
    /// Reads the lists if `error` is about the congestion control setting; `None` for other errors.
    pub(crate) fn after(setting: &str, error: &io::Error) -> Option<Self> {
        let about = [io::ErrorKind::PermissionDenied, io::ErrorKind::NotFound];
        (setting == SETTING && about.contains(&error.kind())).then(|| Self {
            allowed: read(ALLOWED),
            available: read(AVAILABLE),
        })
    }

    fn is_loaded(&self, name: &str) -> bool {
        self.available.split(' ').any(|known| known == name)
    }
}

/// The content of a `/proc` file on one line; empty if it cannot be read.
fn read(file: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(MAX_LIST_BYTES).collect()
}

/// Explains why the requested congestion control is refused, and what to do.
pub(crate) struct CongestionAdvice<'a>(pub(crate) &'a str, pub(crate) &'a CongestionControls);

impl fmt::Display for CongestionAdvice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(wanted, controls) = self;
        let known = !controls.allowed.is_empty();
        let allowed = if known {
            &controls.allowed
        } else {
            "those in net.ipv4.tcp_allowed_congestion_control"
        };
        if !controls.available.is_empty() && !controls.is_loaded(wanted) {
            return write!(
                f,
                "the kernel has not loaded it (loaded are {}): modprobe tcp_{wanted} on the host, or choose one that namespaces can use: {allowed}",
                controls.available
            );
        }
        write!(
            f,
            "the host does not let namespaces use it, only {allowed}: choose one of these"
        )?;
        if known {
            write!(
                f,
                ", or allow it on the host, as root: sysctl -w net.ipv4.tcp_allowed_congestion_control='{allowed} {wanted}'"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(wanted: &str, allowed: &str) -> String {
        let controls = CongestionControls {
            allowed: allowed.into(),
            available: "reno bbr cubic".into(),
        };
        CongestionAdvice(wanted, &controls).to_string()
    }

    #[test]
    fn allowed_controls_are_listed_with_the_way_to_allow_others() {
        let restricted = told("cubic", "reno bbr");
        assert!(
            restricted.contains("only reno bbr: choose one of these"),
            "{restricted}"
        );
        assert!(restricted.contains("='reno bbr cubic'"), "{restricted}");
        let missing = told("vegas", "reno bbr");
        assert!(missing.contains("modprobe tcp_vegas"), "{missing}");
        assert!(missing.ends_with("can use: reno bbr"), "{missing}");
        let unknown = told("cubic", "");
        assert!(
            unknown.contains("tcp_allowed_congestion_control"),
            "{unknown}"
        );
        assert!(!unknown.contains("sysctl -w"), "{unknown}");
    }

    #[test]
    fn other_errors_and_settings_are_left_alone() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let busy = io::Error::from(io::ErrorKind::ResourceBusy);
        assert!(CongestionControls::after(SETTING, &denied).is_some());
        assert_eq!(CongestionControls::after(SETTING, &busy), None);
        assert_eq!(CongestionControls::after("net.ipv4.tcp_ecn", &denied), None);
    }
}
