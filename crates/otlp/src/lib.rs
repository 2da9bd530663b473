//! Sends spans and metrics to an OpenTelemetry collector, by OTLP over HTTP or gRPC.
//!
//! [`OtlpSettings`] holds what the environment variables of OpenTelemetry say; [`Telemetry`] queues
//! spans and sends them in the background, or drops them and counts; `refusal` says which requests
//! are repeated; [`exchange_spans`] makes spans from exchanges. A collector that is down costs its
//! sender nothing but the counters.

mod exchange_spans;
mod histograms;
mod refusal;
mod sampler;
mod sender;
mod settings;

pub use exchange_spans::{TracedRun, exchange_spans};
pub use histograms::{BucketCounts, DURATION_BOUNDS};
pub use sampler::Sampler;
pub use sender::{MetricSource, Telemetry, TelemetryCounts};
pub use settings::{OtlpError, OtlpProtocol, OtlpSettings};
