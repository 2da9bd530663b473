//! The page that `--html` asks for: what only the process knows of it, and where it is written.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_perf::Outcome;
use roundtrip_perf::html::{Head, page};

use crate::lab::machine;

/// Said before anything is measured.
pub(super) fn can_be_written(file: &Path) -> Result<(), String> {
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.map(drop).map_err(|error| trouble(file, &error))
}

pub(super) fn write(file: &Path, outcome: &Outcome, began: SystemTime) -> Result<(), String> {
    let since = began.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let head = Head {
        made_by: concat!("roundtrip ", env!("CARGO_PKG_VERSION")).into(),
        when: roundtrip_wire::http_date::format(since.as_secs()),
        machine: on_processor(&machine()),
        command: command(),
    };
    fs::write(file, page(outcome, &head)).map_err(|error| trouble(file, &error))
}

fn trouble(file: &Path, error: &std::io::Error) -> String {
    format!("cannot write the page to {}: {error}", file.display())
}

/// A cost is the cost on a processor, where the kernel names it.
fn on_processor(machine: &str) -> String {
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    match model(&told) {
        Some(model) => format!("{model}; {machine}"),
        None => machine.to_owned(),
    }
}

fn model(cpuinfo: &str) -> Option<&str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name" && !value.trim().is_empty()).then_some(value.trim())
    })
}

/// As it was typed.
fn command() -> String {
    let typed = std::env::args_os().skip(1);
    let words = typed.map(|word| quoted(&word.to_string_lossy()));
    let words: Vec<String> = words.collect();
    format!("roundtrip {}", words.join(" "))
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-_./:,=%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_where_the_kernel_names_it() {
        let told = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2 GHz\n";
        assert_eq!(model(told), Some("Some CPU @ 2 GHz"));
        assert_eq!(model("processor: 0\nCPU part: 0xd0c\n"), None);
    }

    #[test]
    fn a_command_can_be_typed_again() {
        assert_eq!(quoted("quic/proto+gso44"), "quic/proto+gso44");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
