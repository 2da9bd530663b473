//! QUIC, address by address.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_model::{Attempt, AttemptOutcome};
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
            if let Some(attempt) = opening_facts.attempts.last_mut() {
                attempt.ended = self.recorder.now();
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
        let began = self.recorder.now();
        let place = opening_facts.attempts.len();
        opening_facts.attempts.push(Attempt {
            peer,
            over_quic: true,
            began,
            ended: began,
            outcome: AttemptOutcome::Abandoned,
        });
        let client = self.client.ok_or(OpenError::NoTls)?;
        let (tokens, recorder) = (self.tokens, self.recorder);
        let quic = match Quic::begin(peer, socket, self.host, client, offer, tokens, recorder) {
            Ok(opening) => {
                opening_facts.quic = Some(opening.gauge());
                opening.opened().await
            }
            Err(error) => Err(error),
        };
        if let Some(attempt) = opening_facts.attempts.get_mut(place) {
            attempt.ended = self.recorder.now();
            attempt.outcome = match &quic {
                Ok(_) => AttemptOutcome::Won,
                Err(error) => AttemptOutcome::Failed(error.to_string()),
            };
        }
        Ok(quic?)
    }
}
