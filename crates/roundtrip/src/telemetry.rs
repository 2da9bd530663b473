//! Spans and metrics for an OpenTelemetry collector, configured by the flag and the environment.

use std::time::{Duration, Instant};

use roundtrip_model::{Exchange, TraceContext};
use roundtrip_otlp::{OtlpError, OtlpSettings, Telemetry, TracedRun, exchange_spans};

use crate::cli::OtlpArgs;
use crate::output::say;

/// The longest wait for the collector at the end.
const MAX_FLUSH: Duration = Duration::from_secs(5);

/// The collector, if there is one, and the trace that this process belongs to.
pub(crate) struct Tracing {
    telemetry: Option<Telemetry>,
    /// The parent span from `TRACEPARENT`, in which build tools and shells pass on a trace.
    parent: Option<TraceContext>,
}

/// A run in progress.
pub(crate) struct Begun {
    pub(crate) context: Option<TraceContext>,
    began: Instant,
}

/// What the flag or the environment says about a collector, if either names one.
pub(crate) fn settings(args: &OtlpArgs, service: &str) -> Result<Option<OtlpSettings>, OtlpError> {
    let read = |name: &str| std::env::var(name).ok();
    OtlpSettings::from_environment(args.otlp.as_deref(), service, read)
}

impl Tracing {
    /// Begins to send, if the flag or the environment names a collector.
    pub(crate) fn start(args: &OtlpArgs, service: &str) -> Result<Self, OtlpError> {
        let telemetry = settings(args, service)?.map(Telemetry::start);
        let parent = std::env::var("TRACEPARENT").ok();
        Ok(Self {
            telemetry: telemetry.transpose()?,
            parent: parent.as_deref().and_then(TraceContext::parse),
        })
    }

    pub(crate) fn telemetry(&self) -> Option<Telemetry> {
        self.telemetry.clone()
    }

    pub(crate) fn begin(&self) -> Begun {
        let telemetry = self.telemetry.as_ref();
        Begun {
            context: telemetry.map(|telemetry| telemetry.context(self.parent)),
            began: Instant::now(),
        }
    }

    /// Queues the spans of a run.
    pub(crate) fn end(&self, begun: &Begun, exchanges: &[Exchange]) {
        let (Some(telemetry), Some(context)) = (&self.telemetry, begun.context) else {
            return;
        };
        telemetry.count(exchanges);
        if context.sampled {
            let run = TracedRun {
                context,
                parent: self.parent.map(|parent| parent.span_id),
                name: "probe".into(),
                attributes: Vec::new(),
                took: begun.began.elapsed(),
                error: None,
            };
            telemetry.send(exchange_spans(run, exchanges));
        }
    }

    /// Sends waiting spans, and reports those that could not be sent.
    pub(crate) async fn finish(self) {
        let Some(telemetry) = self.telemetry else {
            return;
        };
        telemetry.flush(MAX_FLUSH).await;
        let counts = telemetry.counts();
        let lost = counts.failed + counts.dropped;
        if lost > 0 {
            let why = counts
                .why
                .map_or_else(String::new, |why| format!(": {why}"));
            say(&format!("{lost} spans did not reach the collector{why}"));
        }
    }
}
