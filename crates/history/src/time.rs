//! Times as people read them, in UTC.

use roundtrip_wire::calendar;

/// `2026-11-25 14:05`.
pub(crate) fn minute(at: u64) -> String {
    let text = calendar::rfc3339(at.saturating_mul(1000));
    text.get(..16).unwrap_or(&text).replace('T', " ")
}

/// The label on a time scale of this many seconds: `14:05`, or `11-25`.
pub(crate) fn mark(at: u64, scale: u64) -> String {
    let whole = minute(at);
    let part = if scale > 3 * 86_400 {
        whole.get(5..10)
    } else {
        whole.get(11..)
    };
    part.unwrap_or(&whole).to_owned()
}

/// `90 s`, `12 min`, `5 h`, `3 days`.
pub(crate) fn span(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
