//! HTTP/3 and TCP side by side, where the target announces both.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_model::{Attempt, AttemptOutcome, Recorder, Target};
use roundtrip_tls::Offer;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::open::{Learnt, Open, Transport};
use crate::plan::Plan;
use crate::{Prober, Trouble};

/// Browsers give QUIC about this long before they try TCP beside it.
const QUIC_HEAD_START: Duration = Duration::from_millis(300);

impl Prober {
    /// QUIC first; when it does not answer soon, or fails, TCP too; the first to be ready wins.
    pub(crate) async fn race(
        &self,
        plan: &Plan,
        offer: &Offer,
        target: &Target,
        (peers, h3_peers): (&[SocketAddr], &[SocketAddr]),
        recorder: &Recorder,
        learnt: &mut Learnt,
    ) -> Result<Open, Trouble> {
        let (quic_sheet, tcp_sheet) = (recorder.branch(), recorder.branch());
        let (mut quic_learnt, mut tcp_learnt) = (Learnt::default(), Learnt::default());
        let began = recorder.now();
        let (mut quic_failed, quic_is_over) = (None, Notify::new());
        let outcome = {
            let quic = async {
                let outcome = self
                    .open_quic(offer, target, h3_peers, &quic_sheet, &mut quic_learnt)
                    .await;
                quic_is_over.notify_one();
                outcome
            };
            let tcp = async {
                let _ = timeout(QUIC_HEAD_START, quic_is_over.notified()).await;
                self.open_tcp(plan, target, peers, &tcp_sheet, &mut tcp_learnt)
                    .await
            };
            tokio::pin!(quic, tcp);
            tokio::select! {
                biased;
                first = &mut quic => match first {
                    Ok(open) => Ok(open),
                    Err(error) => {
                        quic_failed = Some(error.to_string());
                        tcp.await
                    }
                },
                first = &mut tcp => match first {
                    Ok(open) => Ok(open),
                    Err(_) => quic.await,
                },
            }
        };
        let quic_won = matches!(&outcome, Ok(open) if matches!(open.gauge, Transport::Quic(_)));
        if quic_won {
            recorder.absorb(&quic_sheet);
            *learnt = quic_learnt;
            return outcome;
        }
        recorder.absorb(&tcp_sheet);
        *learnt = tcp_learnt;
        let told = quic_failed
            .clone()
            .map_or(AttemptOutcome::Abandoned, AttemptOutcome::Failed);
        if let Some(peer) = h3_peers.first() {
            let (peer, ended) = (*peer, recorder.now());
            learnt.attempts.insert(
                0,
                Attempt {
                    peer,
                    over_quic: true,
                    began,
                    ended,
                    outcome: told,
                },
            );
        }
        let why = quic_failed.unwrap_or_else(|| "QUIC did not answer in time".into());
        learnt
            .notes
            .push(format!("HTTP/3 was announced but TCP was used: {why}"));
        outcome
    }
}
