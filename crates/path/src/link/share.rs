//! Shares: `1%`, `0.5%`, or `0.01`.

pub(crate) fn parse(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse::<f64>(),
    };
    share
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("`{text}` is not a share between 0% and 100%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_or_fractions_of_one() {
        assert_eq!(parse("1%"), Ok(0.01));
        assert_eq!(parse("0.25"), Ok(0.25));
        for text in ["", "%", "101%", "-1%", "NaN", "2"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
