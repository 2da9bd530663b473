//! Sends spans and metrics to an OpenTelemetry collector, by OTLP over HTTP or gRPC.
//!
//! [`OtlpSettings`] holds the settings from OpenTelemetry's environment variables; [`Telemetry`]
//! queues spans and sends them in the background, or drops and counts them; [`exchange_spans`]
//! makes spans from exchanges. If the collector is down, the sender only counts the loss.

mod exchange_spans;
mod histograms;
mod sampler;
mod sender;
mod settings;

pub use exchange_spans::{TracedRun, exchange_spans};
pub use sampler::Sampler;
pub use sender::{Telemetry, TelemetryCounts};
pub use settings::{OtlpError, OtlpProtocol, OtlpSettings};
