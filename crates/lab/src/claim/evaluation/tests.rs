//! Claims that hold, claims that do not, claims that cannot be judged, and invalid claims.

use proptest::prelude::*;

use super::super::{ClaimError, ClaimScope, ClaimVerdict, Expression, Function, Results};

struct Table;

impl Results for Table {
    fn figure(&self, function: Function, arms: &[String]) -> Option<f64> {
        let median = |arm: &str| match arm {
            "no-reuse" => Some(810.0),
            "reuse" => Some(450.0),
            "h3+0rtt" => Some(95.0),
            _ => None,
        };
        let first = arms.first()?;
        match function {
            Function::Median => median(first),
            Function::RoundTrips => (first == "reuse").then_some(5.0),
            // An arm that was not measured has no ratio.
            Function::RatioToTls => {
                let ratios = arms.iter().filter_map(|arm| Some(median(arm)? / 900.0));
                ratios.max_by(f64::total_cmp)
            }
            Function::Saving => Some(1.0 - median(first)? / median(arms.get(1)?)?),
            _ => None,
        }
    }

    fn rtt_ms(&self) -> Option<f64> {
        Some(90.0)
    }
}

fn arms() -> Vec<String> {
    ["no-reuse", "reuse", "h3+0rtt", "absent"]
        .map(str::to_owned)
        .to_vec()
}

fn parse(text: &str) -> Result<Expression, ClaimError> {
    let arms = arms();
    let scene = ClaimScope {
        arms: &arms,
        in_ms: true,
        has_rtt: true,
    };
    Expression::parse(text, scene)
}

fn judge(text: &str) -> ClaimVerdict<'static> {
    parse(text).unwrap().judge(&Table, "ms")
}

#[test]
fn true_claims_hold_and_false_ones_do_not() {
    for (text, holds) in [
        ("saving(reuse, no-reuse) >= 36%", true),
        ("saving(reuse,no-reuse) >= 45 %", false),
        ("median(h3+0rtt) <= 1.15 R", true),
        ("median(h3+0rtt) < R", false),
        ("round_trips(reuse) == 5", true),
        ("round_trips(reuse) != 5", false),
        ("median(no-reuse) - median(reuse) == 4 R", true),
        ("median(reuse) / R <= 5 and median(reuse) / R >= 4", true),
        ("median(reuse) / R <= 5 and median(reuse) > 450 ms", false),
        ("2 * (median(reuse) + 10 ms) == 920 ms", true),
        ("-median(reuse) < 0 ms", true),
        ("ratio_to_tls(reuse) >= 0.5", true),
        ("ratio_to_tls(h3+0rtt, no-reuse, absent) == 0.9", true),
        // Operators are left-associative, and products bind more tightly.
        ("20 - 5 - 5 == 10", true),
        ("2 + 3 * 4 == 14", true),
        ("8 / 4 / 2 == 1", true),
    ] {
        assert_eq!(judge(text).holds, Some(holds), "{text}");
    }
}

#[test]
fn measured_values_have_the_unit_of_the_claim() {
    for (text, measured, unit) in [
        ("saving(reuse, no-reuse) >= 36%", 44.444, "%"),
        ("median(h3+0rtt) <= 1.15 R", 95.0, "ms"),
        ("round_trips(reuse) == 5", 5.0, "round trips"),
        ("ratio_to_tls(reuse) >= 1", 0.5, "of TLS"),
        ("median(reuse) / median(no-reuse) < 60%", 55.556, "%"),
    ] {
        let verdict = judge(text);
        let got = verdict.measured.unwrap();
        assert!((got - measured).abs() < 1e-3, "{text}: {got}");
        assert_eq!(verdict.unit, unit, "{text}");
    }
}

#[test]
fn unmeasured_claims_neither_hold_nor_fail() {
    let verdict = judge("median(absent) <= 5 R");
    assert_eq!((verdict.holds, verdict.measured), (None, None));
    assert_eq!(judge("median(absent) < R and 1 > 2").holds, Some(false));
    assert_eq!(judge("1 / 0 > 5").holds, None);
}

#[test]
fn invalid_claims_are_refused_with_advice() {
    for (text, word) in [
        ("", "two sides"),
        ("median(reuse)", "two sides"),
        ("median(reuse) <=", "two sides"),
        ("median(reuse) <= 5 R 6", "does not belong here"),
        ("median(reuse) <= 5", "'ms', 'R'"),
        ("round_trips(reuse) == 5 ms", "'ms', 'R'"),
        ("median(reuse) + 1 > R", "'ms', 'R'"),
        ("median(unheard-of) <= 5 R", "arms are no-reuse, reuse"),
        ("middle(reuse) <= 5 R", "known are median, min"),
        ("saving(reuse) > 1%", "two arms"),
        ("median(reuse, no-reuse) > R", "one arm"),
        ("median(reuse <= 5 R", "not closed"),
        ("1.2.3 > 1", "not a number"),
        ("median(reuse) = 5 R", "has no meaning"),
        ("(1 + 2 > 3", "does not belong here"),
        ("1 > 0 or 1 > 0", "does not belong here"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(word), "{text}: {error}");
    }
    let deep = "(".repeat(5000) + "1" + &")".repeat(5000) + " > 0";
    assert_eq!(parse(&deep), Err(ClaimError::Deep));
    let deep = "-".repeat(5000) + "1 > 0";
    assert_eq!(parse(&deep), Err(ClaimError::Deep));
}

#[test]
fn a_path_without_a_round_trip_has_no_r() {
    let arms = arms();
    let scene = ClaimScope {
        arms: &arms,
        in_ms: false,
        has_rtt: false,
    };
    let parse = |text| Expression::parse(text, scene);
    assert_eq!(parse("median(reuse) < R"), Err(ClaimError::NoRoundTrip));
    assert!(parse("median(reuse) > 5").is_ok());
    assert_eq!(parse("median(reuse) > 5 ms"), Err(ClaimError::Dimension));
}

proptest! {
    #[test]
    fn no_text_is_too_odd(text in "\\PC{0,80}") {
        let _ = parse(&text);
    }

    #[test]
    fn tokens_in_any_order_are_read_or_refused(
        parts in proptest::collection::vec(
            proptest::sample::select(vec!["1", "%", "R", "ms", "median(reuse)", "(", ")", "-", "<=", "and", "*"]), 0..20
        )
    ) {
        if let Ok(expression) = parse(&parts.join(" ")) {
            expression.judge(&Table, "ms");
        }
    }
}
