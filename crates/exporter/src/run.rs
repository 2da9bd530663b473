//! Runs one probe within its deadline, and adds the metrics that all kinds of probes have.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use roundtrip_model::Exchange;

use crate::config::{Module, ModuleKind};
use crate::probe::{ProbeLog, ProbeTarget};
use crate::text::MetricText;
use crate::{dns, grpc, http, icmp, tcp};

/// The time limit if the scrape does not announce its timeout, as in blackbox_exporter.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);

/// The result of a probe.
#[derive(Debug)]
pub(crate) struct ProbeRun {
    pub(crate) success: bool,
    pub(crate) took: Duration,
    pub(crate) metrics: MetricText,
    pub(crate) log: ProbeLog,
    pub(crate) exchanges: Vec<Exchange>,
}

/// The time limit of a probe: that of its module, but less than the scrape allows.
pub(crate) fn time_limit(module: &Module, scrape: Option<f64>, offset: Duration) -> Duration {
    let scrape = scrape.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    let allowed = scrape.map_or(DEFAULT_TIMEOUT, |seconds| {
        let scrape = Duration::from_secs_f64(seconds.min(DEFAULT_TIMEOUT.as_secs_f64()));
        // A scrape that is shorter than the offset still gets half of its time.
        scrape.saturating_sub(offset).max(scrape / 2)
    });
    module.timeout.map_or(allowed, |own| own.min(allowed))
}

pub(crate) async fn run(module: &Module, asked: &ProbeTarget, limit: Duration) -> ProbeRun {
    let mut log = ProbeLog::new(asked);
    let began = Instant::now();
    log.say(
        "info",
        &format!("Beginning probe; it may take {:.1} s", limit.as_secs_f64()),
    );
    let kind = match &module.kind {
        ModuleKind::Http(http) => http::probe(http, asked, limit, &mut log).await,
        ModuleKind::Dns(dns) => dns::probe(dns, asked, limit, &mut log).await,
        ModuleKind::Tcp(tcp) => tcp::probe(tcp, asked, limit, &mut log).await,
        ModuleKind::Unix(unix) => tcp::probe_unix(unix, asked, limit, &mut log).await,
        ModuleKind::Icmp(icmp) => icmp::probe(icmp, asked, limit, &mut log).await,
        ModuleKind::Grpc(grpc) => grpc::probe(grpc, asked, limit, &mut log).await,
    };
    let took = began.elapsed();
    let (level, word) = if kind.success {
        ("info", "succeeded")
    } else {
        ("error", "failed")
    };
    log.say(
        level,
        &format!("Probe {word} after {:.3} s", took.as_secs_f64()),
    );
    let mut metrics = MetricText::default();
    if let Some(lookup) = kind.lookup {
        metrics.gauge(
            "probe_dns_lookup_time_seconds",
            "Returns the time taken for probe dns lookup in seconds",
            lookup.as_secs_f64(),
        );
    }
    metrics.gauge(
        "probe_duration_seconds",
        "Returns how long the probe took to complete in seconds",
        took.as_secs_f64(),
    );
    metrics.gauge(
        "probe_failed_due_to_regex",
        "Indicates if probe failed due to regex",
        f64::from(u8::from(kind.failed_by_pattern)),
    );
    if let Some(phase) = kind.failed_phase {
        metrics.gauges(
            "probe_failed_phase",
            "The phase that failed or timed out",
            "phase",
            [(phase, 1.0)],
        );
    }
    metrics.append(&kind.metrics);
    if kind.lookup.is_some() {
        of_address(kind.address, &mut metrics);
    }
    metrics.gauge(
        "probe_success",
        "Displays whether or not the probe was a success",
        f64::from(u8::from(kind.success)),
    );
    metrics.gauge(
        "probe_timeout_seconds",
        "Returns how long the probe timeout is in seconds",
        asked.timeout.as_secs_f64(),
    );
    ProbeRun {
        success: kind.success,
        took,
        metrics,
        log,
        exchanges: kind.exchanges,
    }
}

fn of_address(address: Option<IpAddr>, metrics: &mut MetricText) {
    metrics.gauge(
        "probe_ip_addr_hash",
        "Specifies the hash of IP address. It's useful to detect if the IP address changes.",
        address.map_or(0.0, address_hash),
    );
    metrics.gauge(
        "probe_ip_protocol",
        "Specifies whether probe ip protocol is IP4 or IP6",
        address.map_or(0.0, |ip| if ip.is_ipv4() { 4.0 } else { 6.0 }),
    );
}

/// The hash of an address: FNV-1a with 32 bits, as blackbox_exporter computes it.
fn address_hash(address: IpAddr) -> f64 {
    let mix = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619);
    let hash = match address {
        IpAddr::V4(v4) => v4.octets().iter().fold(2_166_136_261, mix),
        IpAddr::V6(v6) => v6.octets().iter().fold(2_166_136_261, mix),
    };
    hash.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(timeout: Option<u64>) -> Module {
        Module {
            timeout: timeout.map(Duration::from_secs),
            kind: ModuleKind::Http(Box::default()),
        }
    }

    #[test]
    fn a_probe_ends_before_its_scrape() {
        let half = Duration::from_millis(500);
        let limit = |own, scrape| time_limit(&module(own), scrape, half).as_millis();
        assert_eq!(limit(None, Some(10.0)), 9500);
        assert_eq!(limit(Some(5), Some(10.0)), 5000);
        assert_eq!(limit(Some(15), Some(10.0)), 9500);
        assert_eq!(limit(None, Some(0.4)), 200);
        for odd in [
            None,
            Some(f64::NAN),
            Some(-1.0),
            Some(1e300),
            Some(f64::INFINITY),
        ] {
            assert!(limit(None, odd) <= 120_000, "{odd:?}");
        }
    }

    #[test]
    fn addresses_have_the_hash_that_blackbox_exporter_gives_them() {
        let hash = address_hash([127, 0, 0, 1].into());
        assert_eq!(hash.to_string(), "3668918509");
    }
}
