//! A TLS ClientHello as a middlebox sees it: in one segment or in several.

use roundtrip_wire::tls::{ClientHello, HandshakeKind, Handshakes, Version, clear_handshake};

/// Length of a record header: type, version, length (RFC 8446 §5.1). A handshake record has type
/// 22.
const RECORD_HEADER: usize = 5;
const HANDSHAKE: u8 = 22;
/// Length of a handshake header: type, and three bytes of length (RFC 8446 §4).
const MESSAGE_HEADER: usize = 4;
const CLIENT_HELLO: u8 = 1;

/// The length that the ClientHello at the start of `payload` declares, record header included.
pub(crate) fn declared_length(payload: &[u8]) -> Option<usize> {
    let &[HANDSHAKE, 3, _, high, low, CLIENT_HELLO, ref rest @ ..] = payload else {
        return None;
    };
    let record = usize::from(u16::from_be_bytes([high, low]));
    // The message may continue in a further record.
    let message = rest.first_chunk::<3>().map_or(0, |[a, b, c]| {
        MESSAGE_HEADER + usize::from(*a) * 0x1_0000 + usize::from(u16::from_be_bytes([*b, *c]))
    });
    Some(RECORD_HEADER + record.max(message))
}

/// Whether the ClientHello offers TLS 1.3 (RFC 8446 §4.2.1); `None` while it is incomplete.
pub(crate) fn offers_tls13(stream: &[u8]) -> Option<bool> {
    let handshake = clear_handshake(stream).ok()?;
    let message = Handshakes::new(&handshake).next()?;
    let is_hello = message.kind == HandshakeKind::CLIENT_HELLO;
    let hello = ClientHello::parse(message.body).ok().filter(|_| is_hello);
    Some(hello.is_some_and(|hello| hello.versions.contains(&Version::TLS13)))
}

#[cfg(test)]
pub(crate) mod examples {
    /// A ClientHello in one record that offers these versions, with `padding` bytes of padding (RFC
    /// 7685).
    pub(crate) fn client_hello(versions: &[u16], padding: usize) -> Vec<u8> {
        let mut offered = vec![2 * versions.len() as u8];
        offered.extend(versions.iter().flat_map(|version| version.to_be_bytes()));
        let mut extensions = extension(21, &vec![0; padding]);
        extensions.extend(extension(43, &offered));
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 0x01, 1, 0]);
        body.extend(prefixed(&extensions));
        let message = [&[1, 0][..], &prefixed(&body)].concat();
        [&[22, 3, 1][..], &prefixed(&message)].concat()
    }

    fn extension(kind: u16, value: &[u8]) -> Vec<u8> {
        [&kind.to_be_bytes()[..], &prefixed(value)].concat()
    }

    fn prefixed(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::examples::client_hello;
    use super::*;

    #[test]
    fn the_first_bytes_of_a_hello_declare_its_length() {
        let hello = client_hello(&[0x0304], 1500);
        assert_eq!(declared_length(&hello), Some(hello.len()));
        assert_eq!(declared_length(&hello[..9]), Some(hello.len()));
        assert_eq!(declared_length(&hello[..6]), Some(hello.len()));
        assert_eq!(declared_length(&hello[..5]), None);
        assert_eq!(declared_length(b"GET / HTTP/1.1\r\n"), None);
        // The message is split into several records. Counting one header of five bytes gives a
        // lower bound.
        let split = [22, 3, 1, 0, 10, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(declared_length(&split), Some(5 + 4 + 256));
    }

    #[test]
    fn the_offer_is_known_once_the_hello_is_complete() {
        let both = client_hello(&[0x0304, 0x0303], 1500);
        assert_eq!(offers_tls13(&both), Some(true));
        assert_eq!(offers_tls13(&both[..both.len() - 1]), None);
        assert_eq!(offers_tls13(&client_hello(&[0x0303], 0)), Some(false));
        assert_eq!(offers_tls13(b"GET / HTTP/1.1\r\n"), None);
    }
}
