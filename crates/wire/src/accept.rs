//! `Accept` fields: which media types a client prefers. RFC 9110 §12.5.1.

/// The weight of a range that is preferred without reservation, in thousandths.
const FULL: u32 = 1000;

/// One member of the list: a media type or a range of them, with its parameters.
#[derive(Debug, Clone, Copy)]
pub struct MediaRange<'a>(&'a [u8]);

pub fn media_ranges(accept: &[u8]) -> impl Iterator<Item = MediaRange<'_>> {
    accept.split(|byte| *byte == b',').map(MediaRange)
}

impl<'a> MediaRange<'a> {
    fn parts(self) -> impl Iterator<Item = &'a [u8]> {
        let parts = self.0.split(|byte| *byte == b';');
        parts.map(<[u8]>::trim_ascii)
    }

    pub fn is(self, kind: &str) -> bool {
        let own = self.parts().next().unwrap_or_default();
        own.eq_ignore_ascii_case(kind.as_bytes())
    }

    /// The values of a parameter, with the quotes if they have any.
    pub fn parameters(self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.parts().skip(1).filter_map(move |part| {
            let (own, value) = part.split_at_checked(name.len())?;
            let value = value.strip_prefix(b"=")?;
            own.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
        })
    }

    /// The weight in thousandths; a value that is not a weight is 0.
    pub fn weight(self) -> u32 {
        let Some((whole, rest)) = self.parameters("q").find_map(<[u8]>::split_first) else {
            return FULL;
        };
        let digits = rest.strip_prefix(b".").unwrap_or_default();
        let digit = |at: usize| match digits.get(at) {
            Some(digit @ b'0'..=b'9') => u32::from(digit - b'0'),
            _ => 0,
        };
        match whole {
            b'1' => FULL,
            b'0' => digit(0) * 100 + digit(1) * 10 + digit(2),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_weights_and_parameters() {
        let accept = b"text/html;level=1, Text/*; Q=0.25;a=\"b\",*/*;q=x, ;;, a/b;q=, c/d;q=1.5";
        let ranges: Vec<MediaRange<'_>> = media_ranges(accept).collect();
        let weights: Vec<u32> = ranges.iter().map(|range| range.weight()).collect();
        assert_eq!(weights, [1000, 250, 0, 1000, 1000, 1000]);
        assert!(ranges[1].is("text/*") && !ranges[0].is("text/*") && ranges[3].is(""));
        let first = |range: usize, name| ranges[range].parameters(name).next();
        assert_eq!(first(0, "level"), Some(b"1".as_slice()));
        assert_eq!(first(1, "A"), Some(b"\"b\"".as_slice()));
        assert_eq!(first(0, "text/html"), None);
    }
}
