//! What only the process knows of the page that `--html` asks for.

use std::fs;
use std::time::SystemTime;

use roundtrip_report::html::Head;

use crate::page;

pub(super) fn head(began: SystemTime) -> Head {
    page::head(began, on_processor(&page::machine()), command())
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
