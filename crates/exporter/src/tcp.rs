//! Opens a TCP connection, and holds a conversation of lines if the module has one.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use regex::Captures;
use roundtrip_net::{Resolver, Wanted};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout_at;

use crate::config::{IpProtocol, TcpModule, TcpStep};
use crate::probe::{KindRun, ProbeLog, ProbeTarget};

/// A longer line ends the probe.
const MAX_LINE: usize = 64 * 1024;
/// The bytes that may be read while lines are awaited.
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
    match outcome {
        Ok(Ok(())) => run.success = true,
        Ok(Err(why)) => log.say("error", &format!("failed in phase {phase}: {why}")),
        Err(_) => log.say("error", &format!("the time was up in phase {phase}")),
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
    let peer = look_up(module, target, run).await?;
    run.address = Some(peer.ip());
    *phase = "tcp";
    log.say("info", &format!("Dialing TCP {peer}"));
    let mut stream = TcpStream::connect(peer)
        .await
        .map_err(|error| error.to_string())?;
    log.say("info", "Successfully dialed");
    *phase = "query_response";
    let mut came = Vec::new();
    for step in &module.query_response {
        let found = match &step.expect {
            Some(_) => expect(step, &mut stream, &mut came, run, log).await?,
            None => step.send.clone(),
        };
        if !found.is_empty() {
            log.say("info", "Sending line");
            let line = format!("{found}\n");
            stream
                .write_all(line.as_bytes())
                .await
                .map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

async fn look_up(
    module: &TcpModule,
    target: &str,
    run: &mut KindRun,
) -> Result<SocketAddr, String> {
    let (host, port) = target
        .rsplit_once(':')
        .ok_or("the target is not HOST:PORT")?;
    let port: u16 = port.parse().map_err(|_| "the target is not HOST:PORT")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let began = Instant::now();
    let resolver = Resolver::system().map_err(|error| error.to_string())?;
    let wanted = Wanted {
        v4: true,
        v6: true,
        https: None,
    };
    let found = resolver
        .look_up(host, wanted)
        .await
        .map_err(|error| error.to_string())?;
    run.lookup = began.elapsed();
    let prefers_4 = module.preferred_ip_protocol == IpProtocol::Ip4;
    let preferred = found
        .addresses
        .iter()
        .find(|address| address.is_ipv4() == prefers_4);
    let other = found
        .addresses
        .first()
        .filter(|_| module.ip_protocol_fallback);
    let address = preferred
        .or(other)
        .ok_or("the name has no address of the preferred IP protocol")?;
    Ok(SocketAddr::new(*address, port))
}

/// Reads lines until one matches; returns what is to be sent then.
async fn expect(
    step: &TcpStep,
    stream: &mut TcpStream,
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
            let line: Vec<u8> = came.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            log.say("debug", &format!("Read line {line}"));
            if let Some(captures) = pattern.0.captures(line) {
                log.say("info", &format!("{} matched", pattern.0));
                return Ok(filled(&step.send, &captures));
            }
        }
        let length = stream
            .read_buf(came)
            .await
            .map_err(|error| error.to_string())?;
        read += length;
        if length == 0 || read > MAX_READ || came.len() > MAX_LINE {
            run.failed_by_pattern = true;
            return Err(format!("no line matched {}", pattern.0));
        }
    }
}

/// The text with `${1}` and its like replaced by what was matched.
fn filled(send: &str, captures: &Captures<'_>) -> String {
    let mut text = String::new();
    captures.expand(send, &mut text);
    text
}
