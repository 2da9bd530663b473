//! The additions of Redis Cluster to the protocol: the slot of a key, and errors that name another
//! server. The store knows which server has which slots.

/// The number of slots in a cluster.
pub const SLOTS: u16 = 16384;

/// CRC-16 with the polynomial 0x1021 (XMODEM), byte by byte.
const CRC16: [u16; 256] = table();

/// An error reply that names the server to ask instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    pub slot: u16,
    /// Empty: the host that was asked.
    pub host: String,
    pub port: u16,
    /// Whether the reply is `ASK`: only this request goes there, after `ASKING`. Otherwise it is
    /// `MOVED`: all requests for the slot go there.
    pub once: bool,
}

impl Redirect {
    /// Parses the text of an error reply; `None` if it is another error.
    pub fn parse(error: &[u8]) -> Option<Self> {
        let mut words = str::from_utf8(error).ok()?.split(' ');
        let once = match words.next()? {
            "ASK" => true,
            "MOVED" => false,
            _ => return None,
        };
        let slot = words.next()?.parse().ok().filter(|slot| *slot < SLOTS)?;
        let (host, port) = words.next()?.rsplit_once(':')?;
        Some(Self {
            slot,
            host: host.trim_matches(['[', ']']).into(),
            port: port.parse().ok()?,
            once,
        })
    }
}

/// The slot of a key. If the key contains text between its first `{` and the next `}`, only that
/// text counts.
pub fn key_slot(key: &[u8]) -> u16 {
    crc16(tag(key)) % SLOTS
}

fn tag(key: &[u8]) -> &[u8] {
    let inner = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close)
    });
    inner.filter(|inner| !inner.is_empty()).unwrap_or(key)
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        let [high, _] = u16::to_be_bytes(crc);
        let entry = CRC16.get(usize::from(high ^ byte)).copied();
        (crc << 8) ^ entry.unwrap_or_default()
    })
}

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = (at as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            let carry = crc & 0x8000 != 0;
            crc = (crc << 1) ^ if carry { 0x1021 } else { 0 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of Redis' own `CLUSTER KEYSLOT`.
    #[test]
    fn a_key_has_the_slot_that_redis_gives_it() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, slot) in [
            ("foo", 12182),
            ("bar", 5061),
            ("", 0),
            ("{user1000}.following", 3443),
            ("{user1000}.followers", 3443),
            ("a{foo}{bar}", 12182),
        ] {
            assert_eq!(key_slot(key.as_bytes()), slot, "{key}");
        }
        for whole in ["{}.a", "a{b", "}a{"] {
            assert_eq!(key_slot(whole.as_bytes()), crc16(whole.as_bytes()) % SLOTS);
        }
    }

    #[test]
    fn redirects_are_read_and_nothing_else() {
        let read = |text: &str| Redirect::parse(text.as_bytes());
        let moved = read("MOVED 3999 127.0.0.1:6381").unwrap();
        assert_eq!((moved.slot, moved.port, moved.once), (3999, 6381, false));
        assert_eq!(moved.host, "127.0.0.1");
        let ask = read("ASK 1 [::1]:7").unwrap();
        assert_eq!((ask.host.as_str(), ask.once), ("::1", true));
        assert_eq!(read("MOVED 1 ::1:7").unwrap().host, "::1");
        assert_eq!(read("MOVED 1 :7").unwrap().host, "");
        for other in [
            "",
            "MOVED",
            "MOVED 1",
            "MOVED 16384 h:1",
            "MOVED 1 h",
            "MOVED 1 h:99999",
            "MOVEDX 1 h:1",
            "ERR MOVED 1 h:1",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
