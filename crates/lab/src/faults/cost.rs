//! The expected cost of a fault: a sum of milliseconds, amounts and round trips, such as `1000 + 2
//! R` or `3 amount`.

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ExpectedCost {
    ms: f64,
    amounts: f64,
    round_trips: f64,
}

impl ExpectedCost {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut cost = Self::default();
        for term in text.split('+') {
            let words: Vec<&str> = term.split_whitespace().collect();
            let number = |word: &str| {
                word.parse::<f64>()
                    .ok()
                    .filter(|number| (0.0..=1e6).contains(number))
                    .ok_or_else(|| {
                        format!("'{text}' is not a cost; write it like 1000 + 2 R, or amount")
                    })
            };
            match words[..] {
                ["R"] => cost.round_trips += 1.0,
                [times, "R"] => cost.round_trips += number(times)?,
                ["amount"] => cost.amounts += 1.0,
                [times, "amount"] => cost.amounts += number(times)?,
                [ms] => cost.ms += number(ms)?,
                _ => {
                    return Err(format!(
                        "'{text}' is not a cost; write it like 1000 + 2 R, or amount"
                    ));
                }
            }
        }
        Ok(cost)
    }

    pub(super) fn ms(self, amount: u64, rtt_ms: f64) -> f64 {
        self.ms + self.amounts * amount as f64 + self.round_trips * rtt_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let ms = |text: &str| ExpectedCost::parse(text).map(|cost| cost.ms(7, 20.0));
        assert_eq!(ms("R"), Ok(20.0));
        assert_eq!(ms("1000 + 2 R"), Ok(1040.0));
        assert_eq!(ms("amount"), Ok(7.0));
        assert_eq!(ms("3 amount + R"), Ok(41.0));
        for text in ["", "R R", "-1", "much", "1 +", "nan"] {
            assert!(ms(text).is_err(), "{text}");
        }
    }
}
