//! Tries HTTP/3 and TCP in parallel if the target announces both: the records of each attempt, and
//! the note about the loser.

use std::net::SocketAddr;

use roundtrip_http::{OpeningFacts, race};
use roundtrip_model::{Recorder, Target};
use roundtrip_tls::Offer;

use super::Connector;
use crate::ProbeError;
use crate::connection::OpenConnection;
use crate::observed::Observed;
use crate::plan::ConnectionPlan;

impl Connector {
    /// Tries QUIC first; if it fails or does not answer soon, TCP as well; the first to be ready
    /// wins.
    pub(super) async fn race(
        &self,
        plan: &ConnectionPlan,
        offer: &Offer,
        target: &Target,
        (peers, h3_peers): (&[SocketAddr], &[SocketAddr]),
        recorder: &Recorder,
        observed: &mut Observed,
    ) -> Result<OpenConnection, ProbeError> {
        let (quic_sheet, tcp_sheet) = (recorder.branch(), recorder.branch());
        let (mut quic_facts, mut tcp_facts) = (OpeningFacts::default(), OpeningFacts::default());
        let raced = race(
            Box::pin(self.open_quic(offer, target, h3_peers, &quic_sheet, &mut quic_facts)),
            Box::pin(self.open_tcp(plan, target, peers, &tcp_sheet, &mut tcp_facts)),
        )
        .await;
        let quic_failed = raced.quic_failed.map(|error| error.to_string());
        if raced.over_quic && raced.outcome.is_ok() {
            recorder.absorb(&quic_sheet);
            observed.facts = quic_facts;
            return raced.outcome;
        }
        recorder.absorb(&tcp_sheet);
        observed.facts = tcp_facts;
        observed.facts.attempts.splice(0..0, quic_facts.attempts);
        let why = quic_failed.unwrap_or_else(|| "QUIC did not answer in time".into());
        observed
            .notes
            .push(format!("HTTP/3 was announced but TCP was used: {why}"));
        raced.outcome
    }
}
