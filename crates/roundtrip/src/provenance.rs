//! When, where, by which program and with which command line something was measured: the same in
//! every JSON document and on every page. Secrets in the command line are masked.

mod mask;

use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_report::html::PageHead;
use roundtrip_wire::{calendar, http_date};
use serde_json::{Map, Value, json};

pub(crate) use mask::masked;

const VERSION: &str = env!("CARGO_PKG_VERSION");

static BEGAN: OnceLock<SystemTime> = OnceLock::new();

/// Records the time; called once, before anything else.
pub(crate) fn begin() {
    began();
}

fn began() -> SystemTime {
    *BEGAN.get_or_init(SystemTime::now)
}

fn since_1970() -> Duration {
    began().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)
}

/// `started`, `host`, `version`, `argv`: keys of every document.
pub(crate) fn members() -> [(&'static str, Value); 4] {
    let milliseconds = u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX);
    [
        ("started", json!(calendar::rfc3339(milliseconds))),
        ("host", json!(host())),
        ("version", json!(VERSION)),
        ("argv", json!(argv())),
    ]
}

/// Adds these members to the document, after its schema, or first if it has no schema. Existing
/// members stay.
pub(crate) fn stamped(document: Value) -> Value {
    let Value::Object(mut own) = document else {
        return document;
    };
    let mut all = Map::new();
    all.extend(own.shift_remove_entry("schema"));
    for (key, value) in members() {
        all.insert(key.into(), own.shift_remove(key).unwrap_or(value));
    }
    all.extend(own);
    Value::Object(all)
}

/// The provenance as a page shows it. `command` makes the page again.
pub(crate) fn head(machine: &str, command: String) -> PageHead {
    let host = host().map_or(String::new(), |host| format!("{host}: "));
    PageHead {
        made_by: format!("roundtrip {VERSION}"),
        when: http_date::format(since_1970().as_secs()),
        machine: format!("{host}{machine}"),
        command,
    }
}

/// The facts about this command on this machine.
pub(crate) fn here() -> PageHead {
    head(&machine(), command())
}

/// The command line, quoted for a shell.
pub(crate) fn command() -> String {
    let words: Vec<String> = argv().iter().map(|word| mask::quoted(word)).collect();
    words.join(" ")
}

/// The program by its name, wherever it is installed.
fn argv() -> Vec<String> {
    let typed = std::env::args_os().skip(1);
    let words: Vec<String> = typed.map(|w| w.to_string_lossy().into_owned()).collect();
    let mut argv = vec!["roundtrip".to_owned()];
    argv.extend(masked(&words));
    argv
}

fn host() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Kernel, cores and build.
pub(crate) fn machine() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease");
    let kernel = kernel.map_or("of an unknown release".into(), |k| k.trim().to_owned());
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let cores = match cores {
        0 => String::new(),
        1 => ", 1 core".into(),
        n => format!(", {n} cores"),
    };
    let kind = std::env::consts::ARCH;
    // A debug build is marked, because its figures differ.
    let build = if cfg!(debug_assertions) {
        "; a debug build"
    } else {
        ""
    };
    format!("Linux {kernel} on {kind}{cores}{build}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_keeps_its_own_words_and_its_schema_stays_first() {
        let own = json!({ "url": "x", "schema": "s/1", "started": "then" });
        let Value::Object(stamped) = stamped(own) else {
            panic!("no object");
        };
        let keys: Vec<&str> = stamped.keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            ["schema", "started", "host", "version", "argv", "url"]
        );
        assert_eq!(stamped["started"], "then");
        assert_eq!(stamped["version"], VERSION);
    }
}
