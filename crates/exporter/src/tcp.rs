//! Opens a TCP connection, with TLS if the module says so, and exchanges lines.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use regex::Captures;
use roundtrip_model::Recorder;
use roundtrip_net::{Resolver, SystemClock, Wanted};
use roundtrip_tls::{Client, Offer, Stream, handshake_facts};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout_at;

use crate::certificates;
use crate::config::{IpProtocol, TcpModule, TcpStep};
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
    let (host, peer) = look_up(module, target, run).await?;
    let host = module.tls_config.server_name.as_deref().unwrap_or(host);
    run.address = Some(peer.ip());
    *phase = "tcp";
    log.say("info", &format!("Dialing TCP {peer}"));
    let mut line = Line::Clear(TcpStream::connect(peer).await.map_err(told)?);
    log.say("info", "Successfully dialed");
    if module.tls {
        *phase = "tls";
        line = line.secured(module, host, run).await?;
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
            // What a stranger sent before the handshake must not count as sent after it.
            came.clear();
            line = line.secured(module, host, run).await?;
            log.say("info", "TLS handshake succeeded");
        }
    }
    Ok(())
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The connection, before and after its TLS handshake.
enum Line {
    Clear(TcpStream),
    Secure(Box<Stream<TcpStream>>),
}

impl Line {
    async fn secured(
        self,
        module: &TcpModule,
        host: &str,
        run: &mut KindRun,
    ) -> Result<Self, String> {
        let Self::Clear(tcp) = self else {
            return Err("TLS has begun already".into());
        };
        let settings = &module.tls_config;
        let identity = settings.identity();
        let client = Client::new(settings.roots(), identity.as_ref()).map_err(told)?;
        let offer = Offer {
            tls12: settings.only_version() != Some("tls1.3"),
            tls13: settings.only_version() != Some("tls1.2"),
            post_quantum: true,
            early_data: false,
            resume: false,
            alpn: Vec::new(),
            quic: false,
        };
        let recorder = Recorder::new(Arc::new(SystemClock::start()));
        let mut stream = client.connect(tcp, &offer, host, &recorder).map_err(told)?;
        stream.handshake().await.map_err(told)?;
        let facts = handshake_facts(stream.connection(), Some(client.verifier()));
        certificates::metrics(&facts, settings.is_verified(), &mut run.metrics);
        Ok(Self::Secure(Box::new(stream)))
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Self::Clear(stream) => stream.write_all(bytes).await.map_err(told),
            Self::Secure(stream) => {
                stream.write_all(bytes).await.map_err(told)?;
                stream.flush().await.map_err(told)
            }
        }
    }

    async fn read(&mut self, into: &mut Vec<u8>) -> Result<usize, String> {
        match self {
            Self::Clear(stream) => stream.read_buf(into).await.map_err(told),
            Self::Secure(stream) => stream.read_buf(into).await.map_err(told),
        }
    }
}

/// The host of the target, and its address.
async fn look_up<'a>(
    module: &TcpModule,
    target: &'a str,
    run: &mut KindRun,
) -> Result<(&'a str, SocketAddr), String> {
    let (host, port) = target
        .rsplit_once(':')
        .ok_or("the target is not HOST:PORT")?;
    let port: u16 = port.parse().map_err(|_| "the target is not HOST:PORT")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok((host, SocketAddr::new(address, port)));
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
    Ok((host, SocketAddr::new(*address, port)))
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
