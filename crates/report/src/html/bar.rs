//! Bars in the parties' colours with hatchings, and positions as percentages.

use maud::{Markup, PreEscaped, html};
use roundtrip_model::Waited;

use crate::numbers::ms;
use crate::party::{Party, segments};

/// Hatchings over the colours, so that parties can be distinguished without colour. Defined once,
/// used by every picture.
pub(super) fn patterns() -> Markup {
    html! {
        (PreEscaped(r#"<svg width="0" height="0" class="defs" aria-hidden="true"><defs>
<pattern id="network" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="network"/></pattern>
<pattern id="server" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" class="server"/><rect width="2" height="6" class="hatch"/></pattern>
<pattern id="client" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="client"/><circle cx="3" cy="3" r="1.2" class="hatch"/></pattern>
<pattern id="resolver" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="resolver"/><rect width="6" height="2" class="hatch"/></pattern>
<pattern id="loss" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect width="6" height="6" class="loss"/><rect width="1.5" height="6" class="hatch"/><rect width="6" height="1.5" class="hatch"/></pattern>
<pattern id="unknown" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="unknown"/><circle cx="4" cy="4" r="2" class="hatch"/></pattern>
</defs></svg>"#))
    }
}

fn fill(party: Party) -> String {
    format!("url(#{})", party.name())
}

/// A position or a width within a picture.
pub fn percent(part: f64, whole: f64) -> String {
    let share = (part / whole * 100.0).clamp(0.0, 100.0);
    let share = if whole > 0.0 && share.is_finite() {
        share
    } else {
        0.0
    };
    format!("{share:.3}%")
}

/// A wait that began at `start`, party by party, on a scale from zero.
pub fn bar(start: f64, waited: &Waited, scale: f64, top: usize, height: usize) -> Markup {
    let parts = segments(Party::ALL, waited);
    let main = parts
        .iter()
        .max_by(|a, b| a.2.total_cmp(&b.2))
        .map_or(Party::Client, |p| p.0);
    html! {
        // Two pixels wide, so that even the shortest phase is visible.
        rect x=(percent(start.min(scale * 0.998), scale)) width="2" y=(top) height=(height) fill=(fill(main)) {}
        @for (party, from, share) in parts {
            rect x=(percent(start + from, scale)) width=(percent(share, scale)) y=(top) height=(height) fill=(fill(party)) {
                title { (party.name()) " " (ms(share)) " ms" }
            }
        }
    }
}

/// A wait as a vertical bar, party by party. Positions are pixels.
pub fn bar_down(x: &str, top: f64, height: f64, waited: &Waited) -> Markup {
    let scale = waited.sum().max(f64::MIN_POSITIVE);
    html! {
        @for (party, from, share) in segments(Party::ALL, waited) {
            rect x=(x) width="7" y=(format!("{:.1}", top + height * from / scale)) height=(format!("{:.1}", height * share / scale)) fill=(fill(party)) {
                title { (party.name()) " " (ms(share)) " ms" }
            }
        }
    }
}

/// A bar from zero, without text.
pub(super) fn stacked(waited: &Waited, scale: f64, height: u32) -> Markup {
    html! {
        @for (party, start, share) in segments(Party::BY_WEIGHT, waited) {
            rect x=(percent(start, scale)) width=(percent(share, scale)) height=(height) fill=(fill(party)) {}
        }
    }
}

/// A party's colour, beside its name.
pub fn swatch(party: Party) -> Markup {
    html! {
        svg.swatch width="12" height="12" aria-hidden="true" { rect width="12" height="12" rx="2" fill=(fill(party)) {} }
    }
}
