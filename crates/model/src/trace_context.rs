//! The position of a piece of work in a distributed trace. W3C Trace Context.

use crate::Random;

/// The ids that a `traceparent` field carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    /// Whether the trace is recorded.
    pub sampled: bool,
}

impl TraceContext {
    /// Parses the value of `traceparent`. `None` if it is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let version = hex::<1>(parts.next()?)?;
        let trace_id = hex(parts.next()?)?;
        let span_id = hex(parts.next()?)?;
        let [flags] = hex(parts.next()?)?;
        // Later versions may add parts; version 0 has none, and 255 is not valid.
        let is_valid = version[0] != 0xff && (version[0] != 0 || parts.next().is_none());
        (is_valid && trace_id != [0; 16] && span_id != [0; 8]).then_some(Self {
            trace_id,
            span_id,
            sampled: flags & 1 != 0,
        })
    }

    /// The value of `traceparent`. Gate writes one for each request, so this does not allocate.
    pub fn to_field(self) -> [u8; 55] {
        let mut field = *b"00-00000000000000000000000000000000-0000000000000000-00";
        let [_, _, _, ids @ .., _, _, flags] = &mut field;
        let (trace_id, span_id) = ids.split_at_mut(2 * 16);
        write_hex(trace_id, &self.trace_id);
        write_hex(&mut span_id[1..], &self.span_id);
        *flags += u8::from(self.sampled);
        field
    }

    /// The span below this one for a repetition and a redirect: equal numbers give equal ids.
    #[must_use]
    pub fn child(self, run: u32, hop: u32) -> Self {
        self.numbered(u64::from(run) << 32 | u64::from(hop))
    }

    /// The context of the span with this number below this one.
    #[must_use]
    pub fn numbered(self, number: u64) -> Self {
        let seed = u64::from_be_bytes(self.span_id).wrapping_add(number.wrapping_mul(2) + 1);
        // Zero would not be valid.
        let id = Random::seeded(seed).next_u64().max(1);
        Self {
            span_id: id.to_be_bytes(),
            ..self
        }
    }
}

fn write_hex(digits: &mut [u8], bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[
            DIGITS[usize::from(byte >> 4)],
            DIGITS[usize::from(byte & 15)],
        ]);
    }
}

fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(is_lower) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn the_standard_s_example_is_read_and_written() {
        let context = TraceContext::parse(EXAMPLE).unwrap();
        assert!(context.sampled && context.to_field() == EXAMPLE.as_bytes());
        let unsampled = EXAMPLE.replace("-01", "-00");
        let context = TraceContext::parse(&unsampled).unwrap();
        assert!(!context.sampled && context.to_field() == unsampled.as_bytes());
        let later = EXAMPLE.replace("00-4b", "cc-4b") + "-what-comes";
        assert_eq!(TraceContext::parse(&later), TraceContext::parse(EXAMPLE));
    }

    #[test]
    fn what_is_not_valid_is_refused() {
        for wrong in [
            "",
            "00",
            &EXAMPLE[..54],
            &EXAMPLE.replace("4b", "4B"),
            &EXAMPLE.replace("00-4b", "ff-4b"),
            &EXAMPLE.replace("00f067aa0ba902b7", "0000000000000000"),
            &EXAMPLE.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &format!("{EXAMPLE}-more"),
            &EXAMPLE.replace('4', "\u{e9}"),
        ] {
            assert_eq!(TraceContext::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn children_differ_and_stay_in_the_trace() {
        let parent = TraceContext::parse(EXAMPLE).unwrap();
        let ids = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(run, hop)| parent.child(run, hop));
        for (place, child) in ids.iter().enumerate() {
            assert_eq!(child.trace_id, parent.trace_id);
            assert!(child.span_id != parent.span_id && !ids[..place].contains(child));
        }
        assert_eq!(parent.child(1, 1), ids[3]);
    }
}
