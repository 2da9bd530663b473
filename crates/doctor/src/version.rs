//! Versions as libraries and packages write them: `1.0.2k`, `3.0.17`, `3.87`, `17.0.15+6`.

use std::fmt;

/// Three numbers and a suffix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SoftwareVersion {
    numbers: [u32; 3],
    text: String,
}

impl SoftwareVersion {
    /// Parses the version at the start of `text`: two or three numbers separated by dots, then an
    /// optional suffix of letters, digits, `-`, `+`, `_` and `.`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let end = text
            .find(|c: char| !c.is_ascii_alphanumeric() && !"-+_.".contains(c))
            .unwrap_or(text.len())
            .min(40);
        let text = text.get(..end)?.trim_end_matches(['.', '-', '+', '_']);
        let mut numbers = [0; 3];
        let mut given = 0;
        let mut rest = text;
        for slot in &mut numbers {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, after) = rest.split_at_checked(digits)?;
            let Ok(number) = number.parse() else { break };
            *slot = number;
            given += 1;
            match after.strip_prefix('.') {
                Some(next) => rest = next,
                None => break,
            }
        }
        (given >= 2).then(|| Self {
            numbers,
            text: text.to_owned(),
        })
    }

    /// Whether this is the given version or a later one; the suffix does not count.
    pub(crate) fn at_least(&self, major: u32, minor: u32, patch: u32) -> bool {
        self.numbers >= [major, minor, patch]
    }

    /// The numbers that determine the order of versions.
    pub(crate) fn numbers(&self) -> [u32; 3] {
        self.numbers
    }

    /// The numbers as they were written, without the suffix: `1.0.2` in `1.0.2k-fips`.
    pub(crate) fn base(&self) -> String {
        let numbers = self.text.split(|c: char| !c.is_ascii_digit()).take(3);
        let numbers: Vec<&str> = numbers.take_while(|number| !number.is_empty()).collect();
        numbers.join(".")
    }

    pub(crate) fn major(&self) -> u32 {
        self.numbers[0]
    }

    pub(crate) fn minor(&self) -> u32 {
        self.numbers[1]
    }
}

impl fmt::Display for SoftwareVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        SoftwareVersion::parse(text).map(|v| v.to_string())
    }

    #[test]
    fn reads_what_libraries_write() {
        assert_eq!(shown("1.0.2k-fips  26 Jan 2017").unwrap(), "1.0.2k-fips");
        assert_eq!(shown("3.7.9 logging...").unwrap(), "3.7.9");
        assert_eq!(shown("3.87").unwrap(), "3.87");
        assert_eq!(shown("17.0.15+6-Debian\"").unwrap(), "17.0.15+6-Debian");
        assert_eq!(shown("3.7.9.\0").unwrap(), "3.7.9");
    }

    #[test]
    fn the_base_has_no_suffix() {
        let base = |text| SoftwareVersion::parse(text).unwrap().base();
        assert_eq!(base("1.0.2k-fips"), "1.0.2");
        assert_eq!(base("3.87"), "3.87");
        assert_eq!(base("3.0.17"), "3.0.17");
    }

    #[test]
    fn refuses_text_that_is_not_a_version() {
        for text in ["", "3", "3.", "x.y", ".1.2", "é1.2", "99999999999.1"] {
            assert_eq!(shown(text), None, "{text:?}");
        }
    }

    #[test]
    fn orders_by_number_not_by_text() {
        assert!(SoftwareVersion::parse("3.105").unwrap().at_least(3, 39, 0));
        assert!(!SoftwareVersion::parse("3.39").unwrap().at_least(3, 105, 0));
        assert!(SoftwareVersion::parse("1.1.1w").unwrap().at_least(1, 1, 1));
        assert!(!SoftwareVersion::parse("1.1.0l").unwrap().at_least(1, 1, 1));
    }
}
