//! The flag of verbs that send spans.

use clap::Args;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "OpenTelemetry")]
pub(crate) struct OtlpArgs {
    /// Send spans and metrics to this collector, as OTEL_EXPORTER_OTLP_ENDPOINT does
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
}
