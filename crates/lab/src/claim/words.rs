//! Tokens. The parentheses of a function contain names of arms, which can contain almost any
//! character (`h3+0rtt`, `old-image@100ms`), so a whole call is one token.

use super::ClaimError;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClaimToken {
    Number(f64),
    Percent(f64),
    /// `ms`, `R`, `and`
    Word(String),
    Call {
        function: String,
        arms: Vec<String>,
    },
    /// A comparison such as `<=`, or one of `+ - * / ( )`.
    Sign(&'static str),
}

/// The signs, longer ones first, so that `<=` is not read as `<`.
const SIGNS: [&str; 12] = [
    "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")",
];

pub(super) fn tokens(text: &str) -> Result<Vec<ClaimToken>, ClaimError> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = if first.is_ascii_digit() {
            number(rest)?
        } else if first.is_ascii_alphabetic() {
            word(rest)?
        } else {
            sign(rest).ok_or(ClaimError::Character(first))?
        };
        tokens.push(token);
        rest = after.trim_start();
    }
    Ok(tokens)
}

fn number(text: &str) -> Result<(ClaimToken, &str), ClaimError> {
    let (digits, rest) = split(text, |c| c.is_ascii_digit() || c == '.');
    let value: f64 = digits
        .parse()
        .map_err(|_| ClaimError::Number(digits.into()))?;
    match rest.trim_start().strip_prefix('%') {
        Some(rest) => Ok((ClaimToken::Percent(value), rest)),
        None => Ok((ClaimToken::Number(value), rest)),
    }
}

fn word(text: &str) -> Result<(ClaimToken, &str), ClaimError> {
    let (name, rest) = split(text, |c| c.is_ascii_alphanumeric() || c == '_');
    let Some(inside) = rest.strip_prefix('(') else {
        return Ok((ClaimToken::Word(name.into()), rest));
    };
    let (arms, rest) = inside
        .split_once(')')
        .ok_or_else(|| ClaimError::Open(name.into()))?;
    let arms = arms.split(',').map(|arm| arm.trim().to_owned()).collect();
    let function = name.to_owned();
    Ok((ClaimToken::Call { function, arms }, rest))
}

fn sign(text: &str) -> Option<(ClaimToken, &str)> {
    let found = SIGNS
        .iter()
        .find_map(|sign| Some((*sign, text.strip_prefix(sign)?)));
    found.map(|(sign, rest)| (ClaimToken::Sign(sign), rest))
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.split_at(end)
}
