//! A NewSessionTicket message. RFC 8446 §4.6.1.

use std::ops::Range;

use super::code::SessionDecoder;

/// A ticket that contains a client's certificates is a few thousand bytes; a larger one is used but
/// not stored.
pub(crate) const MAX_TICKET_SIZE: usize = 16 * 1024;
/// The number of the extension `early_data`. RFC 8446 §4.2.10.
const EARLY_DATA: u16 = 42;

/// The complete body of the message, and the positions of its fields.
#[derive(Clone)]
pub(crate) struct Ticket {
    body: Vec<u8>,
    lifetime: u32,
    nonce: Range<usize>,
    early_data: u32,
}

impl Ticket {
    pub(crate) fn parse(body: Vec<u8>) -> Option<Self> {
        if body.len() > MAX_TICKET_SIZE {
            return None;
        }
        let mut reader = SessionDecoder(&body);
        let lifetime = reader.u32()?;
        let _age_add = reader.u32()?;
        let nonce_length = reader.vector8()?.len();
        let nonce = 9..9 + nonce_length;
        if reader.vector16()?.is_empty() {
            return None;
        }
        let mut extensions = SessionDecoder(reader.vector16()?);
        let mut early_data = 0;
        while !extensions.0.is_empty() {
            let kind = extensions.u16()?;
            let mut body = SessionDecoder(extensions.vector16()?);
            if kind == EARLY_DATA {
                early_data = body.u32().filter(|_| body.0.is_empty())?;
            }
        }
        reader.0.is_empty().then_some(())?;
        Some(Self {
            body,
            lifetime,
            nonce,
            early_data,
        })
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// The lifetime in seconds, as sent by the server.
    pub(crate) fn lifetime(&self) -> u32 {
        self.lifetime
    }

    /// The nonce from which the secret is derived; unique within a connection.
    pub(crate) fn nonce(&self) -> &[u8] {
        self.body.get(self.nonce.clone()).unwrap_or_default()
    }

    /// The limit of early data in bytes.
    pub(crate) fn early_data(&self) -> u32 {
        self.early_data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_tickets_are_refused() {
        let mut whole = vec![0, 0, 0, 60, 1, 2, 3, 4, 2, 7, 8, 0, 3, 5, 5, 5];
        whole.extend([0, 13, 0xaa, 0xaa, 0, 1, 0, 0, 42, 0, 4, 0, 0, 0x40, 0]);
        let ticket = Ticket::parse(whole.clone()).unwrap();
        let read = (ticket.lifetime(), ticket.nonce(), ticket.early_data());
        assert_eq!(read, (60, &[7, 8][..], 0x4000));
        for cut in 0..whole.len() {
            assert!(Ticket::parse(whole[..cut].to_vec()).is_none(), "{cut}");
        }
        whole.push(0);
        assert!(Ticket::parse(whole).is_none());
    }
}
