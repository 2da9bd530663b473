//! Which traces are recorded.

use roundtrip_model::TraceContext;

/// `OTEL_TRACES_SAMPLER`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// The share of traces to record among those without a parent, from 0 to 1.
    pub(crate) ratio: f64,
    /// Whether the parent span decides, if there is one.
    pub(crate) parent_based: bool,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            ratio: 1.0,
            parent_based: true,
        }
    }
}

impl Sampler {
    /// Parses the name of a sampler and its argument. `None` if there is no such sampler.
    pub fn parse(name: &str, argument: Option<&str>) -> Option<Self> {
        let (parent_based, kind) = match name.strip_prefix("parentbased_") {
            Some(kind) => (true, kind),
            None => (false, name),
        };
        let ratio = match kind {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => {
                let ratio = argument.map_or(Ok(1.0), str::parse::<f64>).ok()?;
                Some(ratio).filter(|ratio| (0.0..=1.0).contains(ratio))?
            }
            _ => return None,
        };
        Some(Self {
            ratio,
            parent_based,
        })
    }

    /// Whether a trace is recorded. Equal ids get equal answers, in all programs.
    pub fn samples(&self, trace_id: [u8; 16], parent: Option<TraceContext>) -> bool {
        if let Some(parent) = parent.filter(|_| self.parent_based) {
            return parent.sampled;
        }
        // The last seven bytes are random. W3C Trace Context Level 2.
        let random = trace_id
            .iter()
            .skip(9)
            .fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        self.ratio >= 1.0 || (random as f64) < self.ratio * (1_u64 << 56) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(sampled: bool) -> TraceContext {
        TraceContext {
            trace_id: [1; 16],
            span_id: [1; 8],
            sampled,
        }
    }

    #[test]
    fn a_parent_decides_only_if_it_may() {
        let half = Sampler::parse("parentbased_traceidratio", Some("0.5")).unwrap();
        let low = [0; 16];
        let high = [0xff; 16];
        assert!(half.samples(low, None) && !half.samples(high, None));
        assert!(
            half.samples(high, Some(context(true))) && !half.samples(low, Some(context(false)))
        );
        let alone = Sampler::parse("traceidratio", Some("0.5")).unwrap();
        assert!(
            alone.samples(low, Some(context(false))) && !alone.samples(high, Some(context(true)))
        );
        assert!(Sampler::default().samples(high, None));
        assert!(
            !Sampler::parse("always_off", None)
                .unwrap()
                .samples(low, None)
        );
    }

    #[test]
    fn other_names_and_shares_are_refused() {
        for (name, argument) in [
            ("sometimes", None),
            ("traceidratio", Some("2")),
            ("traceidratio", Some("x")),
            ("parentbased_", None),
        ] {
            assert_eq!(Sampler::parse(name, argument), None, "{name}");
        }
    }
}
