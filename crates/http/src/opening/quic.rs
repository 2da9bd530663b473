//! QUIC, address by address.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_model::{Attempt, AttemptOutcome, Event, Moment, Recorder};
use roundtrip_net::{NetError, datagram_socket};
use roundtrip_tls::Offer;
use tokio::time::timeout;

use super::{OpenError, Opened, Opening, OpeningFacts, Transport};
use crate::{Connection, Quic};

/// RFC 8305 §5, for addresses that are tried over QUIC.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

impl Opening<'_> {
    pub async fn over_quic(
        &self,
        offer: &Offer,
        peers: &[SocketAddr],
        opening_facts: &mut OpeningFacts,
    ) -> Result<Opened, OpenError> {
        opening_facts.over_quic = true;
        let mut peers = peers.to_vec();
        peers.sort_by_key(|peer| Some(peer.ip()) != self.first);
        let (last, others) = peers.split_last().ok_or(NetError::NoAddress)?;
        let mut quic = None;
        for peer in others {
            let attempt = self.try_quic(*peer, offer, opening_facts);
            // An address that has not answered by then is given up for the next.
            quic = timeout(ATTEMPT_DELAY, attempt)
                .await
                .ok()
                .and_then(Result::ok);
            if quic.is_some() {
                break;
            }
        }
        let quic = match quic {
            Some(quic) => quic,
            None => self.try_quic(*last, offer, opening_facts).await?,
        };
        Ok(Opened {
            early_data: quic.is_early(),
            transport: Transport::Quic(quic.gauge()),
            connection: Connection::H3(quic),
        })
    }

    async fn try_quic(
        &self,
        peer: SocketAddr,
        offer: &Offer,
        opening_facts: &mut OpeningFacts,
    ) -> Result<Quic, OpenError> {
        let socket = datagram_socket(peer, self.bind)?;
        let client = self.client.ok_or(OpenError::NoTls)?;
        let trying = Trying::begin(peer, opening_facts, self.recorder);
        let (tokens, recorder) = (self.tokens, self.recorder);
        let quic = match Quic::begin(peer, socket, self.host, client, offer, tokens, recorder) {
            Ok(opening) => {
                trying.facts.quic = Some(opening.gauge());
                opening.opened().await
            }
            Err(error) => Err(error),
        };
        trying.end(match &quic {
            Ok(_) => AttemptOutcome::Won,
            Err(error) => AttemptOutcome::Failed(error.to_string()),
        });
        Ok(quic?)
    }
}

/// An attempt whose end is always reported: if it is dropped, it was given up.
struct Trying<'a> {
    peer: SocketAddr,
    began: Moment,
    outcome: AttemptOutcome,
    facts: &'a mut OpeningFacts,
    recorder: &'a Recorder,
}

impl<'a> Trying<'a> {
    fn begin(peer: SocketAddr, facts: &'a mut OpeningFacts, recorder: &'a Recorder) -> Self {
        Self {
            peer,
            began: recorder.now(),
            outcome: AttemptOutcome::Abandoned,
            facts,
            recorder,
        }
    }

    fn end(mut self, outcome: AttemptOutcome) {
        if matches!(outcome, AttemptOutcome::Failed(_)) {
            let peer = self.peer;
            self.recorder.record(Event::AttemptFailed { peer });
        }
        self.outcome = outcome;
    }
}

impl Drop for Trying<'_> {
    fn drop(&mut self) {
        self.facts.attempts.push(Attempt {
            peer: self.peer,
            over_quic: true,
            began: self.began,
            ended: self.recorder.now(),
            outcome: std::mem::replace(&mut self.outcome, AttemptOutcome::Abandoned),
        });
    }
}
