//! The fast-open echo of `tcp://host:port`: `hello\n` there and back, twice. With fast open, the
//! first one leaves in the SYN.

use std::time::SystemTime;

use roundtrip_model::{EchoFacts, Event, Exchange, Http, Recorder, Security, Strategy, Target};
use roundtrip_net::{Connect, Gauge, Socket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::ProbeError;
use crate::connector::peers;
use crate::exchanger::Exchanger;

const GREETING: &[u8] = b"hello\n";

/// Sends the greeting to an echo server twice, within the time allowed for an exchange.
pub(crate) async fn echo(
    exchanger: &mut Exchanger,
    target: &Target,
    strategy: Strategy,
    run: u32,
) -> Exchange {
    let recorder = exchanger.recorder();
    let mut exchange = Exchange {
        url: target.redacted(),
        started: Some(SystemTime::now()),
        asked: strategy,
        run,
        ..Exchange::default()
    };
    let mut gauge = None;
    let limit = exchanger.options().time_left();
    let greeting = greet(exchanger, target, &recorder, &mut exchange, &mut gauge);
    let outcome = timeout(limit, greeting).await;
    let outcome = outcome.unwrap_or(Err(ProbeError::Timeout(limit)));
    recorder.record(Event::Finished);
    exchanger.mark_end();
    exchange.timeline = recorder.snapshot();
    if let Some(gauge) = gauge {
        exchange.rtt = gauge.min_rtt();
        exchange.tcp = Some(gauge.facts());
    }
    let saved = exchange
        .tcp
        .as_ref()
        .is_some_and(|t| t.fast_open.saved_round_trips > 0);
    exchange.used = Strategy {
        http: Http::Echo,
        security: Security::Auto,
        fast_open: saved,
        ..strategy
    };
    exchange.failure = outcome.err().map(|error| error.explain(&exchange));
    exchange.findings = roundtrip_explain::findings(&exchange);
    exchange
}

async fn greet(
    exchanger: &mut Exchanger,
    target: &Target,
    recorder: &Recorder,
    exchange: &mut Exchange,
    gauge: &mut Option<Gauge>,
) -> Result<(), ProbeError> {
    let port = exchanger.options().destination(target).port;
    let facts = exchanger.look_up(target, recorder).await?;
    let peers = peers(&facts, port);
    exchange.name = Some(facts);
    let connect = Connect {
        fast_open: exchange.asked.fast_open,
        bind: exchanger.options().bind.clone(),
        first: None,
    };
    let limit = exchanger.options().connect_timeout;
    let opening = connect.open(&peers, recorder, &mut exchange.attempts);
    let mut socket = timeout(limit, opening)
        .await
        .map_err(|_| ProbeError::Timeout(limit))??;
    exchanger.counts().count_connection();
    *gauge = socket.gauge().ok();
    let echo = exchange.echo.insert(EchoFacts::default());
    recorder.record(Event::RequestStarted);
    for turn in 0..2 {
        socket
            .write_all(GREETING)
            .await
            .map_err(roundtrip_http::HttpError::from)?;
        echo.sent += GREETING.len() as u64;
        if turn == 0 {
            recorder.record_departure(Event::RequestSent);
        }
        hear(&mut socket, echo).await?;
        if turn == 0 {
            recorder.record_arrival(Event::FirstByte);
        }
        echo.exchanges += 1;
    }
    let _ = socket.shutdown().await;
    Ok(())
}

async fn hear(socket: &mut Socket, echo: &mut EchoFacts) -> Result<(), ProbeError> {
    let mut heard = [0; GREETING.len()];
    let mut n = 0;
    while let Some(rest) = heard.get_mut(n..).filter(|rest| !rest.is_empty()) {
        match socket
            .read(rest)
            .await
            .map_err(roundtrip_http::HttpError::from)?
        {
            0 => break,
            more => n += more,
        }
    }
    echo.received += n as u64;
    let got = heard.get(..n).unwrap_or_default();
    if got == GREETING {
        return Ok(());
    }
    let shown = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    Err(ProbeError::Echo {
        wanted: shown(GREETING),
        got: shown(got),
    })
}
