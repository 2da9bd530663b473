//! The fast-open echo of `tcp://host:port`: `hello\n` there and back, twice. With fast open the first leaves in the SYN.

use roundtrip_model::{EchoFacts, Event, Exchange, Http, Recorder, Security, Strategy, Target};
use roundtrip_net::{Connect, Gauge, Socket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::{ProbeError, Prober, name};

const GREETING: &[u8] = b"hello\n";

impl Prober {
    pub(crate) async fn echo(&mut self, target: &Target, strategy: Strategy, run: u32) -> Exchange {
        let recorder = self.recorder();
        let mut exchange = Exchange {
            url: target.redacted(),
            asked: strategy,
            run,
            ..Exchange::default()
        };
        let mut gauge = None;
        let limit = self.options.max_time;
        let outcome = match timeout(
            limit,
            self.greet(target, &recorder, &mut exchange, &mut gauge),
        )
        .await
        {
            Ok(outcome) => outcome,
            Err(_) => Err(ProbeError::Timeout(limit)),
        };
        recorder.record(Event::Finished);
        self.tally.over = self.clock.now();
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
        &mut self,
        target: &Target,
        recorder: &Recorder,
        exchange: &mut Exchange,
        gauge: &mut Option<Gauge>,
    ) -> Result<(), ProbeError> {
        let destination = self.destination(target);
        let facts = self.look_up(&destination, target, recorder).await?;
        let peers = name::peers(&facts, destination.port);
        exchange.name = Some(facts);
        let connect = Connect {
            fast_open: exchange.asked.fast_open,
            bind: self.options.bind.clone(),
        };
        let limit = self.options.connect_timeout;
        let opening = connect.open(&peers, recorder, &mut exchange.attempts);
        let mut socket = timeout(limit, opening)
            .await
            .map_err(|_| ProbeError::Timeout(limit))??;
        self.tally.connections += 1;
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
