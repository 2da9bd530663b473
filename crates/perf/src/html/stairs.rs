//! The possible throughput of a sender's core, relative to TLS: the arms as steps of a staircase,
//! in the order in which they were written.

use maud::{Markup, html};
use roundtrip_report::clean;
use roundtrip_report::html::percent;

use crate::outcome::PerfOutcome;
use crate::plan::ArmTransport;

const STEP: usize = 30;
const TOP: usize = 20;

pub(super) fn section(outcome: &PerfOutcome) -> Markup {
    let steps: Vec<(String, f64, bool)> = outcome
        .arms
        .iter()
        .filter_map(|arm| {
            let is_tls = arm.arm.transport == ArmTransport::Tls;
            Some((arm.arm.to_string(), arm.figures.ratio_to_tls?, is_tls))
        })
        .collect();
    if steps.len() < 2 {
        return html! {};
    }
    let far = steps.iter().map(|step| step.1).fold(1.0, f64::max) * 1.15;
    let height = TOP + steps.len() * STEP;
    let one = percent(1.0, far);
    let each = steps
        .iter()
        .map(|(name, ratio, _)| format!("{name} {ratio:.2}"));
    let words = each.collect::<Vec<_>>().join("; ");
    html! {
        h2 { "What a sender's core could carry, relative to TLS" }
        figure {
            svg.stairs width="100%" height=(height + 4) role="img" aria-labelledby="stairs-t stairs-d" {
                title id="stairs-t" { "Throughput of a sender's core, as a multiple of that with TLS" }
                desc id="stairs-d" { (words) "." }
                @for (place, (_, ratio, is_tls)) in steps.iter().enumerate() {
                    (step(*ratio, *is_tls, far, TOP + place * STEP))
                }
                @for (place, pair) in steps.windows(2).enumerate() {
                    @if let [above, below] = pair {
                        @let y = TOP + (place + 1) * STEP;
                        line.tread x1=(percent(above.1, far)) x2=(percent(below.1, far)) y1=(y) y2=(y) {}
                    }
                }
                line.tls x1=(one) x2=(one) y1=(TOP) y2=(height) {}
                @for (place, (name, ratio, _)) in steps.iter().enumerate() {
                    @let y = TOP + place * STEP + 20;
                    text.label x="8" y=(y) { (clean(name)) }
                    text.value x="100%" y=(y) { (format!("{ratio:.2}")) }
                }
                text.tls x=(one) y="13" { "TLS" }
            }
            figcaption {
                "What TLS cost the sender in this run, divided by what the arm cost it. Right of the dashed line it is cheaper than with TLS. It is a bound of the sender alone: what really limited the rate is shown below."
            }
        }
    }
}

fn step(ratio: f64, is_tls: bool, far: f64, top: usize) -> Markup {
    let end = percent(ratio, far);
    let kind = match ratio {
        _ if is_tls => "same",
        ratio if ratio >= 1.0 => "cheaper",
        _ => "dearer",
    };
    html! {
        g class=(kind) {
            rect x="0" width=(end) y=(top) height=(STEP) {}
            line.riser x1=(end) x2=(end) y1=(top) y2=(top + STEP) {}
        }
    }
}
