//! Checks `[admin]`, `[log]` and `[limits]`: whether the admin pages are private, files can be
//! written, and limits leave room for a request.

use std::fs::OpenOptions;
use std::path::Path;

use super::CheckReport;
use super::listen::is_far;
use super::route::not_a_host;
use crate::config::{Access, Config};
use crate::forward::h1::MAX_FIELDS;

/// The number of fields that browsers send with some extensions and proxies.
const USUAL_FIELDS: usize = 32;
/// RFC 9112 §3 recommends 8000 bytes for just the request line.
const MIN_HEAD: u64 = 8 * 1024;

pub(super) fn check(config: &Config, report: &mut CheckReport) {
    if let Some(address) = config.admin.listen
        && is_far(&address)
    {
        let what = format!("it is not protected, and {address} can be reached from other machines");
        report.warn("admin.listen", what);
    }
    for (n, host) in config.admin.hosts.iter().enumerate() {
        if let Some(what) = not_a_host(host) {
            report.warn(format!("admin.hosts[{n}]"), what);
        }
    }
    if let Access::File(path) = &config.log.access {
        log(path, report);
    }
    let limits = &config.limits;
    if limits.head.0 < MIN_HEAD {
        let what = format!("browsers' requests do not fit; the minimum is {MIN_HEAD}");
        report.error("limits.head", what);
    }
    let least = [
        ("connections", limits.connections as u64),
        (
            "connections_per_client",
            limits.connections_per_client as u64,
        ),
        ("fields", limits.fields as u64),
        ("streams", u64::from(limits.streams)),
    ];
    for (key, _) in least.iter().filter(|(_, number)| *number == 0) {
        report.error(
            format!("limits.{key}"),
            "with 0 no request is served; the minimum is 1",
        );
    }
    if (1..USUAL_FIELDS).contains(&limits.fields) {
        let what = format!("browsers send up to {USUAL_FIELDS} fields; those with more get 431");
        report.warn("limits.fields", what);
    }
    if limits.fields > MAX_FIELDS {
        let what = format!("the parser has room for {MAX_FIELDS} fields, so more are refused");
        report.error("limits.fields", what);
    }
    let times = [
        ("head_time", limits.head_time),
        ("idle_time", limits.idle_time),
    ];
    for (key, _) in times.iter().filter(|(_, time)| time.0.is_zero()) {
        report.error(format!("limits.{key}"), "it must be longer than 0");
    }
    if limits.body_rate_most.0 < limits.body_rate.0 {
        let what = "it is less than 'limits.body_rate', so the required rate never rises";
        report.warn("limits.body_rate_most", what);
    }
    if limits.connections_per_client > limits.connections {
        let what = "one client may use all connections";
        report.warn("limits.connections_per_client", what);
    }
}

fn log(path: &Path, report: &mut CheckReport) {
    const PLACE: &str = "log.access";
    report.path(PLACE, path);
    let shown = path.display();
    if path.exists() {
        // Nothing is written.
        if let Err(error) = OpenOptions::new().append(true).open(path) {
            report.error(PLACE, format!("cannot write to {shown}: {error}"));
        }
        return;
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    if let Err(error) = rustix::fs::access(parent, rustix::fs::Access::WRITE_OK) {
        let what = format!("cannot create a file in {}: {error}", parent.display());
        report.error(PLACE, what);
    }
}
