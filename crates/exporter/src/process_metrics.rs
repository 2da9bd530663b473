//! The metrics of the process, with the names that Prometheus' client libraries give them.

use std::fs;

use roundtrip_wire::prometheus::{Metric, MetricFamily, MetricKind, MetricValue};

/// The unit of `/proc/PID/stat`, in which the kernel reports times.
const TICKS_PER_SECOND: f64 = 100.0;
/// The positions of fields in `/proc/self/stat`, counted behind the name of the program.
const USER_TIME: usize = 11;
const SYSTEM_TIME: usize = 12;
const START_TIME: usize = 19;

const MAX_FILES: &str = "Max open files";

/// How many descriptors the process may open.
pub(crate) fn max_descriptors() -> Option<usize> {
    number_after(&read("limits"), MAX_FILES).map(|most| most as usize)
}

/// What can be read about the process.
pub(crate) fn families() -> Vec<MetricFamily> {
    let stat = read("stat");
    let fields: Vec<f64> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .map(|word| word.parse().unwrap_or(0.0))
        .collect();
    let ticks = |at: usize| fields.get(at).map(|ticks| ticks / TICKS_PER_SECOND);
    let cpu = ticks(USER_TIME).zip(ticks(SYSTEM_TIME));
    let started = boot_time().zip(ticks(START_TIME));
    let status = read("status");
    let kilobytes = |name| number_after(&status, name).map(|count| count * 1024.0);
    let open = fs::read_dir("/proc/self/fd").map(|found| found.count() as f64);
    let values = [
        (
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
            cpu.map(|(user, system)| user + system),
        ),
        (
            "process_max_fds",
            "Maximum number of open file descriptors.",
            number_after(&read("limits"), MAX_FILES),
        ),
        (
            "process_open_fds",
            "Number of open file descriptors.",
            open.ok(),
        ),
        (
            "process_resident_memory_bytes",
            "Resident memory size in bytes.",
            kilobytes("VmRSS:"),
        ),
        (
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
            started.map(|(boot, since)| boot + since),
        ),
        (
            "process_virtual_memory_bytes",
            "Virtual memory size in bytes.",
            kilobytes("VmSize:"),
        ),
    ];
    let known = values
        .into_iter()
        .filter_map(|(name, help, value)| Some((name, help, value?)));
    known
        .map(|(name, help, value)| MetricFamily {
            name,
            help,
            kind: if name.ends_with("_total") {
                MetricKind::Counter
            } else {
                MetricKind::Gauge
            },
            metrics: vec![Metric {
                labels: Vec::new(),
                value: MetricValue::Number(value),
            }],
        })
        .collect()
}

fn read(name: &str) -> String {
    fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default()
}

/// When the system started, in seconds since 1970.
fn boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    number_after(&stat, "btime")
}

/// The first number of the line that begins with a word.
fn number_after(text: &str, word: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(word))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_there_and_plausible() {
        let families = families();
        let value = |name: &str| {
            let family = families.iter().find(|family| family.name == name).unwrap();
            match family.metrics[0].value {
                MetricValue::Number(value) => value,
                MetricValue::Histogram(_) => f64::NAN,
            }
        };
        assert_eq!(families.len(), 6);
        assert!(value("process_open_fds") >= 3.0);
        assert!(value("process_resident_memory_bytes") > 65_536.0);
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        let started = value("process_start_time_seconds");
        assert!(started > 1e9 && started <= now + 1.0, "{started} {now}");
    }
}
