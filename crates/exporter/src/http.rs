//! Probes a URL by a module, and decides whether the probe succeeded.

use std::io;
use std::time::{Duration, Instant};

use roundtrip_model::{Exchange, Finding, HttpFacts, Scheme, Strategy, Target};
use roundtrip_probe::{ConnectTo, Family, Options, Prober};

use crate::body::ProbedBody;
use crate::config::{HttpModule, IpProtocol};
use crate::probe::{Hops, KindRun, ProbeLog, ProbeTarget};
use crate::{http_metrics, token};

pub(crate) async fn probe(
    module: &HttpModule,
    asked: &ProbeTarget,
    limit: Duration,
    log: &mut ProbeLog,
) -> KindRun {
    let deadline = Instant::now() + limit;
    let (target, options) = match request(module, asked, deadline).await {
        Ok(request) => request,
        Err(why) => {
            log.say("error", &why);
            return http_metrics::nothing();
        }
    };
    let mut body = ProbedBody::new(module);
    let mut prober = Prober::new(options);
    let hops = prober.run(&target, 0, &mut body).await;
    let undecoded = body.finish().err();
    let measured = Hops::new(&hops);
    let mut run = http_metrics::metrics(&measured, module, body.length());
    let last = hops.last();
    log_hops(&measured, log);
    let failure = last.and_then(|last| last.failure.as_ref());
    run.failed_phase = failure.map(|failure| failure.phase.as_str());
    if let Some(http) = last.and_then(|last| last.http.as_ref()) {
        let is_whole = failure.is_none() && undecoded.is_none();
        let mut fails = judge(
            module,
            http,
            &mut body,
            is_whole,
            &mut run.failed_by_pattern,
        );
        fails.extend(undecoded.filter(|_| failure.is_none()));
        fails.extend(by_security(
            module,
            last.is_some_and(|last| last.tls.is_some()),
        ));
        for why in &fails {
            log.say("error", why);
        }
        run.success = fails.is_empty() && failure.is_none();
    }
    if module.roundtrip.warm && last.is_some_and(Exchange::ok) {
        let warm = prober.run(&target, 1, &mut io::sink()).await;
        http_metrics::warm(&warm, &mut run.metrics);
    }
    prober.retire().await;
    run.exchanges = hops;
    run
}

async fn request(
    module: &HttpModule,
    asked: &ProbeTarget,
    deadline: Instant,
) -> Result<(Target, Options), String> {
    let named = target(module, &asked.target)?;
    let mut options = options(module, deadline)?;
    options.trace = asked.trace;
    if let Some(settings) = &module.oauth2 {
        let value = token::fetch(settings, deadline).await?;
        options.headers.push(("Authorization".into(), value));
    }
    let host = module.field("host").map(str::to_owned);
    let host = host.or_else(|| asked.hostname.clone());
    let server_name = module
        .tls_config
        .name()
        .filter(|_| named.scheme == Scheme::Https)
        .map(str::to_owned);
    let target = match server_name.or_else(|| host.clone()) {
        None => named,
        Some(name) => {
            // The request goes to the target's address, under another name. A redirect to another
            // origin goes to that origin's address.
            let renamed = under_name(&named, &name, &mut options)?;
            if module.field("host").is_none() {
                options
                    .headers
                    .push(("Host".into(), host.unwrap_or_else(|| named.authority())));
            }
            renamed
        }
    };
    if options.proxy_for(&target).is_some() {
        // The module's protocol is for the target, whose address only the proxy looks up.
        options.family = Family::Any;
    }
    options.check().map_err(|error| error.to_string())?;
    options
        .check_for(&target)
        .map_err(|error| error.to_string())?;
    Ok((target, options))
}

/// The URL to ask: `http` is the default scheme, and HTTP/3 needs `https`.
fn target(module: &HttpModule, given: &str) -> Result<Target, String> {
    let after = |scheme: &str| {
        let start = given.get(..scheme.len())?;
        let rest = given.get(scheme.len()..)?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    let (scheme, rest) = match (after("https://"), after("http://")) {
        (Some(rest), _) => ("https", rest),
        (None, Some(rest)) if module.http_version() == Some("h3") => ("https", rest),
        (None, Some(rest)) => ("http", rest),
        (None, None) => ("http", given),
    };
    Target::parse(&format!("{scheme}://{rest}")).map_err(|error| error.to_string())
}

/// Uses another name in requests, but connects to the address of `named`.
pub(crate) fn under_name(
    named: &Target,
    name: &str,
    options: &mut Options,
) -> Result<Target, String> {
    let renamed = renamed(named, name)?;
    options.connect_to.push(ConnectTo {
        from_host: Some(renamed.host_name()),
        from_port: Some(renamed.port),
        to_host: Some(named.host_name()),
        to_port: Some(named.port),
    });
    Ok(renamed)
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

fn options(module: &HttpModule, deadline: Instant) -> Result<Options, String> {
    let limit = deadline.saturating_duration_since(Instant::now());
    let told = |error: io::Error| error.to_string();
    let mut headers = module.fields().map_err(told)?;
    let mut user_agent = concat!("roundtrip-exporter/", env!("CARGO_PKG_VERSION")).to_owned();
    headers.retain(|(name, value)| {
        let is_agent = name.eq_ignore_ascii_case("user-agent");
        if is_agent {
            user_agent.clone_from(value);
        }
        !is_agent
    });
    for (_, value) in headers.iter_mut().filter(|(_, value)| value.is_empty()) {
        // A field is sent even if it is empty, which an empty value would prevent.
        " ".clone_into(value);
    }
    for name in ["Accept", "Content-Type"] {
        if !headers
            .iter()
            .any(|(given, _)| given.eq_ignore_ascii_case(name))
        {
            headers.push((name.into(), String::new()));
        }
    }
    Ok(Options {
        strategy: strategy(module)?,
        // A warm module measures the cold request, too.
        cold: module.roundtrip.warm,
        keeps_way: true,
        method: module
            .method
            .clone()
            .filter(|method| !method.is_empty())
            .or(Some("GET".into())),
        headers,
        body: module.body().map_err(told)?.into(),
        user: module.user().map_err(told)?,
        user_agent,
        follow: module.follows(),
        max_redirects: 10,
        cookies: true,
        announcements: false,
        family: Family::One {
            v4: module.preferred_ip_protocol == IpProtocol::Ip4,
            falls_back: module.falls_back(),
        },
        proxy: module.proxy()?,
        connect_headers: module.connect_fields(),
        environment: module.environment()?,
        unproxied: module.unproxied(),
        roots: module.tls_config.roots(),
        remembers_chains: true,
        identity: module.tls_config.identity(),
        connect_timeout: limit,
        max_time: limit,
        deadline: Some(deadline),
        ..Options::default()
    })
}

/// The module's own strategy, or the one that blackbox_exporter's settings describe.
fn strategy(module: &HttpModule) -> Result<Strategy, String> {
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
    let described = word.join("+").parse::<Strategy>();
    let described = described.map_err(|error| error.to_string())?;
    Ok(Strategy {
        reuse: module.roundtrip.warm,
        ..described
    })
}

pub(crate) fn log_hops(hops: &Hops<'_>, log: &mut ProbeLog) {
    for (hop, phases) in hops.iter() {
        let status = hop.http.as_ref().map_or(0, |http| http.status);
        let trips: u32 = phases.iter().map(|phase| phase.round_trips).sum();
        let used = hop.used;
        let ms = hop.total().as_secs_f64() * 1e3;
        log.say(
            "info",
            &format!(
                "{} {status} {used} {ms:.1} ms, {trips} round trips",
                hop.url
            ),
        );
        for phase in phases {
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

/// Why an answer breaks the module's rules. Patterns see the header only if the status is valid,
/// and the body only if the header is.
fn judge(
    module: &HttpModule,
    http: &HttpFacts,
    body: &mut ProbedBody,
    is_whole: bool,
    by_pattern: &mut bool,
) -> Vec<String> {
    let mut fails = Vec::new();
    let codes = &module.valid_status_codes;
    let valid = if codes.is_empty() {
        (200..300).contains(&http.status)
    } else {
        codes.contains(&http.status.into())
    };
    if !valid {
        fails.push(format!("the status code {} is not valid", http.status));
    }
    if fails.is_empty() {
        by_header(module, http, &mut fails);
        *by_pattern = !fails.is_empty();
    }
    if fails.is_empty() && module.has_body_patterns() && body.can_be_read() {
        if is_whole {
            by_body(module, &body.text(), &mut fails);
        }
        *by_pattern = !is_whole || !fails.is_empty();
    }
    let versions = &module.valid_http_versions;
    let version = http_metrics::version(&http.version);
    if !versions.is_empty() && !versions.contains(&version.0) {
        fails.push(format!("the version {} is not valid", version.0));
    }
    fails
}

fn by_security(module: &HttpModule, is_secure: bool) -> Option<String> {
    let why = match is_secure {
        true if module.fail_if_ssl => "the final request was over TLS",
        false if module.fail_if_not_ssl => "the final request was not over TLS",
        _ => return None,
    };
    Some(why.into())
}

fn by_body(module: &HttpModule, text: &str, fails: &mut Vec<String>) {
    let mut unwanted = module.fail_if_body_matches_regexp.iter();
    if let Some(pattern) = unwanted.find(|pattern| pattern.is_match(text)) {
        fails.push(format!("the body matches {pattern}"));
    }
    let mut wanted = module.fail_if_body_not_matches_regexp.iter();
    if let Some(pattern) = wanted.find(|pattern| !pattern.is_match(text)) {
        fails.push(format!("the body does not match {pattern}"));
    }
}

fn by_header(module: &HttpModule, http: &HttpFacts, fails: &mut Vec<String>) {
    let values = |name: &str| -> Vec<String> {
        let of = http
            .headers
            .iter()
            .filter(|(field, _)| field.eq_ignore_ascii_case(name));
        of.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
            .collect()
    };
    let unwanted = module
        .fail_if_header_matches
        .iter()
        .map(|rule| (rule, true));
    let wanted = module
        .fail_if_header_not_matches
        .iter()
        .map(|rule| (rule, false));
    for (rule, fails_if) in unwanted.chain(wanted) {
        let found = values(&rule.header);
        let matches = found.iter().any(|value| rule.regexp.is_match(value));
        let (field, pattern) = (&rule.header, &rule.regexp);
        if found.is_empty() {
            if !rule.allow_missing {
                fails.push(format!("the field {field} is missing"));
            }
        } else if matches == fails_if {
            let word = if matches { "matches" } else { "does not match" };
            fails.push(format!("the field {field} {word} {pattern}"));
        }
    }
}
