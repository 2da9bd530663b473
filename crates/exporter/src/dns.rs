//! Asks a name server one question, and checks the records of its answer as text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use roundtrip_wire::dns::{Kind, Name, Query, ResponseText};
use tokio::net::UdpSocket;
use tokio::time::timeout_at;

use crate::config::{DnsModule, Pattern, RecordRules, SourceAddress, Transport};
use crate::line::{self, Line, told};
use crate::lookup;
use crate::probe::{KindRun, ProbeLog, ProbeTarget};
use crate::text::MetricText;

const PORT: u16 = 53;
const TLS_PORT: u16 = 853;
const MAX_MESSAGE: usize = 65_535;

/// How long the parts of the exchange took.
#[derive(Debug, Default)]
struct Spans {
    connect: Duration,
    request: Duration,
}

pub(crate) async fn probe(
    module: &DnsModule,
    asked: &ProbeTarget,
    limit: Duration,
    log: &mut ProbeLog,
) -> KindRun {
    let mut run = KindRun::default();
    let deadline = tokio::time::Instant::now() + limit;
    let mut phase = "name";
    let mut spans = Spans::default();
    let asking = ask(module, &asked.target, &mut run, &mut phase, &mut spans, log);
    let ended = timeout_at(deadline, asking).await;
    let outcome = log.outcome(ended, phase);
    run.failed_phase = Some(phase).filter(|_| outcome.is_none());
    metrics(
        module,
        outcome.as_ref(),
        run.lookup.unwrap_or_default(),
        &spans,
        &mut run.metrics,
    );
    if let Some(response) = &outcome {
        run.success = judge(module, response, &mut run.failed_by_pattern, log);
    }
    run
}

async fn ask(
    module: &DnsModule,
    target: &str,
    run: &mut KindRun,
    phase: &mut &'static str,
    spans: &mut Spans,
    log: &mut ProbeLog,
) -> Result<ResponseText, String> {
    let port = if module.dns_over_tls { TLS_PORT } else { PORT };
    let (host, port) = lookup::host_and_port(target).unwrap_or((target, port));
    let family = (module.preferred_ip_protocol, module.falls_back());
    let server = lookup::address(host, port, family, run).await?;
    run.address = Some(server.ip());
    let (id, query) = query(module)?;
    log.say(
        "info",
        &format!("Asking {server} about {}", module.query_name),
    );
    let began = Instant::now();
    match module.transport_protocol {
        Transport::Udp => {
            let socket = udp(server, module.source_ip_address).await.map_err(told)?;
            spans.connect = began.elapsed();
            *phase = "first_byte";
            let asked = Instant::now();
            socket.send(&query).await.map_err(told)?;
            let mut buffer = vec![0; MAX_MESSAGE];
            loop {
                let length = socket.recv(&mut buffer).await.map_err(told)?;
                let response = ResponseText::parse(buffer.get(..length).unwrap_or_default());
                // Answers to other queries, or forged ones. RFC 5452 §9.1.
                if let Ok(response) = response
                    && response.id == id
                {
                    spans.request = asked.elapsed();
                    return Ok(response);
                }
            }
        }
        Transport::Tcp => {
            *phase = "tcp";
            let source = module.source_ip_address;
            let mut line = line::connect(server, source).await.map_err(told)?;
            if module.dns_over_tls {
                *phase = "tls";
                let settings = &module.tls_config;
                let name = settings.name().unwrap_or(host);
                line = line.secured(settings, name, &mut run.metrics).await?;
            }
            spans.connect = began.elapsed();
            *phase = "first_byte";
            let asked = Instant::now();
            let framed = [&(query.len() as u16).to_be_bytes(), query.as_slice()].concat();
            line.write(&framed).await?;
            let response = framed_response(&mut line).await?;
            spans.request = asked.elapsed();
            if response.id == id {
                Ok(response)
            } else {
                Err("the answer belongs to another query".into())
            }
        }
    }
}

/// A query without EDNS, as blackbox_exporter sends it, and its id.
fn query(module: &DnsModule) -> Result<(u16, Vec<u8>), String> {
    let name: Name = module.query_name.parse().map_err(told)?;
    let id = roundtrip_net::random_dns_id();
    let query = Query {
        recursion_desired: module.wants_recursion(),
        udp_size: None,
        ..Query::new(id, name, module.kind())
    };
    let mut bytes = query.encode().map_err(told)?;
    // The class of the question ends a query without further records.
    let class_at = bytes.len().saturating_sub(2);
    bytes.truncate(class_at);
    bytes.extend(module.class().to_be_bytes());
    Ok((id, bytes))
}

async fn udp(server: SocketAddr, source: SourceAddress) -> std::io::Result<UdpSocket> {
    let any: IpAddr = if server.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let local = SocketAddr::new(source.0.unwrap_or(any), 0);
    let socket = UdpSocket::bind(local).await?;
    socket.connect(server).await?;
    Ok(socket)
}

/// Reads a response over TCP: two bytes of length, then the message. RFC 1035 §4.2.2.
async fn framed_response(line: &mut Line) -> Result<ResponseText, String> {
    let mut came = Vec::new();
    loop {
        let length = came
            .first_chunk()
            .map(|length| usize::from(u16::from_be_bytes(*length)));
        if let Some(message) = length.and_then(|length| came.get(2..2 + length)) {
            return ResponseText::parse(message).map_err(told);
        }
        if line.read(&mut came).await? == 0 {
            return Err("the server closed the connection".into());
        }
    }
}

fn metrics(
    module: &DnsModule,
    response: Option<&ResponseText>,
    lookup: Duration,
    spans: &Spans,
    text: &mut MetricText,
) {
    let phases = [
        ("connect", spans.connect),
        ("request", spans.request),
        ("resolve", lookup),
    ];
    text.gauges(
        "probe_dns_duration_seconds",
        "Duration of DNS request by phase",
        "phase",
        phases.map(|(phase, span)| (phase, span.as_secs_f64())),
    );
    let count = |of: fn(&ResponseText) -> &Vec<String>| response.map_or(0, |r| of(r).len()) as f64;
    for (section, count) in [
        ("additional", count(|r| &r.additionals)),
        ("answer", count(|r| &r.answers)),
        ("authority", count(|r| &r.authorities)),
    ] {
        text.gauge(
            &format!("probe_dns_{section}_rrs"),
            &format!("Returns number of entries in the {section} resource record list"),
            count,
        );
    }
    text.gauge(
        "probe_dns_query_succeeded",
        "Displays whether or not the query was executed successfully",
        f64::from(u8::from(response.is_some())),
    );
    if let Some(response) = response.filter(|_| module.kind() == Kind::SOA) {
        text.gauge(
            "probe_dns_serial",
            "Returns the serial number of the zone",
            response.serial.unwrap_or_default().into(),
        );
    }
}

fn judge(
    module: &DnsModule,
    response: &ResponseText,
    by_pattern: &mut bool,
    log: &mut ProbeLog,
) -> bool {
    if !module.is_valid(response.rcode) {
        log.say(
            "error",
            &format!("the response code {} is not valid", response.rcode),
        );
        return false;
    }
    let sections = [
        ("answer", &response.answers, &module.validate_answer_rrs),
        (
            "authority",
            &response.authorities,
            &module.validate_authority_rrs,
        ),
        (
            "additional",
            &response.additionals,
            &module.validate_additional_rrs,
        ),
    ];
    for (name, records, rules) in sections {
        for record in records {
            log.say("info", &format!("{name}: {record}"));
        }
        if let Some(why) = broken(rules, records) {
            *by_pattern = true;
            log.say("error", &format!("{name} records: {why}"));
            return false;
        }
    }
    true
}

/// Why these records break the rules. Each rule has the meaning that blackbox_exporter gives it:
/// all patterns of `fail_if_all_match_regexp` must match all records, although its name says the
/// contrary.
fn broken(rules: &RecordRules, records: &[String]) -> Option<String> {
    let needed = [&rules.one_misses, &rules.none_matches];
    if records.is_empty() && needed.iter().any(|patterns| !patterns.is_empty()) {
        return Some("a pattern must match, but there are no records".into());
    }
    let matches = |pattern: &Pattern, record: &String| pattern.is_match(record);
    for record in records {
        if let Some(found) = rules.any_matches.iter().find(|p| matches(p, record)) {
            return Some(format!("{record} matches {found}"));
        }
        if let Some(missed) = rules.one_misses.iter().find(|p| !matches(p, record)) {
            return Some(format!("{record} does not match {missed}"));
        }
    }
    let mut all = rules.all_match.iter();
    if !all.all(|pattern| records.iter().all(|record| matches(pattern, record))) {
        return Some("not all records match".into());
    }
    let none = &rules.none_matches;
    let mut any = none
        .iter()
        .flat_map(|pattern| records.iter().map(move |record| (pattern, record)));
    if !none.is_empty() && !any.any(|(pattern, record)| matches(pattern, record)) {
        return Some("no record matches".into());
    }
    None
}
