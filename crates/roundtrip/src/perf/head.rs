//! The data for the `--html` page that only the process knows.

use std::fs;

use roundtrip_report::html::PageHead;

use crate::provenance;

pub(super) fn head() -> PageHead {
    provenance::head(&on_processor(&provenance::machine()), provenance::command())
}

/// A cost depends on the processor, so its model is named if the kernel reports it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_where_the_kernel_names_it() {
        let told = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2 GHz\n";
        assert_eq!(model(told), Some("Some CPU @ 2 GHz"));
        assert_eq!(model("processor: 0\nCPU part: 0xd0c\n"), None);
    }
}
