//! Probes a URL by a module, and decides whether the probe succeeded.

use std::io::{self, Write};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use roundtrip_model::{Exchange, Finding, PhaseName, Scheme, Strategy, Target};
use roundtrip_probe::{ConnectTo, Family, Options, Prober};

use crate::config::{HttpModule, IpProtocol, Pattern};
use crate::http_metrics;
use crate::probe::{KindRun, ProbeLog, ProbeTarget};

/// The length of a body that patterns see, if the module sets no limit.
const MAX_MATCHED: usize = 4 * 1024 * 1024;

/// Keeps a body for patterns, and fails if it is larger than the module allows.
struct Body {
    limit: usize,
    kept: Option<Vec<u8>>,
    came: usize,
}

impl Body {
    fn new(module: &HttpModule) -> Self {
        let patterns = !module.fail_if_body_matches_regexp.is_empty()
            || !module.fail_if_body_not_matches_regexp.is_empty();
        let limit = usize::try_from(module.body_size_limit.0).unwrap_or(usize::MAX);
        Self {
            limit: if limit == 0 { usize::MAX } else { limit },
            kept: patterns.then(Vec::new),
            came: 0,
        }
    }
}

impl Write for Body {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.came = self.came.saturating_add(bytes.len());
        if self.came > self.limit {
            return Err(io::Error::other("the body is larger than body_size_limit"));
        }
        if let Some(kept) = &mut self.kept {
            let room = MAX_MATCHED.saturating_sub(kept.len()).min(bytes.len());
            kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) async fn probe(
    module: &HttpModule,
    asked: &ProbeTarget,
    limit: Duration,
    log: &mut ProbeLog,
) -> KindRun {
    let deadline = Instant::now() + limit;
    let (target, options) = match request(module, asked, deadline) {
        Ok(request) => request,
        Err(why) => {
            log.say("error", &why);
            return KindRun::default();
        }
    };
    let mut body = Body::new(module);
    let (mut prober, hops) = ask(module, &target, options, &mut body, log).await;
    let mut run = http_metrics::metrics(&hops, module);
    let last = hops.last();
    log_hops(&hops, log);
    let failure = last.and_then(|last| last.failure.as_ref());
    run.failed_phase = failure.map(|failure| failure.phase.as_str());
    run.success = last.is_some_and(|last| {
        last.ok() && judge(module, last, &body, log, &mut run.failed_by_pattern)
    });
    if module.roundtrip.warm && last.is_some_and(Exchange::ok) {
        let warm = prober.run(&target, 1, &mut io::sink()).await;
        http_metrics::warm(&warm, &mut run.metrics);
    }
    prober.retire().await;
    run.exchanges = hops;
    run
}

/// Uses the preferred address family, or the other one if the name has no address of it.
async fn ask(
    module: &HttpModule,
    target: &Target,
    options: Options,
    body: &mut Body,
    log: &mut ProbeLog,
) -> (Prober, Vec<Exchange>) {
    let other = match options.family {
        Family::V4 => Family::V6,
        _ => Family::V4,
    };
    let mut prober = Prober::new(options.clone());
    let hops = prober.run(target, 0, body).await;
    let unnamed = hops.last().and_then(|last| last.failure.as_ref());
    let unnamed = unnamed.is_some_and(|failure| failure.phase == PhaseName::Name);
    let is_late = options.deadline.is_some_and(|end| end <= Instant::now());
    if !unnamed || !module.ip_protocol_fallback || options.family == Family::Any || is_late {
        return (prober, hops);
    }
    log.say(
        "info",
        "no address of the preferred IP protocol; trying the other one",
    );
    let mut prober = Prober::new(Options {
        family: other,
        ..options
    });
    let hops = prober.run(target, 0, body).await;
    (prober, hops)
}

fn request(
    module: &HttpModule,
    asked: &ProbeTarget,
    deadline: Instant,
) -> Result<(Target, Options), String> {
    let given = if asked.target.starts_with("http://") || asked.target.starts_with("https://") {
        asked.target.clone()
    } else {
        format!("http://{}", asked.target)
    };
    let named = Target::parse(&given).map_err(|error| error.to_string())?;
    let mut options = options(module, deadline).map_err(|error| error.to_string())?;
    options.trace = asked.trace;
    let is_host = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("host");
    let host = options
        .headers
        .iter()
        .find(is_host)
        .map(|(_, value)| value.clone());
    let host = host.or_else(|| asked.hostname.clone());
    let server_name = module
        .tls_config
        .server_name
        .clone()
        .filter(|_| named.scheme == Scheme::Https);
    let target = match server_name.or_else(|| host.clone()) {
        None => named,
        Some(name) => {
            // The request goes to the target's address, under another name. A redirect to another
            // origin goes to that origin's address.
            let renamed = renamed(&named, &name)?;
            options.connect_to.push(ConnectTo {
                from_host: Some(renamed.host_name()),
                from_port: Some(renamed.port),
                to_host: Some(named.host_name()),
                to_port: Some(named.port),
            });
            if !options.headers.iter().any(|field| is_host(&field)) {
                options
                    .headers
                    .push(("Host".into(), host.unwrap_or_else(|| named.authority())));
            }
            renamed
        }
    };
    if target
        .host_name()
        .trim_matches(['[', ']'])
        .parse::<IpAddr>()
        .is_ok()
    {
        options.family = Family::Any;
    }
    options.check().map_err(|error| error.to_string())?;
    options
        .check_for(&target)
        .map_err(|error| error.to_string())?;
    Ok((target, options))
}

/// Replaces the host of the URL, and its port if the new one has a port.
fn renamed(target: &Target, name: &str) -> Result<Target, String> {
    let mut url = target.url().clone();
    let host = name.rsplit_once(':').map_or(name, |(host, port)| {
        if port.bytes().all(|b| b.is_ascii_digit()) {
            host
        } else {
            name
        }
    });
    url.set_host(Some(host))
        .map_err(|error| format!("'{name}' is not a host name: {error}"))?;
    Target::parse(url.as_str()).map_err(|error| error.to_string())
}

fn options(module: &HttpModule, deadline: Instant) -> io::Result<Options> {
    let limit = deadline.saturating_duration_since(Instant::now());
    let mut headers: Vec<(String, String)> = module
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(value) = module.authorization()? {
        headers.push(("Authorization".into(), value));
    }
    let mut user_agent = concat!("roundtrip-exporter/", env!("CARGO_PKG_VERSION")).to_owned();
    headers.retain(|(name, value)| {
        let is_agent = name.eq_ignore_ascii_case("user-agent");
        if is_agent {
            user_agent.clone_from(value);
        }
        !is_agent
    });
    let compressed = module.compression.is_some();
    if let Some(coding) = module
        .compression
        .as_ref()
        .filter(|coding| *coding != "identity")
    {
        headers.push(("Accept-Encoding".into(), coding.clone()));
    }
    let proxy = module.proxy_url.as_deref().map(str::parse).transpose();
    Ok(Options {
        strategy: strategy(module)?,
        // A warm module measures the cold request, too.
        cold: module.roundtrip.warm,
        keeps_way: true,
        method: module.method.clone(),
        headers,
        body: module.body()?.into(),
        user: module.user()?,
        user_agent,
        compressed,
        follow: module.follows(),
        max_redirects: 10,
        family: match module.preferred_ip_protocol {
            IpProtocol::Ip4 => Family::V4,
            IpProtocol::Ip6 => Family::V6,
        },
        proxy: proxy.map_err(io::Error::other)?,
        roots: module.tls_config.roots(),
        identity: module.tls_config.identity(),
        connect_timeout: limit,
        max_time: limit,
        deadline: Some(deadline),
        ..Options::default()
    })
}

/// The module's own strategy, or the one that blackbox_exporter's settings describe.
fn strategy(module: &HttpModule) -> io::Result<Strategy> {
    let own = module.roundtrip.strategy;
    if own != Strategy::default() {
        return Ok(Strategy {
            reuse: own.reuse || module.roundtrip.warm,
            ..own
        });
    }
    let parts = [module.http_version().unwrap_or("auto")].into_iter();
    let parts = parts.chain(module.tls_config.only_version());
    let word: Vec<&str> = parts.collect();
    let described: Strategy = word.join("+").parse().map_err(io::Error::other)?;
    Ok(Strategy {
        reuse: module.roundtrip.warm,
        ..described
    })
}

fn log_hops(hops: &[Exchange], log: &mut ProbeLog) {
    for hop in hops {
        let status = hop.http.as_ref().map_or(0, |http| http.status);
        let (used, trips) = (hop.used, hop.round_trips());
        let ms = hop.total().as_secs_f64() * 1e3;
        log.say(
            "info",
            &format!(
                "{} {status} {used} {ms:.1} ms, {trips} round trips",
                hop.url
            ),
        );
        for phase in hop.phases() {
            let (name, ms) = (phase.name.as_str(), phase.ms());
            log.say(
                "info",
                &format!("phase {name} {ms:.3} ms, {} round trips", phase.round_trips),
            );
        }
        for finding in &hop.findings {
            let Finding { id, ms, .. } = finding;
            log.say(
                "warn",
                &format!("finding {id} {ms:.1} ms: {}", finding.evidence),
            );
        }
        if let Some(failure) = &hop.failure {
            let phase = failure.phase.as_str();
            log.say(
                "error",
                &format!("failed in phase {phase}: {}", failure.message),
            );
        }
    }
}

/// Whether an answer meets the module's rules.
fn judge(
    module: &HttpModule,
    last: &Exchange,
    body: &Body,
    log: &mut ProbeLog,
    by_pattern: &mut bool,
) -> bool {
    let Some(http) = &last.http else {
        return false;
    };
    let mut fails = Vec::new();
    let codes = &module.valid_status_codes;
    let valid = if codes.is_empty() {
        (200..300).contains(&http.status)
    } else {
        codes.contains(&http.status)
    };
    if !valid {
        fails.push(format!("the status code {} is not valid", http.status));
    }
    let versions = &module.valid_http_versions;
    let version = http_metrics::version(&http.version);
    if !versions.is_empty() && !versions.contains(&version.0) {
        fails.push(format!("the version {} is not valid", version.0));
    }
    let is_secure = last.tls.is_some();
    if is_secure && module.fail_if_ssl {
        fails.push("the final request was over TLS".into());
    }
    if !is_secure && module.fail_if_not_ssl {
        fails.push("the final request was not over TLS".into());
    }
    let before = fails.len();
    by_patterns(module, http, body, &mut fails);
    *by_pattern = fails.len() > before;
    for why in &fails {
        log.say("error", why);
    }
    fails.is_empty()
}

fn by_patterns(
    module: &HttpModule,
    http: &roundtrip_model::HttpFacts,
    body: &Body,
    fails: &mut Vec<String>,
) {
    let text = String::from_utf8_lossy(body.kept.as_deref().unwrap_or_default());
    let matches = |pattern: &&Pattern| pattern.0.is_match(&text);
    if let Some(pattern) = module.fail_if_body_matches_regexp.iter().find(matches) {
        fails.push(format!("the body matches {}", pattern.0));
    }
    let missed = module
        .fail_if_body_not_matches_regexp
        .iter()
        .find(|pattern| !matches(pattern));
    if let Some(pattern) = missed {
        fails.push(format!("the body does not match {}", pattern.0));
    }
    let values = |name: &str| -> Vec<String> {
        let of = http
            .headers
            .iter()
            .filter(|(field, _)| field.eq_ignore_ascii_case(name));
        of.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
            .collect()
    };
    for rule in &module.fail_if_header_matches {
        let found = values(&rule.header);
        if found.is_empty() && !rule.allow_missing {
            fails.push(format!("the field {} is missing", rule.header));
        } else if found.iter().any(|value| rule.regexp.0.is_match(value)) {
            fails.push(format!(
                "the field {} matches {}",
                rule.header, rule.regexp.0
            ));
        }
    }
    for rule in &module.fail_if_header_not_matches {
        let found = values(&rule.header);
        if found.is_empty() {
            if !rule.allow_missing {
                fails.push(format!("the field {} is missing", rule.header));
            }
        } else if !found.iter().any(|value| rule.regexp.0.is_match(value)) {
            fails.push(format!(
                "the field {} does not match {}",
                rule.header, rule.regexp.0
            ));
        }
    }
}
