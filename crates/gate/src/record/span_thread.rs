//! The thread that sends spans and durations to a collector, so that no thread that serves waits
//! for it. Their outcomes are counted in a separate ledger.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use roundtrip_otlp::{OtlpSettings, Telemetry, TelemetryCounts};
use tokio::sync::oneshot;
use tokio::time::interval;

use super::server_durations::{ServerDurations, metric};
use super::tracer::SpanSender;
use super::{Ledger, Spans};
use crate::GateError;

/// How often the outcomes of spans are added to the ledger.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// How long sending the rest may take at the end.
const MAX_FLUSH: Duration = Duration::from_secs(5);

pub(crate) struct SpanThread {
    telemetry: Telemetry,
    durations: Vec<Arc<ServerDurations>>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl SpanThread {
    /// Starts the thread. Until this returns, only the calling thread may use `ledger`.
    pub(crate) fn start(
        settings: OtlpSettings,
        ledger: Arc<Ledger>,
        threads: usize,
    ) -> Result<Self, GateError> {
        let durations: Vec<Arc<ServerDurations>> = (0..threads).map(|_| Arc::default()).collect();
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = mpsc::sync_channel(1);
        let read = durations.clone();
        let metrics = move |start, time| {
            let threads = read.iter().map(|thread| &**thread);
            metric(threads, start, time).into_iter().collect()
        };
        let serve = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(source) => return drop(tell.send(Err(GateError::Thread(source)))),
            };
            runtime.block_on(async move {
                match Telemetry::start_with(settings, Some(Box::new(metrics))) {
                    Ok(telemetry) => {
                        let _ = tell.send(Ok(telemetry.clone()));
                        send(&telemetry, &ledger, stopped).await;
                    }
                    Err(error) => drop(tell.send(Err(error.into()))),
                }
            });
        };
        let thread = std::thread::Builder::new()
            .name("gate-otlp".into())
            .spawn(serve)
            .map_err(GateError::Thread)?;
        let telemetry = told.recv();
        Ok(Self {
            telemetry: telemetry
                .map_err(|_| GateError::Thread(std::io::ErrorKind::Other.into()))??,
            durations,
            stop,
            thread,
        })
    }

    /// What the thread with this number needs to send spans.
    pub(crate) fn sender(&self, number: usize) -> SpanSender {
        SpanSender {
            telemetry: self.telemetry.clone(),
            durations: self.durations.get(number).cloned().unwrap_or_default(),
        }
    }

    /// Sends the rest, within a time limit.
    pub(crate) fn finish(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

async fn send(telemetry: &Telemetry, ledger: &Ledger, mut stopped: oneshot::Receiver<()>) {
    let mut told = TelemetryCounts::default();
    let mut ticks = interval(REPORT_INTERVAL);
    loop {
        let is_over = tokio::select! {
            _ = ticks.tick() => false,
            _ = &mut stopped => true,
        };
        if is_over {
            telemetry.flush(MAX_FLUSH).await;
        }
        let counts = telemetry.counts();
        for (fate, now, before) in [
            (Spans::Sent, counts.sent, told.sent),
            (Spans::Failed, counts.failed, told.failed),
            (Spans::Dropped, counts.dropped, told.dropped),
        ] {
            ledger.add(fate, now.saturating_sub(before));
        }
        if counts.why != told.why
            && let Some(why) = &counts.why
        {
            tracing::warn!(why, "the collector did not accept spans");
        }
        if is_over {
            return;
        }
        told = counts;
    }
}
