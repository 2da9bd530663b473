//! Passes on what concerns only the owners: the peer's frames and transport parameters.
//!
//! RFC 9000 §18.2 and §19.

use std::time::Duration;

use roundtrip_wire::quic::{Frame, Parameters, Side};

use super::FrameOwners;
use crate::error::TransportError;
use crate::space::Space;
use crate::{Code, RecvMeta, Time};

impl FrameOwners<'_> {
    /// Passes a frame to its owner. `min_delay` is the shortest acknowledgement delay that this
    /// side has announced.
    pub(in crate::connection) fn on_frame(
        &mut self,
        way: &RecvMeta,
        side: Side,
        min_delay: Duration,
        frame: &Frame<'_>,
    ) -> Result<(), TransportError> {
        match *frame {
            Frame::NewConnectionId {
                sequence,
                retire_prior_to,
                id,
                reset_token,
            } => self
                .remote_ids
                .add(sequence, retire_prior_to, id, reset_token)?,
            Frame::RetireConnectionId(sequence) => self.local_ids.on_retired(sequence)?,
            Frame::PathChallenge(data) => {
                // The id in use now must not appear at an address that the client has left. RFC
                // 9000 §9.5.
                let is_left = side == Side::Client && self.paths.has_left(way);
                if !is_left {
                    let datagram = self.stats.datagrams_received;
                    self.paths.on_challenge(way, data, datagram);
                }
            }
            Frame::AckFrequency {
                sequence,
                threshold,
                max_delay_us,
                reordering,
            } => {
                let delay = Duration::from_micros(max_delay_us);
                if delay < min_delay {
                    return Err(TransportError::new(
                        Code::PROTOCOL_VIOLATION,
                        "it asks for acknowledgements sooner than this side's min_ack_delay",
                    ));
                }
                self.received[Space::Data.index()].ask(sequence, threshold, delay, reordering);
            }
            Frame::ImmediateAck => self.received[Space::Data.index()].ask_now(),
            _ => self.streams.on_frame(frame)?,
        }
        Ok(())
    }

    /// Applies the peer's transport parameters.
    pub(in crate::connection) fn set_peer(
        &mut self,
        parameters: &Parameters,
    ) -> Result<(), TransportError> {
        self.streams.set_peer(parameters);
        let max_ack_delay = Duration::from_millis(parameters.max_ack_delay);
        self.recovery.set_max_ack_delay(max_ack_delay);
        if let Some(micros) = parameters.min_ack_delay {
            let min_delay = Duration::from_micros(micros);
            self.ack_frequency.on_peer_min_delay(min_delay);
        }
        self.local_ids
            .set_limit(parameters.active_connection_id_limit);
        if let Some(token) = parameters.stateless_reset_token {
            self.remote_ids.set_first_token(token);
        }
        if let Some(preferred) = parameters.preferred_address {
            // The address is not used, but the id is one of the peer's ids. RFC 9000 §5.1.1.
            self.remote_ids
                .add(1, 0, preferred.id, preferred.reset_token)?;
        }
        self.recovery
            .on_peer_max_datagram(parameters.max_udp_payload_size);
        Ok(())
    }

    /// Informs the owners about the current path, after recovery has processed an acknowledgement
    /// of 1-RTT packets and [`Self::on_settled`] was called. `newest` is the highest newly
    /// acknowledged number.
    pub(in crate::connection) fn on_acknowledgement(&mut self, now: Time, newest: Option<u64>) {
        if let Some(newest) = newest {
            self.crypto.on_acked_in_phase(newest);
        }
        self.ack_frequency.on_ack(now, self.recovery);
        self.streams.on_window(self.recovery.window());
        if self.crypto.is_update_due() {
            self.crypto.update_keys();
        }
    }
}
