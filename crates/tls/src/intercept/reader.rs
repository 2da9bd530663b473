//! Finds NewSessionTicket messages in decrypted handshake bytes, in whatever way they were split
//! into records or frames.

use crate::stored_session::{MAX_TICKET_SIZE, Ticket};

use super::{forget_tickets, on_ticket};

/// The message's type. RFC 8446 §4.
const NEW_SESSION_TICKET: u8 = 4;

/// Reads one connection's handshake messages (type, length in three bytes, body) as they are
/// decrypted.
#[derive(Debug, Default)]
pub struct TicketReader {
    header: [u8; 4],
    /// The number of bytes of the header that have arrived.
    begun: usize,
    /// The number of bytes of the body that have not arrived.
    left: usize,
    /// The bytes of the body so far, if the message is a ticket.
    body: Option<Vec<u8>>,
}

impl TicketReader {
    /// Intercepts the tickets that end in these bytes, which TLS is about to process on this
    /// thread.
    pub fn read(&mut self, mut bytes: &[u8]) {
        forget_tickets();
        while let Some((first, rest)) = bytes.split_first() {
            if let Some(place) = self.header.get_mut(self.begun) {
                *place = *first;
                self.begun += 1;
                bytes = rest;
                if self.begun == self.header.len() {
                    self.start();
                }
            } else {
                let (body, rest) = bytes.split_at(self.left.min(bytes.len()));
                if let Some(kept) = &mut self.body {
                    kept.extend_from_slice(body);
                }
                self.left -= body.len();
                bytes = rest;
            }
            if self.begun == self.header.len() && self.left == 0 {
                self.finish();
            }
        }
    }

    fn start(&mut self) {
        let [kind, a, b, c] = self.header;
        self.left = u32::from_be_bytes([0, a, b, c]) as usize;
        self.body = (kind == NEW_SESSION_TICKET && self.left <= MAX_TICKET_SIZE).then(Vec::new);
    }

    fn finish(&mut self) {
        self.begun = 0;
        if let Some(ticket) = self.body.take().and_then(Ticket::parse) {
            on_ticket(ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intercept::{INTERCEPTED, Interception};

    /// A ticket of ten bytes with this nonce.
    fn message(nonce: u8) -> Vec<u8> {
        let mut body = vec![0, 0, 1, 0, 9, 9, 9, 9, 1, nonce, 0, 10];
        body.extend([nonce; 10]);
        body.extend([0, 0]);
        let mut message = vec![NEW_SESSION_TICKET, 0, 0, body.len() as u8];
        message.extend(body);
        message
    }

    fn intercepted() -> Vec<Vec<u8>> {
        INTERCEPTED.with_borrow(|seen| {
            let tickets = &seen.as_ref().unwrap().tickets;
            tickets.iter().map(|t| t.nonce().to_vec()).collect()
        })
    }

    #[test]
    fn tickets_are_found_however_they_are_split() {
        let _interception = Interception::begin();
        let stream = [
            &[8, 0, 0, 2, 4, 4][..],
            &message(1),
            &[20, 0, 0, 0],
            &message(2),
        ]
        .concat();
        let mut whole = TicketReader::default();
        whole.read(&stream);
        assert_eq!(intercepted(), [[1], [2]]);
        for cut in 0..stream.len() {
            let mut reader = TicketReader::default();
            let (head, tail) = stream.split_at(cut);
            reader.read(head);
            let before = intercepted().len();
            reader.read(tail);
            assert_eq!(before + intercepted().len(), 2, "cut at {cut}");
        }
        let mut bytewise = TicketReader::default();
        let mut found = 0;
        for byte in &stream {
            bytewise.read(&[*byte]);
            found += intercepted().len();
        }
        assert_eq!(found, 2);
    }

    #[test]
    fn long_messages_and_other_types_are_skipped() {
        let _interception = Interception::begin();
        let mut reader = TicketReader::default();
        let mut long = vec![NEW_SESSION_TICKET, 0xff, 0xff, 0xff];
        long.resize(4 + 0x00ff_ffff, 4);
        reader.read(&long);
        assert!(intercepted().is_empty() && reader.body.is_none());
        reader.read(&[NEW_SESSION_TICKET, 0, 0, 1, 7]);
        assert!(intercepted().is_empty());
        reader.read(&message(3));
        assert_eq!(intercepted(), [[3]]);
    }

    #[test]
    fn nothing_is_intercepted_without_an_interception() {
        TicketReader::default().read(&message(1));
        let _interception = Interception::begin();
        assert!(intercepted().is_empty());
    }
}
