//! The values of one probe: its target, its result, and its log.

use std::fmt::Write;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use roundtrip_model::{Exchange, Phase, PhaseName, TraceContext, mask_url};
use roundtrip_report::clean;
use tokio::time::error::Elapsed;

use crate::text::MetricText;

/// The largest size of a probe's log, in bytes.
const MAX_LOG: usize = 64 * 1024;

/// The target of a probe.
#[derive(Debug, Clone)]
pub(crate) struct ProbeTarget {
    pub(crate) module: String,
    pub(crate) target: String,
    /// The name for `Host` and SNI, if it differs from that of the target.
    pub(crate) hostname: Option<String>,
    /// The time that the module and the scrape allow.
    pub(crate) timeout: Duration,
    /// The trace that the probe belongs to.
    pub(crate) trace: Option<TraceContext>,
}

/// The result of one kind of probe.
#[derive(Debug, Default)]
pub(crate) struct KindRun {
    pub(crate) success: bool,
    /// The time of the lookup, or of reading an address; absent if there was no name to look up.
    pub(crate) lookup: Option<Duration>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) failed_by_pattern: bool,
    pub(crate) failed_by_bytes: bool,
    /// The phase that failed or timed out.
    pub(crate) failed_phase: Option<&'static str>,
    pub(crate) metrics: MetricText,
    pub(crate) exchanges: Vec<Exchange>,
}

/// The phases of a probe's exchanges, which are computed once.
pub(crate) struct Hops<'a>(Vec<(&'a Exchange, Vec<Phase>)>);

impl<'a> Hops<'a> {
    pub(crate) fn new(exchanges: &'a [Exchange]) -> Self {
        let exchanges = exchanges.iter();
        Self(exchanges.map(|hop| (hop, hop.phases())).collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a Exchange, &[Phase])> {
        self.0.iter().map(|(hop, phases)| (*hop, phases.as_slice()))
    }

    pub(crate) fn phases(&self) -> impl Iterator<Item = &Phase> {
        self.0.iter().flat_map(|(_, phases)| phases)
    }

    /// The time in phases of these names.
    pub(crate) fn spent(&self, names: &[PhaseName]) -> Duration {
        let phases = self.phases().filter(|phase| names.contains(&phase.name));
        phases.map(Phase::span).sum()
    }

    pub(crate) fn round_trips(&self) -> u32 {
        self.phases().map(|phase| phase.round_trips).sum()
    }
}

/// The log of a probe, as `debug=true` shows it.
#[derive(Debug)]
pub(crate) struct ProbeLog {
    lines: String,
    context: String,
}

impl ProbeLog {
    pub(crate) fn new(asked: &ProbeTarget) -> Self {
        let context = format!(
            "module={:?} target={:?}",
            clean(&asked.module),
            clean(&mask_url(&asked.target))
        );
        Self {
            lines: String::new(),
            context,
        }
    }

    pub(crate) fn say(&mut self, level: &str, message: &str) {
        if self.lines.len() < MAX_LOG {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let ms = since.map_or(0, |since| since.as_millis());
            let time = roundtrip_wire::calendar::rfc3339(ms.try_into().unwrap_or_default());
            let (context, message) = (&self.context, clean(message));
            let _ = writeln!(
                self.lines,
                "ts={time} {context} level={level} msg={message:?}"
            );
        }
    }

    /// The result of a probe that had a deadline; says in which phase it failed.
    pub(crate) fn outcome<T>(
        &mut self,
        ended: Result<Result<T, String>, Elapsed>,
        phase: &str,
    ) -> Option<T> {
        let why = match ended {
            Ok(Ok(result)) => return Some(result),
            Ok(Err(why)) => format!("failed in phase {phase}: {why}"),
            Err(_) => format!("timed out in phase {phase}"),
        };
        self.say("error", &why);
        None
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.lines
    }
}
