//! The state that all connections of an origin share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;

use crate::date::DateHeader;
use crate::stats::PathCounts;
use crate::{EarlyData, Fault, FaultKind, FaultPhase, HttpKnobs, Knobs, OriginCounters, Quic};

#[derive(Debug)]
pub(crate) struct OriginState {
    pub(crate) http: HttpKnobs,
    fault: Option<Fault>,
    /// How many times the fault is still to occur.
    fault_left: AtomicU64,
    /// Whether early data is answered with 425.
    pub(crate) too_early: bool,
    pub(crate) https_port: u16,
    pub(crate) alt_svc: Option<HeaderValue>,
    /// The expected credentials after `Basic` in Authorization.
    pub(crate) token: String,
    pub(crate) date: DateHeader,
    /// The requests to the registry under `/rdap/`.
    pub(crate) asked: PathCounts,
    pub(crate) counters: Arc<OriginCounters>,
}

impl OriginState {
    pub(crate) fn new(knobs: &Knobs, https_port: u16, counters: Arc<OriginCounters>) -> Self {
        Self {
            http: knobs.http.clone(),
            fault: knobs.fault,
            fault_left: AtomicU64::new(knobs.fault_times.unwrap_or(u64::MAX)),
            too_early: knobs.tls.early_data == EarlyData::TooEarly,
            https_port,
            alt_svc: alt_svc(knobs, https_port),
            token: BASE64_STANDARD.encode(&knobs.http.credentials),
            date: DateHeader::default(),
            asked: PathCounts::default(),
            counters,
        }
    }

    /// Returns the fault to carry out at one of these phases, and counts it.
    pub(crate) fn fault_at(&self, phases: &[FaultPhase]) -> Option<FaultKind> {
        let fault = self.fault.filter(|fault| phases.contains(&fault.phase))?;
        let one_less = |left: u64| left.checked_sub(1);
        let left = self.fault_left.fetch_update(Relaxed, Relaxed, one_less);
        left.ok()?;
        self.counters.faults.increment();
        Some(fault.kind)
    }
}

/// The Alt-Svc header (RFC 7838). A silent port is advertised too: it tests whether a client
/// recovers.
fn alt_svc(knobs: &Knobs, https_port: u16) -> Option<HeaderValue> {
    match knobs.http.alt_svc.as_deref() {
        Some("none") => None,
        Some(value) => HeaderValue::from_str(value).ok(),
        None if knobs.listen.h3 == Quic::Off => None,
        None => HeaderValue::try_from(format!("h3=\":{https_port}\"; ma=86400")).ok(),
    }
}
