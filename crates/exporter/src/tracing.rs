//! Spans of probes, below the span of the scrape if it has one.

use roundtrip_model::{TraceContext, mask_url};
use roundtrip_otlp::{Telemetry, TracedRun, exchange_spans};
use roundtrip_wire::otlp::Attribute;

use crate::probe::ProbeTarget;
use crate::run::ProbeRun;

/// A new position in the trace that the scrape names, or in a new one.
pub(crate) fn begin(
    telemetry: Option<&Telemetry>,
    scrape: Option<TraceContext>,
) -> Option<TraceContext> {
    telemetry.map(|telemetry| telemetry.context(scrape))
}

/// Queues the spans of a probe, and counts its exchanges.
pub(crate) fn end(
    telemetry: Option<&Telemetry>,
    scrape: Option<TraceContext>,
    asked: &ProbeTarget,
    ran: &ProbeRun,
) {
    let (Some(telemetry), Some(context)) = (telemetry, asked.trace) else {
        return;
    };
    telemetry.count(&ran.exchanges);
    if !context.sampled {
        return;
    }
    let run = TracedRun {
        context,
        parent: scrape.map(|scrape| scrape.span_id),
        name: format!("probe {}", asked.module),
        attributes: vec![
            Attribute::new("roundtrip.probe.module", asked.module.clone()),
            Attribute::new("roundtrip.probe.target", mask_url(&asked.target)),
            Attribute::new("roundtrip.probe.success", ran.success),
        ],
        took: ran.took,
        error: (!ran.success).then(|| "the probe failed".to_owned()),
    };
    telemetry.send(exchange_spans(run, &ran.exchanges));
}
