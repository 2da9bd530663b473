//! Opens a TCP connection, with TLS if the module says so, and exchanges lines.

use std::time::Duration;

use regex::Captures;
use tokio::net::TcpStream;
use tokio::time::timeout_at;

use crate::config::{TcpModule, TcpStep};
use crate::line::{Line, told};
use crate::lookup;
use crate::probe::{KindRun, ProbeLog, ProbeTarget};

/// A longer line ends the probe.
const MAX_LINE: usize = 64 * 1024;
/// The largest number of bytes that are read while waiting for lines.
const MAX_READ: usize = 1024 * 1024;

pub(crate) async fn probe(
    module: &TcpModule,
    asked: &ProbeTarget,
    limit: Duration,
    log: &mut ProbeLog,
) -> KindRun {
    let mut run = KindRun::default();
    let deadline = tokio::time::Instant::now() + limit;
    let mut phase = "name";
    let talking = talk(module, &asked.target, &mut run, &mut phase, log);
    let outcome = timeout_at(deadline, talking).await;
    run.success = matches!(outcome, Ok(Ok(())));
    run.failed_phase = Some(phase).filter(|_| !run.success);
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(why)) => log.say("error", &format!("failed in phase {phase}: {why}")),
        Err(_) => log.say("error", &format!("timed out in phase {phase}")),
    }
    run
}

async fn talk(
    module: &TcpModule,
    target: &str,
    run: &mut KindRun,
    phase: &mut &'static str,
    log: &mut ProbeLog,
) -> Result<(), String> {
    let (host, port) = lookup::host_and_port(target).ok_or("the target is not HOST:PORT")?;
    let family = (module.preferred_ip_protocol, module.ip_protocol_fallback);
    let peer = lookup::address(host, port, family, run).await?;
    let host = module.tls_config.server_name.as_deref().unwrap_or(host);
    run.address = Some(peer.ip());
    *phase = "tcp";
    log.say("info", &format!("Dialing TCP {peer}"));
    let mut line = Line::Clear(TcpStream::connect(peer).await.map_err(told)?);
    log.say("info", "Successfully dialed");
    if module.tls {
        *phase = "tls";
        line = line
            .secured(&module.tls_config, host, &mut run.metrics)
            .await?;
    }
    let mut came = Vec::new();
    for step in &module.query_response {
        *phase = "query_response";
        let found = match &step.expect {
            Some(_) => expect(step, &mut line, &mut came, run, log).await?,
            None => step.send.clone(),
        };
        if !found.is_empty() {
            log.say("info", "Sending line");
            line.write(format!("{found}\n").as_bytes()).await?;
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

/// Reads lines until one matches, and returns the line to send next.
async fn expect(
    step: &TcpStep,
    line: &mut Line,
    came: &mut Vec<u8>,
    run: &mut KindRun,
    log: &mut ProbeLog,
) -> Result<String, String> {
    let Some(pattern) = &step.expect else {
        return Ok(String::new());
    };
    let mut read = 0;
    loop {
        while let Some(end) = came.iter().position(|byte| *byte == b'\n') {
            let text: Vec<u8> = came.drain(..=end).collect();
            let text = String::from_utf8_lossy(&text);
            let text = text.trim_end_matches(['\r', '\n']);
            log.say("debug", &format!("Read line {text}"));
            if let Some(captures) = pattern.0.captures(text) {
                log.say("info", &format!("{} matched", pattern.0));
                return Ok(filled(&step.send, &captures));
            }
        }
        let length = line.read(came).await?;
        read += length;
        if length == 0 || read > MAX_READ || came.len() > MAX_LINE {
            run.failed_by_pattern = true;
            return Err(format!("no line matched {}", pattern.0));
        }
    }
}

/// Replaces `${1}`, `${2}`, … by the matched groups.
fn filled(send: &str, captures: &Captures<'_>) -> String {
    let mut text = String::new();
    captures.expand(send, &mut text);
    text
}
