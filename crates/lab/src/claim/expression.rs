//! The syntax tree of claims, and the checks before any measurement: arms exist, functions are
//! known, milliseconds are compared with milliseconds.
//!
//! ```text
//! claim      = comparison { "and" comparison }
//! comparison = sum ( "<=" | ">=" | "<" | ">" | "==" | "!=" ) sum
//! sum        = product { ( "+" | "-" ) product }
//! product    = factor { ( "*" | "/" ) factor }
//! factor     = number [ "%" | "ms" | "R" ] | "R" | function "(" arm [ "," arm ] ")"
//!            | "-" factor | "(" sum ")"
//! ```

use std::iter::Peekable;
use std::ops::RangeInclusive;
use std::vec::IntoIter;

use super::words::{ClaimToken, tokens};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    #[error("'{0}' has no meaning in a claim; write, for example, median(ARM) <= 1.15 R")]
    Character(char),
    #[error("'{0}' is not a number")]
    Number(String),
    #[error("'{0}(' is not closed")]
    Open(String),
    #[error("'{0}' is not a function; known are {known}", known = Function::names())]
    Function(String),
    #[error("{0} takes {1}")]
    Arity(&'static str, &'static str),
    #[error("there is no arm '{0}'; arms are {1}")]
    Arm(String, String),
    #[error("'{0}' does not belong here; write a number, R, or FUNCTION(ARM)")]
    Unexpected(String),
    #[error("the claim ends too early; write two sides with <=, >=, <, >, == or != between them")]
    End,
    #[error(
        "milliseconds and plain numbers cannot be added or compared; write 'ms', 'R' or '%' after the number"
    )]
    Dimension,
    #[error("R is the path's round trip, and this experiment's path has none")]
    NoRoundTrip,
    #[error("the claim is nested too deeply")]
    Deep,
}

/// The names that a claim can refer to.
#[derive(Debug, Clone, Copy)]
pub struct ClaimScope<'a> {
    pub arms: &'a [String],
    /// Whether arms are measured in milliseconds.
    pub in_ms: bool,
    pub has_rtt: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// The comparisons: the claim holds if all of them do.
    pub(super) comparisons: Vec<ClaimComparison>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClaimComparison {
    pub(super) left: ClaimNode,
    pub(super) sign: &'static str,
    pub(super) right: ClaimNode,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClaimNode {
    Number(f64),
    Percent(f64),
    Ms(f64),
    /// A number of the path's round trips.
    RoundTrips(f64),
    Of(Function, Vec<String>),
    Minus(Box<ClaimNode>),
    Both(Box<ClaimNode>, &'static str, Box<ClaimNode>),
}

/// The figures of arms that a claim can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Median,
    Min,
    Max,
    Mean,
    P90,
    /// The round trips of the median run.
    RoundTrips,
    /// The milliseconds that the median run waited for each party.
    Network,
    Server,
    Client,
    /// Milliseconds lost to retransmission timeouts.
    Loss,
    /// Microseconds of processor time that the server used per request.
    Cpu,
    /// The path's round-trip time for that arm.
    Rtt,
    /// The share of failed runs, for an arm that is expected to fail.
    Failed,
    /// The requests that the origin received in a run.
    Requests,
    /// In the recorded run, the bytes that the client sent more than once and that the server
    /// received more than once.
    SentTwice,
    ArrivedTwice,
    /// (ARM, BASE): the share of BASE's median that ARM saves.
    Saving,
    /// The throughput per core of the sender, relative to TLS over TCP; the best of several arms.
    RatioToTls,
    /// (ARM, BASE): the lower bound of the confidence interval of the paired difference.
    SavingLow,
}

const FUNCTIONS: [(&str, Function); 19] = [
    ("median", Function::Median),
    ("min", Function::Min),
    ("max", Function::Max),
    ("mean", Function::Mean),
    ("p90", Function::P90),
    ("round_trips", Function::RoundTrips),
    ("network", Function::Network),
    ("server", Function::Server),
    ("client", Function::Client),
    ("loss", Function::Loss),
    ("cpu", Function::Cpu),
    ("rtt", Function::Rtt),
    ("failed", Function::Failed),
    ("requests", Function::Requests),
    ("sent_twice", Function::SentTwice),
    ("arrived_twice", Function::ArrivedTwice),
    ("ratio_to_tls", Function::RatioToTls),
    ("saving", Function::Saving),
    ("saving_low", Function::SavingLow),
];

impl Function {
    fn names() -> String {
        let names: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }

    /// The number of arguments, as a range and in words.
    fn takes(self) -> (RangeInclusive<usize>, &'static str) {
        match self {
            Self::Saving | Self::SavingLow => (
                2..=2,
                "two arms: the one that saves, and the one it is compared with",
            ),
            Self::RatioToTls => (1..=usize::MAX, "one arm, or several; the best one counts"),
            _ => (1..=1, "one arm"),
        }
    }

    /// The exponent of time in the unit of the function's result.
    fn dimension(self, in_ms: bool) -> i32 {
        match self {
            Self::RoundTrips
            | Self::Cpu
            | Self::Failed
            | Self::Requests
            | Self::SentTwice
            | Self::ArrivedTwice
            | Self::RatioToTls
            | Self::Saving => 0,
            Self::Network | Self::Server | Self::Client | Self::Loss | Self::Rtt => 1,
            Self::Median | Self::Min | Self::Max | Self::Mean | Self::P90 | Self::SavingLow => {
                i32::from(in_ms)
            }
        }
    }
}

impl Expression {
    pub fn parse(text: &str, scene: ClaimScope<'_>) -> Result<Self, ClaimError> {
        let mut parser = Parser {
            tokens: tokens(text)?.into_iter().peekable(),
            scene,
            depth: 0,
        };
        let mut comparisons = vec![parser.comparison()?];
        while let Some(token) = parser.tokens.next() {
            if token != ClaimToken::Word("and".into()) {
                return Err(unexpected(&token));
            }
            comparisons.push(parser.comparison()?);
        }
        for comparison in &comparisons {
            let (left, right) = (&comparison.left, &comparison.right);
            if dimension(left, scene.in_ms)? != dimension(right, scene.in_ms)? {
                return Err(ClaimError::Dimension);
            }
        }
        Ok(Self { comparisons })
    }
}

const MAX_DEPTH: u32 = 32;
const COMPARISONS: [&str; 6] = ["<=", ">=", "==", "!=", "<", ">"];

struct Parser<'a> {
    tokens: Peekable<IntoIter<ClaimToken>>,
    scene: ClaimScope<'a>,
    depth: u32,
}

impl Parser<'_> {
    fn comparison(&mut self) -> Result<ClaimComparison, ClaimError> {
        let left = self.sum()?;
        let sign = match self.tokens.next().ok_or(ClaimError::End)? {
            ClaimToken::Sign(sign) if COMPARISONS.contains(&sign) => sign,
            other => return Err(unexpected(&other)),
        };
        let right = self.sum()?;
        Ok(ClaimComparison { left, sign, right })
    }

    fn sum(&mut self) -> Result<ClaimNode, ClaimError> {
        self.chain(&["+", "-"], Self::product)
    }

    fn product(&mut self) -> Result<ClaimNode, ClaimError> {
        self.chain(&["*", "/"], Self::factor)
    }

    fn chain(
        &mut self,
        signs: &[&'static str],
        next: fn(&mut Self) -> Result<ClaimNode, ClaimError>,
    ) -> Result<ClaimNode, ClaimError> {
        let mut node = next(self)?;
        while let Some(ClaimToken::Sign(sign)) = self.tokens.peek().cloned() {
            if !signs.contains(&sign) {
                break;
            }
            self.tokens.next();
            node = ClaimNode::Both(Box::new(node), sign, Box::new(next(self)?));
        }
        Ok(node)
    }

    fn factor(&mut self) -> Result<ClaimNode, ClaimError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(ClaimError::Deep);
        }
        let node = match self.tokens.next().ok_or(ClaimError::End)? {
            ClaimToken::Percent(value) => ClaimNode::Percent(value),
            ClaimToken::Number(value) => self.with_unit(value)?,
            ClaimToken::Word(word) if word == "R" => self.round_trips(1.0)?,
            ClaimToken::Call { function, arms } => self.call(&function, arms)?,
            ClaimToken::Sign("-") => ClaimNode::Minus(Box::new(self.factor()?)),
            ClaimToken::Sign("(") => {
                let inside = self.sum()?;
                match self.tokens.next().ok_or(ClaimError::End)? {
                    ClaimToken::Sign(")") => inside,
                    other => return Err(unexpected(&other)),
                }
            }
            other => return Err(unexpected(&other)),
        };
        self.depth -= 1;
        Ok(node)
    }

    fn with_unit(&mut self, value: f64) -> Result<ClaimNode, ClaimError> {
        let unit = match self.tokens.peek() {
            Some(ClaimToken::Word(word)) if word == "ms" || word == "R" => word.clone(),
            _ => return Ok(ClaimNode::Number(value)),
        };
        self.tokens.next();
        if unit == "ms" {
            return Ok(ClaimNode::Ms(value));
        }
        self.round_trips(value)
    }

    fn round_trips(&self, value: f64) -> Result<ClaimNode, ClaimError> {
        let known = self.scene.has_rtt;
        known
            .then_some(ClaimNode::RoundTrips(value))
            .ok_or(ClaimError::NoRoundTrip)
    }

    fn call(&self, name: &str, arms: Vec<String>) -> Result<ClaimNode, ClaimError> {
        let found = FUNCTIONS.iter().find(|(known, _)| *known == name);
        let (name, function) = *found.ok_or_else(|| ClaimError::Function(name.into()))?;
        let (count, words) = function.takes();
        if !count.contains(&arms.len()) {
            return Err(ClaimError::Arity(name, words));
        }
        if let Some(unknown) = arms.iter().find(|arm| !self.scene.arms.contains(arm)) {
            return Err(ClaimError::Arm(unknown.clone(), self.scene.arms.join(", ")));
        }
        Ok(ClaimNode::Of(function, arms))
    }
}

fn unexpected(token: &ClaimToken) -> ClaimError {
    ClaimError::Unexpected(match token {
        ClaimToken::Number(value) => value.to_string(),
        ClaimToken::Percent(value) => format!("{value}%"),
        ClaimToken::Word(word) => word.clone(),
        ClaimToken::Call { function, .. } => format!("{function}(…)"),
        ClaimToken::Sign(sign) => (*sign).to_owned(),
    })
}

/// The exponent of time in the unit of the expression.
fn dimension(node: &ClaimNode, in_ms: bool) -> Result<i32, ClaimError> {
    Ok(match node {
        ClaimNode::Number(_) | ClaimNode::Percent(_) => 0,
        ClaimNode::Ms(_) | ClaimNode::RoundTrips(_) => 1,
        ClaimNode::Of(function, _) => function.dimension(in_ms),
        ClaimNode::Minus(inside) => dimension(inside, in_ms)?,
        ClaimNode::Both(left, sign, right) => {
            let (left, right) = (dimension(left, in_ms)?, dimension(right, in_ms)?);
            match *sign {
                "*" => left + right,
                "/" => left - right,
                _ if left == right => left,
                _ => return Err(ClaimError::Dimension),
            }
        }
    })
}
