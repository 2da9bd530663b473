//! The exporter's paths, which are those of blackbox_exporter.

use std::fmt::Write;
use std::time::{Duration, Instant};

use roundtrip_model::mask_url;
use roundtrip_report::clean;
use roundtrip_wire::prometheus;
use url::form_urlencoded;

use crate::message::{Answered, Asked, PROTOBUF};
use crate::own_metrics;
use crate::probe::ProbeTarget;
use crate::run::{self, ProbeRun};
use crate::state::ExporterState;
use crate::text::{CONTENT_TYPE, MetricText};
use crate::{process_metrics, tracing};

/// The largest length of a target, in bytes.
const MAX_TARGET: usize = 8 * 1024;
const DEFAULT_MODULE: &str = "http_2xx";

/// The parameters of `/probe` and `/logs`.
#[derive(Debug, Default)]
struct Query {
    target: Option<String>,
    module: Option<String>,
    hostname: Option<String>,
    debug: bool,
    id: Option<u64>,
    /// A parameter that was given twice.
    repeated: Option<String>,
}

pub(crate) async fn answer(asked: &Asked, state: &ExporterState) -> Answered {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let Some(path) = path.strip_prefix(&state.options.prefix) else {
        let prefix = &state.options.prefix;
        return Answered::text(404, &format!("All paths are below {prefix}/.\n"));
    };
    let reads = matches!(asked.method.as_str(), "GET" | "HEAD");
    match path {
        "/-/reload" if matches!(asked.method.as_str(), "POST" | "PUT") => reload(state),
        "/-/reload" => Answered::text(405, "This endpoint requires a POST request.\n"),
        _ if !reads => Answered::text(405, "Only GET and HEAD are possible here.\n"),
        "/probe" => probe(&Query::parse(query), asked, state).await,
        "/metrics" => metrics(asked, state),
        "/config" => Answered::text(200, &state.modules().shown().replace("\r\n", "\n")),
        "/-/healthy" => Answered::text(200, "Healthy"),
        "/logs" => logs(&Query::parse(query), state),
        "/" => page(state),
        _ => Answered::text(
            404,
            "The paths are /, /probe, /metrics, /config, /logs, /-/healthy and /-/reload.\n",
        ),
    }
}

impl Query {
    fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let place = match name.as_ref() {
                "target" => &mut query.target,
                "module" => &mut query.module,
                "hostname" => &mut query.hostname,
                "debug" => {
                    query.debug = value == "true";
                    continue;
                }
                "id" => {
                    query.id = value.parse().ok();
                    continue;
                }
                _ => continue,
            };
            if place.replace(value.into_owned()).is_some() {
                query.repeated = Some(name.into_owned());
            }
        }
        query
    }
}

fn reload(state: &ExporterState) -> Answered {
    match state.reload() {
        Ok(()) => Answered::text(200, ""),
        Err(error) => Answered::text(500, &format!("failed to reload config: {error}\n")),
    }
}

fn metrics(scrape: &Asked, state: &ExporterState) -> Answered {
    let mut families = state.own.borrow().families(state.running());
    families.extend(process_metrics::families());
    if let Some(telemetry) = &state.options.telemetry {
        families.push(own_metrics::spans(&telemetry.counts()));
    }
    if scrape.prefers_protobuf {
        return Answered {
            status: 200,
            content_type: PROTOBUF,
            body: prometheus::encode(&families),
        };
    }
    let mut text = MetricText::default();
    for family in &families {
        text.family(family);
    }
    metrics_text(&text)
}

fn metrics_text(text: &MetricText) -> Answered {
    Answered {
        status: 200,
        content_type: CONTENT_TYPE,
        body: text.as_str().into(),
    }
}

async fn probe(query: &Query, scrape: &Asked, state: &ExporterState) -> Answered {
    if let Some(name) = &query.repeated {
        return Answered::text(
            400,
            &format!("{name} parameter must only be specified once\n"),
        );
    }
    let target = match &query.target {
        Some(target) if target.is_empty() => None,
        target => target.clone(),
    };
    let Some(target) = target else {
        return Answered::text(400, "Target parameter is missing\n");
    };
    if target.len() > MAX_TARGET {
        return Answered::text(400, "Target parameter is too long\n");
    }
    let name = query.module.clone().filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| DEFAULT_MODULE.into());
    let modules = state.modules();
    let Some(module) = modules.get(&name) else {
        state.own.borrow_mut().unknown_modules += 1;
        return Answered::text(400, &format!("Unknown module {name:?}\n"));
    };
    if let Some(conflict) =
        module.host_conflict(query.hostname.as_deref().filter(|name| !name.is_empty()))
    {
        return Answered::text(400, &conflict);
    }
    if scrape.scrape_timeout == Some(Err(())) {
        let why = "Failed to parse timeout from Prometheus header\n";
        return Answered::text(500, why);
    }
    let announced = scrape.scrape_timeout.and_then(Result::ok);
    let limit = run::time_limit(module, announced, state.options.timeout_offset);
    let Some((_place, left)) = place(state, limit).await else {
        state.own.borrow_mut().refused += 1;
        let why = "Too many probes are running; see --max-probes.\n";
        return Answered::text(503, why);
    };
    let telemetry = state.options.telemetry.as_ref();
    let asked = ProbeTarget {
        module: name,
        target,
        hostname: query.hostname.clone().filter(|name| !name.is_empty()),
        timeout: limit,
        trace: tracing::begin(telemetry, scrape.trace),
    };
    let ran = run::run(module, &asked, left).await;
    tracing::end(telemetry, scrape.trace, &asked, &ran);
    tell(state, &asked, &ran);
    if query.debug {
        return Answered::text(200, &debug(&ran, modules.shown_module(&asked.module)));
    }
    metrics_text(&ran.metrics)
}

/// Waits for permission to run a probe, and returns it with the remaining time.
async fn place(
    state: &ExporterState,
    limit: Duration,
) -> Option<(tokio::sync::SemaphorePermit<'_>, Duration)> {
    let began = Instant::now();
    let place = tokio::time::timeout(limit, state.places.acquire())
        .await
        .ok()?
        .ok()?;
    let left = limit.saturating_sub(began.elapsed());
    (!left.is_zero()).then_some((place, left))
}

fn tell(state: &ExporterState, asked: &ProbeTarget, ran: &ProbeRun) {
    let mut own = state.own.borrow_mut();
    own.probed(&asked.module, ran.success, ran.took);
    let told = debug(ran, state.modules().shown_module(&asked.module));
    state
        .history
        .borrow_mut()
        .add(&asked.module, &asked.target, ran.success, told);
}

fn debug(ran: &ProbeRun, module: &str) -> String {
    format!(
        "Logs for the probe:\n{}\n\n\nMetrics that would have been returned:\n{}\n\n\nModule configuration:\n{module}",
        ran.log.as_str(),
        ran.metrics.as_str()
    )
}

fn logs(query: &Query, state: &ExporterState) -> Answered {
    let history = state.history.borrow();
    let found = match (query.id, &query.target) {
        (Some(_), Some(_)) => {
            let why = "Probe id and target can't be defined at the same time\n";
            return Answered::text(400, why);
        }
        (Some(id), None) => history.get(id),
        (None, Some(target)) => history.last(target, query.module.as_deref()),
        (None, None) => {
            let why = "Probe id or target must be defined as http query parameters\n";
            return Answered::text(400, why);
        }
    };
    match found {
        Some(past) => Answered::text(200, &past.told),
        None => Answered::text(404, "There is no such probe, or its log is gone\n"),
    }
}

fn page(state: &ExporterState) -> Answered {
    let mut rows = String::new();
    for past in state.history.borrow().latest() {
        let result = if past.success {
            "success"
        } else {
            "<strong>failure</strong>"
        };
        let (module, target) = (escaped(&past.module), escaped(&mask_url(&past.target)));
        let id = past.id;
        let _ = write!(
            rows,
            "<tr><td>{module}</td><td class=t>{target}</td><td>{result}</td><td><a href=\"logs?id={id}\">log</a></td></tr>"
        );
    }
    if rows.is_empty() {
        rows += "<tr><td colspan=4>No probe has run yet.</td></tr>";
    }
    let mut modules = String::new();
    for name in state.modules().names() {
        let _ = write!(
            modules,
            "<li><code>/probe?target=…&amp;module={}</code></li>",
            escaped(name)
        );
    }
    let version = env!("CARGO_PKG_VERSION");
    Answered {
        status: 200,
        content_type: "text/html; charset=utf-8",
        body: format!(
            "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
             <title>roundtrip exporter</title><style>{STYLE}</style><h1>roundtrip exporter {version}</h1>\
             <p><a href=metrics>Metrics</a> · <a href=config>Configuration</a></p><h2>Modules</h2><ul>{modules}</ul>\
             <h2>Recent probes</h2><table><tr><th>Module<th>Target<th>Result<th>Log</tr>{rows}</table></html>\n"
        )
        .into_bytes(),
    }
}

const STYLE: &str = ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:1rem auto;\
max-width:60rem;padding:0 1rem}table{border-collapse:collapse;width:100%}td,th{text-align:left;\
padding:.25rem .5rem;border-bottom:1px solid #8888}.t{overflow-wrap:anywhere}";

/// Text from outside as HTML.
fn escaped(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
