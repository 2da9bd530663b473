//! Asks a gRPC server whether a service is healthy.

use std::time::{Duration, Instant};

use roundtrip_http::BoundedBody;
use roundtrip_model::{Exchange, FailureKind, HttpFacts, PhaseName, Strategy, Target};
use roundtrip_probe::{Family, Options, Prober};
use roundtrip_wire::grpc_health::{CHECK, ServingStatus, check_request};

use crate::certificates;
use crate::config::{GrpcModule, IpProtocol};
use crate::http::{log_hops, under_name};
use crate::http_metrics;
use crate::line::told;
use crate::probe::{Hops, KindRun, ProbeLog, ProbeTarget};
use crate::text::MetricText;

/// The largest size of an answer, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// Status codes of gRPC. Its libraries also derive such codes from answers that are not gRPC.
const OK: u32 = 0;
const UNKNOWN: u32 = 2;
const DEADLINE_EXCEEDED: u32 = 4;
const PERMISSION_DENIED: u32 = 7;
const UNIMPLEMENTED: u32 = 12;
const INTERNAL: u32 = 13;
const UNAVAILABLE: u32 = 14;
const UNAUTHENTICATED: u32 = 16;

pub(crate) async fn probe(
    module: &GrpcModule,
    asked: &ProbeTarget,
    limit: Duration,
    log: &mut ProbeLog,
) -> KindRun {
    let (target, options) = match request(module, asked, limit) {
        Ok(request) => request,
        Err(why) => {
            log.say("error", &why);
            let mut run = KindRun::default();
            answer(&Hops::new(&[]), OK, None, &mut run.metrics);
            return run;
        }
    };
    let mut body = BoundedBody::new(MAX_ANSWER);
    let mut prober = Prober::new(options);
    let hops = prober.run(&target, 0, &mut body).await;
    prober.retire().await;
    let measured = Hops::new(&hops);
    log_hops(&measured, log);
    let mut run = KindRun::default();
    let Some(last) = hops.last() else {
        return run;
    };
    let code = code(last);
    let status = ServingStatus::parse(body.bytes()).filter(|_| code == OK && last.ok());
    let name = status.map_or("no status", ServingStatus::name);
    log.say("info", &format!("gRPC code {code}, {name}"));
    run.success = status == Some(ServingStatus::Serving);
    run.failed_phase = last.failure.as_ref().map(|failure| failure.phase.as_str());
    answer(&measured, code, status, &mut run.metrics);
    if let Some(tls) = last.tls.as_ref().filter(|_| last.http.is_some()) {
        let verified = Some(module.tls_config.is_verified());
        certificates::metrics(tls, verified, &mut run.metrics);
    }
    http_metrics::explained(&measured, &mut run.metrics);
    run.lookup = Some(measured.spent(&[PhaseName::Name]));
    run.address = http_metrics::address(last);
    run.exchanges = hops;
    run
}

fn request(
    module: &GrpcModule,
    asked: &ProbeTarget,
    limit: Duration,
) -> Result<(Target, Options), String> {
    let given = asked.target.as_str();
    let given = given.strip_prefix("http://").unwrap_or(given);
    let given = given.strip_prefix("https://").unwrap_or(given);
    let host = given.split(['/', '?', '#']).next().unwrap_or(given);
    let scheme = if module.tls { "https" } else { "http" };
    let mut target = Target::parse(&format!("{scheme}://{host}{CHECK}")).map_err(told)?;
    let mut headers: Vec<(String, String)> = module.metadata().collect();
    let timeout = format!("{}m", limit.as_millis());
    let own = [
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("grpc-timeout", timeout.as_str()),
        // This field is not sent.
        ("accept", ""),
    ];
    headers.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let version = module.tls_config.only_version();
    let version = version.filter(|_| module.tls);
    let parts: Vec<&str> = ["h2"].into_iter().chain(version).collect();
    let mut options = Options {
        strategy: parts.join("+").parse::<Strategy>().map_err(told)?,
        keeps_way: true,
        method: Some("POST".into()),
        headers,
        body: check_request(&module.service).into(),
        user_agent: concat!("roundtrip-exporter/", env!("CARGO_PKG_VERSION")).to_owned(),
        announcements: false,
        family: Family::One {
            v4: module.preferred_ip_protocol == IpProtocol::Ip4,
            falls_back: module.falls_back(),
        },
        roots: module.tls_config.roots(),
        remembers_chains: true,
        identity: module.tls_config.identity(),
        connect_timeout: limit,
        max_time: limit,
        deadline: Some(Instant::now() + limit),
        trace: asked.trace,
        ..Options::default()
    };
    if let Some(name) = module.tls_config.name().filter(|_| module.tls) {
        target = under_name(&target, name, &mut options)?;
    }
    options.check().map_err(told)?;
    options.check_for(&target).map_err(told)?;
    Ok((target, options))
}

/// The code of the answer, or the code that gRPC's libraries report if the call ended in another
/// way.
fn code(last: &Exchange) -> u32 {
    let Some(http) = last.http.as_ref().filter(|_| last.failure.is_none()) else {
        let failed = last.failure.as_ref();
        return match failed.map(|failure| (failure.kind, failure.phase)) {
            Some((_, PhaseName::Name)) => OK,
            Some((FailureKind::Timeout | FailureKind::ConnectTimeout, _)) => DEADLINE_EXCEEDED,
            _ => UNAVAILABLE,
        };
    };
    let is_grpc = http
        .header("content-type")
        .is_some_and(|kind| kind.starts_with(b"application/grpc"));
    match (grpc_status(http), http.status) {
        (Some(code), _) => code,
        // The stream ended without a trailer section.
        (None, 200) if is_grpc => INTERNAL,
        (None, 400) => INTERNAL,
        (None, 401) => UNAUTHENTICATED,
        (None, 403) => PERMISSION_DENIED,
        (None, 404) => UNIMPLEMENTED,
        (None, 429 | 502 | 503 | 504) => UNAVAILABLE,
        (None, _) => UNKNOWN,
    }
}

/// The status in the trailers or, if there is no message, in the head.
fn grpc_status(http: &HttpFacts) -> Option<u32> {
    let mut trailers = http.trailers.iter();
    let trailer = trailers.find(|(name, _)| name == "grpc-status");
    let value = trailer.map(|(_, value)| value.as_slice());
    let value = value.or_else(|| http.header("grpc-status"))?;
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

fn answer(hops: &Hops<'_>, code: u32, status: Option<ServingStatus>, text: &mut MetricText) {
    let lookup = hops.spent(&[PhaseName::Name]);
    let last = hops.iter().last().map(|(last, _)| last);
    let failed = last.and_then(|last| last.failure.as_ref());
    let last = last.filter(|_| failed.is_none_or(|failure| failure.phase != PhaseName::Name));
    let check = last.map(|last| ("check", last.total().saturating_sub(lookup)));
    let phases = check.into_iter().chain([("resolve", lookup)]);
    text.gauges(
        "probe_grpc_duration_seconds",
        "Duration of gRPC request by phase",
        "phase",
        phases.map(|(phase, span)| (phase, span.as_secs_f64())),
    );
    if last.is_some() {
        text.gauges(
            "probe_grpc_healthcheck_response",
            "Response HealthCheck response",
            "serving_status",
            ServingStatus::ALL.map(|of| (of.name(), f64::from(u8::from(Some(of) == status)))),
        );
    }
    let is_secure = last.is_some_and(|last| last.http.is_some() && last.tls.is_some());
    text.gauge(
        "probe_grpc_ssl",
        "Indicates if SSL was used for the connection",
        f64::from(u8::from(is_secure)),
    );
    text.gauge(
        "probe_grpc_status_code",
        "Response gRPC status code",
        code.into(),
    );
}
