//! The Huffman code of HPACK and QPACK. RFC 7541, appendix B.
//!
//! The code is canonical: codes of one length follow each other in the order of their symbols, and
//! the codes of the next length begin where these end. So it suffices to know the number of codes
//! of each length.

/// The lengths that occur, and the number of codes of each length.
const LENGTHS: [(u32, u64); 21] = [
    (5, 10),
    (6, 26),
    (7, 32),
    (8, 6),
    (10, 5),
    (11, 3),
    (12, 2),
    (13, 6),
    (14, 2),
    (15, 3),
    (19, 3),
    (20, 8),
    (21, 13),
    (22, 26),
    (23, 29),
    (24, 12),
    (25, 4),
    (26, 15),
    (27, 19),
    (28, 29),
    (30, 4),
];

/// The symbols in the order of their codes. The last code marks the end, and is never used.
const SYMBOLS: [u8; 256] = [
    48, 49, 50, 97, 99, 101, 105, 111, 115, 116, 32, 37, 45, 46, 47, 51, 52, 53, 54, 55, 56, 57,
    61, 65, 95, 98, 100, 102, 103, 104, 108, 109, 110, 112, 114, 117, 58, 66, 67, 68, 69, 70, 71,
    72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 89, 106, 107, 113, 118, 119,
    120, 121, 122, 38, 42, 44, 59, 88, 90, 33, 34, 40, 41, 63, 39, 43, 124, 35, 62, 0, 36, 64, 91,
    93, 126, 94, 125, 60, 96, 123, 92, 195, 208, 128, 130, 131, 162, 184, 194, 224, 226, 153, 161,
    167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230, 129, 132, 133, 134, 136, 146, 154, 156,
    160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190, 196, 198, 228, 232, 233, 1,
    135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174,
    175, 180, 182, 183, 188, 191, 197, 231, 239, 9, 142, 144, 145, 148, 159, 171, 206, 215, 225,
    236, 237, 199, 207, 234, 235, 192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242,
    243, 255, 203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252,
    253, 254, 2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28,
    29, 30, 31, 127, 220, 249, 10, 13, 22,
];

/// The codes of one length, aligned to the upper bits of a 32-bit window.
#[derive(Clone, Copy)]
struct CodeLength {
    length: u32,
    first: u32,
    /// The last code of this length, filled up with ones.
    last: u32,
    /// The index of the first symbol of this length.
    from: u64,
}

const RUNGS: [CodeLength; LENGTHS.len()] = rungs();

const fn rungs() -> [CodeLength; LENGTHS.len()] {
    let none = CodeLength {
        length: 0,
        first: 0,
        last: 0,
        from: 0,
    };
    let mut rungs = [none; LENGTHS.len()];
    // The first code of the next length. It has 64 bits because it overflows 32 bits after the last
    // length.
    let (mut first, mut from, mut at) = (0_u64, 0, 0);
    while at < LENGTHS.len() {
        let (length, count) = LENGTHS[at];
        let end = first + (count << (32 - length));
        rungs[at] = CodeLength {
            length,
            first: first as u32,
            last: (end - 1) as u32,
            from,
        };
        from += count;
        first = end;
        at += 1;
    }
    assert!(first == 1 << 32, "the code is complete");
    rungs
}

/// The code of each symbol, and its length in bits.
static CODES: [(u32, u8); 256] = codes();

const fn codes() -> [(u32, u8); 256] {
    let mut codes = [(0, 0); 256];
    let mut at = 0;
    while at < RUNGS.len() {
        let rung = RUNGS[at];
        let mut place = 0;
        // The last code of all marks the end.
        while place < LENGTHS[at].1 && rung.from + place < 256 {
            let code = (rung.first >> (32 - rung.length)) + place as u32;
            codes[SYMBOLS[(rung.from + place) as usize] as usize] = (code, rung.length as u8);
            place += 1;
        }
        at += 1;
    }
    codes
}

/// The lengths of the codes alone: a text is measured before it is encoded.
static BITS: [u8; 256] = bits();

const fn bits() -> [u8; 256] {
    let mut bits = [0; 256];
    let mut symbol = 0;
    while symbol < bits.len() {
        bits[symbol] = CODES[symbol].1;
        symbol += 1;
    }
    bits
}

fn code(symbol: u8) -> (u32, u8) {
    CODES[usize::from(symbol)]
}

/// The length of a text's code, in bytes.
pub(super) fn encoded_length(text: &[u8]) -> usize {
    let bits = |symbol: &u8| usize::from(BITS[usize::from(*symbol)]);
    text.iter().map(bits).sum::<usize>().div_ceil(8)
}

/// Appends the code of a text, padded with ones to a whole byte.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut window, mut held) = (0_u64, 0_u32);
    for symbol in text {
        let (code, length) = code(*symbol);
        window = window << length | u64::from(code);
        held += u32::from(length);
        while held >= 8 {
            held -= 8;
            out.push((window >> held) as u8);
        }
    }
    if held > 0 {
        out.push((window << (8 - held)) as u8 | 0xff >> held);
    }
}

/// Appends the decoded text. Returns `None` if a code is invalid or is the end-of-string code, or
/// if the padding is not ones that fill the last byte.
pub(super) fn decode(bytes: &[u8], decoded: &mut Vec<u8>) -> Option<()> {
    let mut rest = bytes.iter();
    let (mut window, mut held) = (0_u64, 0);
    loop {
        while held <= 32 {
            let Some(byte) = rest.next() else { break };
            window |= u64::from(*byte) << (56 - held);
            held += 8;
        }
        let code = (window >> 32) as u32;
        let rung = RUNGS.iter().find(|rung| code <= rung.last)?;
        if rung.length > held {
            let ones = u32::MAX.checked_shl(32 - held).unwrap_or(0);
            return (held < 8 && code == ones).then_some(());
        }
        let place = rung.from + u64::from((code - rung.first) >> (32 - rung.length));
        decoded.push(*SYMBOLS.get(place as usize)?);
        window <<= rung.length;
        held -= rung.length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
        let mut decoded = Vec::new();
        super::decode(bytes, &mut decoded).map(|()| decoded)
    }

    fn encode(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        super::encode(text, &mut out);
        assert_eq!(out.len(), encoded_length(text));
        out
    }

    #[test]
    fn codes_are_the_appendix_s() {
        for (symbol, expected) in [
            (0, (0x1ff8, 13)),
            (b'\n', (0x3fff_fffc, 30)),
            (b' ', (0x14, 6)),
            (b'0', (0, 5)),
            (b'a', (3, 5)),
            (b'z', (0x7b, 7)),
            (b'\\', (0x7_fff0, 19)),
            (128, (0xf_ffe6, 20)),
            (199, (0x1ff_ffec, 25)),
            (249, (0xfff_fffe, 28)),
            (255, (0x3ff_ffee, 26)),
        ] {
            assert_eq!(code(symbol), expected, "{symbol}");
        }
    }

    #[test]
    fn examples_of_the_rfc_are_read() {
        // RFC 7541, C.4 and C.6.
        for (coded, text) in [
            ("f1e3c2e5f23a6ba0ab90f4ff", "www.example.com"),
            ("a8eb10649cbf", "no-cache"),
            ("25a849e95ba97d7f", "custom-key"),
            ("25a849e95bb8e8b4bf", "custom-value"),
            ("6402", "302"),
            ("aec3771a4b", "private"),
            (
                "d07abe941054d444a8200595040b8166e082a62d1bff",
                "Mon, 21 Oct 2013 20:13:21 GMT",
            ),
            (
                "9d29ad171863c78f0b97c8e9ae82ae43d3",
                "https://www.example.com",
            ),
        ] {
            let bytes: Vec<u8> = (0..coded.len() / 2)
                .map(|at| u8::from_str_radix(&coded[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            assert_eq!(decode(&bytes).unwrap(), text.as_bytes());
            assert_eq!(encode(text.as_bytes()), bytes);
        }
    }

    #[test]
    fn every_symbol_comes_back() {
        let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        assert_eq!(decode(&encode(&all)).unwrap(), all);
        for symbol in 0..=255 {
            assert_eq!(decode(&encode(&[symbol])).unwrap(), [symbol]);
        }
        assert_eq!(decode(&[]).unwrap(), b"");
    }

    #[test]
    fn padding_is_less_than_a_byte_of_ones() {
        // `a`, and three bits.
        assert_eq!(decode(&[0b0001_1111]).unwrap(), b"a");
        for bad in [
            &[0b0001_1110][..],
            &[0b0001_1000],
            &[0b0001_1111, 0xff],
            &[0xff],
            // The end marker, in full.
            &[0xff, 0xff, 0xff, 0xff],
            &[0xff, 0xff, 0xff, 0xfc],
        ] {
            assert_eq!(decode(bad), None, "{bad:x?}");
        }
    }
}
