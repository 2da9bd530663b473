//! The queue of spans, and the task that sends them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use roundtrip_fetch::pool::{Pool, PoolRequest, Settings};
use roundtrip_model::{Exchange, Http, Memory, Strategy, Target, TraceContext};
use roundtrip_wire::otlp::{self, Span};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, interval_at, sleep_until, timeout};

use crate::histograms::Histograms;
use crate::{OtlpError, OtlpProtocol, OtlpSettings};

/// The largest size of a collector's answer, in bytes.
const MAX_ANSWER: u64 = 1 << 20;

/// Queues spans, which a task sends in the background. Clones share the queue.
#[derive(Clone)]
pub struct Telemetry {
    shared: Arc<Shared>,
    queue: mpsc::UnboundedSender<Work>,
}

/// The fate of spans.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TelemetryCounts {
    pub sent: u64,
    /// The collector did not take them.
    pub failed: u64,
    /// The queue was full.
    pub dropped: u64,
    /// The reason for the last failure.
    pub why: Option<String>,
}

struct Shared {
    settings: OtlpSettings,
    pool: Pool,
    started: u64,
    waiting: AtomicUsize,
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    why: Mutex<Option<String>>,
    histograms: Mutex<Histograms>,
}

enum Work {
    Spans(Vec<Span>),
    Flush(oneshot::Sender<()>),
}

impl Telemetry {
    /// Begins to send in a task of the current runtime.
    pub fn start(settings: OtlpSettings) -> Result<Self, OtlpError> {
        let http = match settings.protocol {
            OtlpProtocol::Grpc => Http::H2,
            OtlpProtocol::Http => Http::Auto,
        };
        let pool = Pool::new(Settings {
            strategy: Strategy {
                http,
                memory: Memory::Resume,
                reuse: true,
                ..Strategy::default()
            },
            roots: settings.roots.clone(),
            ..Settings::default()
        })?;
        let shared = Arc::new(Shared {
            settings,
            pool,
            started: now(),
            waiting: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            why: Mutex::default(),
            histograms: Mutex::default(),
        });
        let (queue, work) = mpsc::unbounded_channel();
        tokio::spawn(send_all(shared.clone(), work));
        Ok(Self { shared, queue })
    }

    /// A new position below `parent`, in its trace or in a new one.
    pub fn context(&self, parent: Option<TraceContext>) -> TraceContext {
        let mut random = [0; 24];
        // If there is no randomness, the ids are zero, which collectors refuse.
        let _ = aws_lc_rs::rand::fill(&mut random);
        let (trace, span) = random.split_at(16);
        let trace_id = trace.try_into().unwrap_or_default();
        TraceContext {
            trace_id: parent.map_or(trace_id, |parent| parent.trace_id),
            span_id: span.try_into().unwrap_or_default(),
            sampled: self.shared.settings.sampler.samples(trace_id, parent),
        }
    }

    /// Queues spans, or drops all of them if the queue has no room for them.
    pub fn send(&self, spans: Vec<Span>) {
        let shared = &self.shared;
        let count = spans.len();
        let before = shared.waiting.fetch_add(count, Ordering::Relaxed);
        let fits = before + count <= shared.settings.max_queue;
        if !fits || self.queue.send(Work::Spans(spans)).is_err() {
            shared.waiting.fetch_sub(count, Ordering::Relaxed);
            shared.dropped.fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    /// Counts exchanges in the metrics.
    pub fn count(&self, exchanges: &[Exchange]) {
        let histograms = self.shared.histograms.lock();
        let mut histograms = histograms.unwrap_or_else(PoisonError::into_inner);
        for exchange in exchanges {
            histograms.add(exchange);
        }
    }

    pub fn counts(&self) -> TelemetryCounts {
        let shared = &self.shared;
        let why = shared.why.lock().unwrap_or_else(PoisonError::into_inner);
        TelemetryCounts {
            sent: shared.sent.load(Ordering::Relaxed),
            failed: shared.failed.load(Ordering::Relaxed),
            dropped: shared.dropped.load(Ordering::Relaxed),
            why: why.clone(),
        }
    }

    /// Sends everything that waits, and the metrics, within a time limit.
    pub async fn flush(&self, limit: Duration) {
        let (done, is_done) = oneshot::channel();
        if self.queue.send(Work::Flush(done)).is_ok() {
            let _ = timeout(limit, is_done).await;
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

async fn send_all(shared: Arc<Shared>, mut work: mpsc::UnboundedReceiver<Work>) {
    let settings = &shared.settings;
    let first = Instant::now() + settings.metric_interval;
    let mut metrics = interval_at(first, settings.metric_interval);
    let mut spans: Vec<Span> = Vec::new();
    let mut due = None;
    loop {
        let wake = async {
            match due {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            more = work.recv() => match more {
                None => return shared.send_spans(std::mem::take(&mut spans)).await,
                Some(Work::Spans(more)) => {
                    spans.extend(more);
                    due.get_or_insert(Instant::now() + settings.delay);
                    if spans.len() < settings.max_batch {
                        continue;
                    }
                }
                Some(Work::Flush(done)) => {
                    shared.send_spans(std::mem::take(&mut spans)).await;
                    shared.send_metrics().await;
                    let _ = done.send(());
                }
            },
            () = wake => {}
            _ = metrics.tick() => {
                shared.send_metrics().await;
                continue;
            }
        }
        due = None;
        shared.send_spans(std::mem::take(&mut spans)).await;
    }
}

impl Shared {
    async fn send_spans(&self, spans: Vec<Span>) {
        let settings = &self.settings;
        for batch in spans.chunks(settings.max_batch) {
            let body = otlp::traces(&settings.resource, env!("CARGO_PKG_VERSION"), batch);
            let fate = match self.post(&settings.traces, body).await {
                Ok(()) => &self.sent,
                Err(why) => {
                    self.failed_because(why);
                    &self.failed
                }
            };
            fate.fetch_add(batch.len() as u64, Ordering::Relaxed);
            self.waiting.fetch_sub(batch.len(), Ordering::Relaxed);
        }
    }

    async fn send_metrics(&self) {
        let metrics = {
            let histograms = self.histograms.lock();
            let histograms = histograms.unwrap_or_else(PoisonError::into_inner);
            histograms.metrics(self.started, now())
        };
        if !metrics.is_empty() {
            let settings = &self.settings;
            let body = otlp::metrics(&settings.resource, env!("CARGO_PKG_VERSION"), &metrics);
            if let Err(why) = self.post(&settings.metrics, body).await {
                self.failed_because(why);
            }
        }
    }

    fn failed_because(&self, why: String) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    /// Sends one request. A failed one is not repeated: its contents are lost and counted.
    async fn post(&self, target: &Target, body: Vec<u8>) -> Result<(), String> {
        let is_grpc = self.settings.protocol == OtlpProtocol::Grpc;
        let mut headers = self.settings.headers.clone();
        let mut add = |name: &str, value: &str| headers.push((name.into(), value.into()));
        add(
            "User-Agent",
            concat!("roundtrip/", env!("CARGO_PKG_VERSION")),
        );
        let body = if is_grpc {
            add("Content-Type", "application/grpc");
            add("TE", "trailers");
            framed(&body)
        } else {
            add("Content-Type", "application/x-protobuf");
            body.into()
        };
        let request = PoolRequest {
            method: "POST",
            headers,
            body,
            early: false,
            limit: MAX_ANSWER,
            shares: false,
            ..PoolRequest::new(target.clone())
        };
        let limit = self.settings.timeout;
        let reply = timeout(limit, self.pool.fetch(&request)).await;
        let reply = reply
            .map_err(|_| format!("no answer within {:.1} s", limit.as_secs_f64()))?
            .map_err(|error| error.to_string())?;
        if !(200..300).contains(&reply.status) {
            return Err(format!("the collector answered {}", reply.status));
        }
        // A refusal has its status in the head, because it has no message.
        match reply.header("grpc-status") {
            Some(status) if is_grpc && status != b"0" => {
                let told = reply.header("grpc-message").unwrap_or_default();
                let (status, told) = (
                    String::from_utf8_lossy(status),
                    String::from_utf8_lossy(told),
                );
                Err(format!(
                    "the collector answered with the gRPC status {status}: {told}"
                ))
            }
            _ => Ok(()),
        }
    }
}

/// An uncompressed gRPC message: a zero byte, the length, the message.
fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&[0], length.to_be_bytes().as_slice(), message]
        .concat()
        .into()
}
