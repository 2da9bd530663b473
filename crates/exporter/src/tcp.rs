//! Opens a connection over TCP or to a Unix socket, with TLS if the module says so, and exchanges
//! lines.

use std::path::Path;
use std::time::Duration;

use regex::Captures;
use tokio::time::error::Elapsed;
use tokio::time::timeout_at;

use crate::config::{Pattern, TcpModule, TcpStep};
use crate::line::{self, Line, told};
use crate::lookup;
use crate::probe::{KindRun, ProbeLog, ProbeTarget};
use crate::text::MetricText;

/// A longer line ends the probe.
const MAX_LINE: usize = 64 * 1024;
/// The largest number of bytes that are read while waiting for lines.
const MAX_READ: usize = 1024 * 1024;

/// The name to verify if the module names none: only with `insecure_skip_verify`, for nothing.
const UNIX_HOST: &str = "localhost";

pub(crate) async fn probe(
    module: &TcpModule,
    asked: &ProbeTarget,
    limit: Duration,
    log: &mut ProbeLog,
) -> KindRun {
    let mut run = KindRun::default();
    let deadline = tokio::time::Instant::now() + limit;
    let mut phase = "name";
    let talking = async {
        let (host, line) = dial(module, asked, &mut run, &mut phase, log).await?;
        talk(module, host, line, &mut run, &mut phase, log).await
    };
    let ended = timeout_at(deadline, talking).await;
    finish(&mut run, ended, phase, log);
    run
}

/// Records how the probe ended.
fn finish(
    run: &mut KindRun,
    ended: Result<Result<(), String>, Elapsed>,
    phase: &'static str,
    log: &mut ProbeLog,
) {
    run.success = log.outcome(ended, phase).is_some();
    run.failed_phase = Some(phase).filter(|_| !run.success);
    run.metrics.gauge(
        "probe_failed_due_to_bytes",
        "Indicates if probe failed due to bytes",
        f64::from(u8::from(run.failed_by_bytes)),
    );
}

/// A probe of a Unix socket, whose target is its path.
pub(crate) async fn probe_unix(
    module: &TcpModule,
    asked: &ProbeTarget,
    limit: Duration,
    log: &mut ProbeLog,
) -> KindRun {
    let mut run = KindRun::default();
    let deadline = tokio::time::Instant::now() + limit;
    let mut phase = "connect";
    let talking = async {
        log.say("info", &format!("Dialing {}", asked.target));
        let line = line::connect_unix(Path::new(&asked.target));
        let line = line.await.map_err(told)?;
        log.say("info", "Successfully dialed");
        let host = module.tls_config.name().unwrap_or(UNIX_HOST);
        talk(module, host, line, &mut run, &mut phase, log).await
    };
    let ended = timeout_at(deadline, talking).await;
    finish(&mut run, ended, phase, log);
    run
}

/// Opens a TCP connection, and returns it with the name that TLS verifies.
async fn dial<'a>(
    module: &'a TcpModule,
    asked: &'a ProbeTarget,
    run: &mut KindRun,
    phase: &mut &'static str,
    log: &mut ProbeLog,
) -> Result<(&'a str, Line), String> {
    let (host, port) = lookup::host_and_port(&asked.target).ok_or("the target is not HOST:PORT")?;
    let family = (module.preferred_ip_protocol, module.falls_back());
    let peer = lookup::address(host, port, family, run).await?;
    let name = module.tls_config.name().or(asked.hostname.as_deref());
    run.address = Some(peer.ip());
    *phase = "tcp";
    log.say("info", &format!("Dialing TCP {peer}"));
    let source = module.source_ip_address;
    let line = line::connect(peer, source).await.map_err(told)?;
    log.say("info", "Successfully dialed");
    Ok((name.unwrap_or(host), line))
}

async fn talk(
    module: &TcpModule,
    host: &str,
    mut line: Line,
    run: &mut KindRun,
    phase: &mut &'static str,
    log: &mut ProbeLog,
) -> Result<(), String> {
    if module.tls {
        *phase = "tls";
        line = line
            .secured(&module.tls_config, host, &mut run.metrics)
            .await?;
    }
    let mut came = Vec::new();
    for step in &module.query_response {
        *phase = "query_response";
        let send = match &step.expect {
            Some(pattern) => expect(step, pattern, &mut line, &mut came, run, log).await?,
            None => step.send.0.clone(),
        };
        if !step.expect_bytes.0.is_empty() {
            expect_bytes(&step.expect_bytes.0, &mut line, &mut came, run).await?;
            log.say("info", "Bytes matched");
        }
        if !send.is_empty() {
            log.say("info", "Sending line");
            line.write(&[send.as_slice(), b"\n"].concat()).await?;
        }
        if step.starttls {
            *phase = "tls";
            // Bytes from before the TLS handshake, which anyone can have sent, must not count as
            // encrypted.
            came.clear();
            line = line
                .secured(&module.tls_config, host, &mut run.metrics)
                .await?;
            log.say("info", "TLS handshake succeeded");
        }
    }
    Ok(())
}

/// Reads lines until one matches, and returns the bytes to send next. The last line needs no end.
async fn expect(
    step: &TcpStep,
    pattern: &Pattern,
    line: &mut Line,
    came: &mut Vec<u8>,
    run: &mut KindRun,
    log: &mut ProbeLog,
) -> Result<Vec<u8>, String> {
    let (mut read, mut is_over) = (0, false);
    loop {
        while let Some(text) = next_line(came, is_over) {
            log.say("debug", &format!("Read line {text}"));
            if let Some(captures) = pattern.captures(&text) {
                log.say("info", &format!("{pattern} matched"));
                labels(step, &captures, &mut run.metrics);
                return Ok(match std::str::from_utf8(&step.send.0) {
                    Ok(send) => filled(send, &captures).into_bytes(),
                    Err(_) => step.send.0.clone(),
                });
            }
        }
        if came.len() > MAX_LINE {
            return Err("a line is too long".into());
        }
        if is_over || read > MAX_READ {
            run.failed_by_pattern = true;
            return Err(format!("no line matched {pattern}"));
        }
        let length = line.read(came).await?;
        read += length;
        is_over = length == 0;
    }
}

/// Takes a line without its end off the bytes; if no more bytes will come, the rest is a line.
fn next_line(came: &mut Vec<u8>, is_over: bool) -> Option<String> {
    let end = came.iter().position(|byte| *byte == b'\n');
    let length = match end {
        Some(end) => end + 1,
        None if is_over && !came.is_empty() => came.len(),
        None => return None,
    };
    let bytes: Vec<u8> = came.drain(..length).collect();
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Some(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

/// Reads as many bytes as are expected, and compares them.
async fn expect_bytes(
    expected: &[u8],
    line: &mut Line,
    came: &mut Vec<u8>,
    run: &mut KindRun,
) -> Result<(), String> {
    while came.len() < expected.len() {
        if line.read(came).await? == 0 {
            return Err("the connection ended before the expected bytes".into());
        }
    }
    let found: Vec<u8> = came.drain(..expected.len()).collect();
    run.failed_by_bytes = found != expected;
    if run.failed_by_bytes {
        return Err(format!("the bytes are not the expected ones: {found:02x?}"));
    }
    Ok(())
}

/// The parts of the matched line, as labels of a metric.
fn labels(step: &TcpStep, captures: &Captures<'_>, metrics: &mut MetricText) {
    if step.labels.is_empty() {
        return;
    }
    let name = "probe_expect_info";
    metrics.head(name, "Explicit content matched", "gauge");
    let labels = step.labels.iter();
    let labels: Vec<_> = labels
        .map(|label| (label.name.value.as_str(), filled(&label.value, captures)))
        .collect();
    let labels: Vec<_> = labels
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    metrics.sample(name, &labels, 1.0);
}

/// Replaces `${1}`, `${2}`, … by the matched groups.
fn filled(text: &str, captures: &Captures<'_>) -> String {
    let mut filled = String::new();
    captures.expand(text, &mut filled);
    filled
}
