//! The queue of spans, and the task that sends them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use roundtrip_fetch::memory::Stamp;
use roundtrip_fetch::pool::{Pool, PoolRequest, Settings};
use roundtrip_model::{Exchange, Http, Memory, Strategy, Target, TraceContext};
use roundtrip_wire::otlp::{self, HistogramMetric, Span};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, Interval, interval_at, sleep, sleep_until, timeout, timeout_at};

use crate::histograms::Histograms;
use crate::refusal::{Again, ExportError, pause};
use crate::{OtlpError, OtlpProtocol, OtlpSettings};

/// The largest size of a collector's answer, in bytes.
const MAX_ANSWER: u64 = 1 << 20;
/// The longest pause before a request is repeated, if the program waits for it to end.
const MAX_LAST_PAUSE: Duration = Duration::from_secs(2);
/// A byte for compression, and the length.
const GRPC_HEAD: usize = 5;

/// Queues spans, which a task sends in the background. Clones share the queue.
#[derive(Clone)]
pub struct Telemetry {
    shared: Arc<Shared>,
    queue: mpsc::UnboundedSender<Work>,
}

/// Makes metrics, from the time when they began and the present time, both in nanoseconds since
/// 1970.
pub type MetricSource = Box<dyn Fn(u64, u64) -> Vec<HistogramMetric> + Send + Sync>;

/// The outcomes of spans.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TelemetryCounts {
    pub sent: u64,
    /// The number of spans that the collector did not accept.
    pub failed: u64,
    /// The queue was full.
    pub dropped: u64,
    /// Requests that were sent again.
    pub retried: u64,
    /// Why the collector did not accept the last spans that failed.
    pub why: Option<String>,
}

struct Shared {
    settings: OtlpSettings,
    metrics: Option<MetricSource>,
    pool: Pool,
    started: u64,
    waiting: AtomicUsize,
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    retried: AtomicU64,
    why: Mutex<Option<String>>,
    /// A batch is full, or the program waits to end.
    hurry: Notify,
    /// The program waits to end.
    is_ending: AtomicBool,
    ending: Notify,
    histograms: Mutex<Histograms>,
}

enum Work {
    Spans(Vec<Span>),
    Flush(oneshot::Sender<()>),
}

impl Telemetry {
    /// Begins to send in a task of the current runtime.
    pub fn start(settings: OtlpSettings) -> Result<Self, OtlpError> {
        Self::start_with(settings, None)
    }

    /// Like [`Self::start`], with the caller's metrics in addition.
    pub fn start_with(
        settings: OtlpSettings,
        metrics: Option<MetricSource>,
    ) -> Result<Self, OtlpError> {
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
            metrics,
            pool,
            started: now(),
            waiting: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            retried: AtomicU64::new(0),
            why: Mutex::default(),
            hurry: Notify::new(),
            is_ending: AtomicBool::new(false),
            ending: Notify::new(),
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

    /// Whether a trace is recorded, below `parent` if there is one.
    pub fn samples(&self, trace_id: [u8; 16], parent: Option<TraceContext>) -> bool {
        self.shared.settings.sampler.samples(trace_id, parent)
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
        } else if before + count >= shared.settings.max_batch {
            shared.hurry.notify_one();
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
            retried: shared.retried.load(Ordering::Relaxed),
            why: why.clone(),
        }
    }

    /// Sends everything that waits, and the metrics, within a time limit. Called before the program
    /// ends. From now on, a failed request is repeated only if the collector answered that it is
    /// busy.
    pub async fn flush(&self, limit: Duration) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        self.shared.ending.notify_one();
        let (done, is_done) = oneshot::channel();
        if self.queue.send(Work::Flush(done)).is_ok() {
            self.shared.hurry.notify_one();
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
    loop {
        let first = tokio::select! {
            first = work.recv() => first,
            _ = metrics.tick() => {
                shared.send_metrics().await;
                continue;
            }
        };
        let Some(first) = first else { return };
        if matches!(first, Work::Spans(_)) {
            shared.collect_batch(&mut metrics).await;
        }
        let mut spans = Vec::new();
        let mut flushed = Vec::new();
        let mut next = Some(first);
        while let Some(item) = next {
            match item {
                Work::Spans(more) => spans.extend(more),
                Work::Flush(done) => flushed.push(done),
            }
            next = work.try_recv().ok();
        }
        shared.send_spans(spans).await;
        if !flushed.is_empty() {
            shared.send_metrics().await;
        }
        for done in flushed {
            let _ = done.send(());
        }
    }
}

impl Shared {
    /// Waits until a batch is due. The task that sends does not wait for the queue meanwhile, so
    /// that spans do not wake it one by one.
    async fn collect_batch(&self, metrics: &mut Interval) {
        let due = Instant::now() + self.settings.delay;
        loop {
            tokio::select! {
                () = sleep_until(due) => return,
                () = self.hurry.notified() => return,
                _ = metrics.tick() => self.send_metrics().await,
            }
        }
    }

    async fn send_spans(&self, spans: Vec<Span>) {
        let settings = &self.settings;
        for batch in spans.chunks(settings.max_batch) {
            let count = batch.len() as u64;
            let body = otlp::traces(&settings.resource, env!("CARGO_PKG_VERSION"), batch);
            let failed = match self.post(&settings.traces, body).await {
                Ok(answer) => self.rejected(&answer).min(count),
                Err(why) => {
                    self.failed_because(why);
                    count
                }
            };
            self.sent.fetch_add(count - failed, Ordering::Relaxed);
            self.failed.fetch_add(failed, Ordering::Relaxed);
            self.waiting.fetch_sub(batch.len(), Ordering::Relaxed);
        }
    }

    /// How many spans or points the collector rejected of those in a request that it took. They
    /// must not be sent again.
    fn rejected(&self, answer: &Bytes) -> u64 {
        let Some((count, why)) = otlp::rejected(&self.message(answer)) else {
            return 0;
        };
        self.failed_because(format!("the collector rejected {count}: {why}"));
        count
    }

    async fn send_metrics(&self) {
        let time = now();
        let mut metrics = {
            let histograms = self.histograms.lock();
            let histograms = histograms.unwrap_or_else(PoisonError::into_inner);
            histograms.metrics(self.started, time)
        };
        if let Some(source) = &self.metrics {
            metrics.extend(source(self.started, time));
        }
        if !metrics.is_empty() {
            let settings = &self.settings;
            let body = otlp::metrics(&settings.resource, env!("CARGO_PKG_VERSION"), &metrics);
            match self.post(&settings.metrics, body).await {
                // The next ones hold the same counts.
                Ok(answer) => _ = self.rejected(&answer),
                Err(why) => self.failed_because(why),
            }
        }
    }

    fn failed_because(&self, why: String) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    /// Sends one request, and repeats it as long as it may still succeed and time is left.
    async fn post(&self, target: &Target, body: Vec<u8>) -> Result<Bytes, String> {
        let request = self.request(target, body);
        let limit = self.settings.timeout;
        let deadline = Instant::now() + limit;
        let mut tries = 0;
        loop {
            let reply = timeout_at(deadline, self.pool.fetch(&request)).await;
            tries += 1;
            let refusal = match reply {
                Err(_) => ExportError::late(limit),
                Ok(Err(error)) => error.into(),
                Ok(Ok(reply)) => {
                    let is_grpc = self.settings.protocol == OtlpProtocol::Grpc;
                    match ExportError::from_reply(
                        &reply,
                        is_grpc,
                        Stamp::from_time(SystemTime::now()),
                    ) {
                        None => return Ok(reply.body),
                        Some(refusal) => refusal,
                    }
                }
            };
            let left = deadline.saturating_duration_since(Instant::now());
            let left = left.min(self.patience(refusal.again));
            match pause(refusal.again, tries, left, random()) {
                Some(pause) => {
                    self.retried.fetch_add(1, Ordering::Relaxed);
                    tokio::select! {
                        () = sleep(pause) => {}
                        // The last try follows at once.
                        () = self.ending.notified() => {}
                    }
                }
                None => return Err(refusal.why),
            }
        }
    }

    /// The longest pause before a request is repeated; zero if the program waits to end and the
    /// collector cannot be reached.
    fn patience(&self, again: Again) -> Duration {
        match again {
            _ if !self.is_ending.load(Ordering::Relaxed) => Duration::MAX,
            Again::Busy(_) => MAX_LAST_PAUSE,
            Again::Unreached | Again::Never => Duration::ZERO,
        }
    }

    fn request(&self, target: &Target, body: Vec<u8>) -> PoolRequest {
        let mut headers = self.settings.headers.clone();
        let mut add = |name: &str, value: &str| headers.push((name.into(), value.into()));
        add(
            "User-Agent",
            concat!("roundtrip/", env!("CARGO_PKG_VERSION")),
        );
        let body = if self.settings.protocol == OtlpProtocol::Grpc {
            add("Content-Type", "application/grpc");
            add("TE", "trailers");
            framed(&body)
        } else {
            add("Content-Type", "application/x-protobuf");
            body.into()
        };
        PoolRequest {
            method: "POST",
            headers,
            body,
            early: false,
            limit: MAX_ANSWER,
            shares: false,
            ..PoolRequest::new(target.clone())
        }
    }

    /// The message of an answer, which in gRPC has a head of five bytes.
    fn message(&self, answer: &Bytes) -> Bytes {
        match self.settings.protocol {
            OtlpProtocol::Grpc => answer.slice(answer.len().min(GRPC_HEAD)..),
            OtlpProtocol::Http => answer.clone(),
        }
    }
}

/// A random number from 0 to 1.
fn random() -> f64 {
    let mut bytes = [0; 2];
    // Without randomness, pauses are the shortest.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    f64::from(u16::from_le_bytes(bytes)) / f64::from(u16::MAX)
}

/// An uncompressed gRPC message: a zero byte, the length, the message.
fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&[0], length.to_be_bytes().as_slice(), message]
        .concat()
        .into()
}
