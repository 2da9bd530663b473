//! Header blocks of HTTP/2 with their dynamic table, for a passive reader. RFC 7541.
//!
//! If the beginning of the connection was not seen, entries of the table are unknown; lines that
//! refer to them have an empty name, and all others are right.

use crate::Result;
use crate::cursor::Cursor;
use crate::qpack::{DynamicTable, Line, integer, string, value};

const WHAT: &str = "a header block";
/// The default size of the table in bytes. RFC 9113 §6.5.2.
const DEFAULT_CAPACITY: usize = 4096;
/// The largest sum of all lines of a block, in bytes.
const MAX_BLOCK: usize = 1 << 20;

/// The state that one side's header blocks have built up.
#[derive(Debug)]
pub(crate) struct Decoder {
    table: DynamicTable,
}

impl Default for Decoder {
    fn default() -> Self {
        let table = DynamicTable::with_capacity(DEFAULT_CAPACITY);
        Self { table }
    }
}

impl Decoder {
    /// Roughly the number of bytes that the decoder holds.
    pub(crate) fn held(&self) -> usize {
        self.table.held()
    }

    /// Something was not seen: the content of the table is unknown from now on.
    pub(crate) fn forget(&mut self) {
        self.table.forget();
    }

    /// All lines of a block. RFC 7541 §6.
    pub(crate) fn read(&mut self, block: &[u8]) -> Result<Vec<Line>> {
        let mut cursor = Cursor::new(WHAT, block);
        let mut lines = Vec::new();
        let mut room = MAX_BLOCK;
        while !cursor.is_empty() {
            let first = cursor.u8()?;
            let line = match first {
                0x80.. => {
                    let index = integer(&mut cursor, first, 7)?;
                    self.entry(&cursor, index)?
                }
                0x40.. => {
                    let line = self.literal(&mut cursor, first, 6)?;
                    self.table.insert(line.clone());
                    line
                }
                0x20.. => {
                    let capacity = integer(&mut cursor, first, 5)?;
                    self.table.set_capacity(capacity);
                    continue;
                }
                _ => self.literal(&mut cursor, first, 4)?,
            };
            room = room
                .checked_sub(line.0.len() + line.1.len() + 1)
                .ok_or_else(|| cursor.malformed("its lines are too long"))?;
            lines.push(line);
        }
        Ok(lines)
    }

    fn literal(&self, cursor: &mut Cursor<'_>, first: u8, bits: u32) -> Result<Line> {
        let index = integer(cursor, first, bits)?;
        let name = if index == 0 {
            let mut name = Vec::new();
            let first = cursor.u8()?;
            string(cursor, first, 7, &mut name)?;
            name
        } else {
            self.entry(cursor, index)?.0
        };
        Ok((name, value(cursor)?))
    }

    /// RFC 7541 §2.3.3.
    fn entry(&self, cursor: &Cursor<'_>, index: usize) -> Result<Line> {
        let Some(index) = index.checked_sub(1) else {
            return Err(cursor.malformed("no line has the index 0"));
        };
        if let Some((name, value)) = STATIC.get(index) {
            return Ok((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        }
        let line = self.table.newest(index - STATIC.len());
        Ok(line.cloned().unwrap_or_default())
    }
}

/// RFC 7541, appendix A.
pub(crate) static STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::unhex_spaced;

    fn read(decoder: &mut Decoder, block: &str) -> Vec<(String, String)> {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let lines = decoder.read(&unhex_spaced(block)).unwrap().into_iter();
        lines
            .map(|(name, value)| (text(name), text(value)))
            .collect()
    }

    fn owned(lines: &[(&str, &str)]) -> Vec<(String, String)> {
        let lines = lines.iter();
        lines
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    }

    #[test]
    fn the_requests_of_the_rfc_are_read() {
        // RFC 7541, C.4.
        let mut decoder = Decoder::default();
        let first = [
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            (":authority", "www.example.com"),
        ];
        let block = "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff";
        assert_eq!(read(&mut decoder, block), owned(&first));
        let second = read(&mut decoder, "8286 84be 5886 a8eb 1064 9cbf");
        assert_eq!(second[..4], owned(&first));
        assert_eq!(second[4..], owned(&[("cache-control", "no-cache")]));
        let third = read(
            &mut decoder,
            "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
        );
        let lines = [
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/index.html"),
            (":authority", "www.example.com"),
            ("custom-key", "custom-value"),
        ];
        assert_eq!(third, owned(&lines));
        // The second request alone: the entries that the first one inserted are unknown.
        let second = read(&mut Decoder::default(), "8286 84be 5886 a8eb 1064 9cbf");
        assert_eq!(
            second[3..],
            owned(&[("", ""), ("cache-control", "no-cache")])
        );
    }

    #[test]
    fn entries_are_evicted_as_in_the_responses_of_the_rfc() {
        // RFC 7541, C.6: a table of 256 bytes, which the settings would announce.
        let mut decoder = Decoder::default();
        decoder.table.set_capacity(256);
        read(
            &mut decoder,
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b \
             ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        );
        let second = read(&mut decoder, "4883 640e ffc1 c0bf");
        let lines = [
            (":status", "307"),
            ("cache-control", "private"),
            ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
            ("location", "https://www.example.com"),
        ];
        assert_eq!(second, owned(&lines));
        assert!(decoder.read(&[0x80]).is_err());
        assert!(decoder.read(&[0x40, 0x7f, 0xff]).is_err());
    }
}
