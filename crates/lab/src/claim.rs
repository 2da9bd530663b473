//! A claim: a sentence, and an expression over arms' results that says when it holds, such as
//! `saving(reuse, no-reuse) >= 36%` or `median(h3+0rtt) <= 1.15 R`.
//!
//! `words` cuts the text into tokens, `expression` makes a tree of them and checks it (arms that exist, like compared
//! with like), `evaluation` puts results in. What the results are belongs to the outcome.

mod evaluation;
mod expression;
mod words;

pub use evaluation::{Results, Verdict};
pub use expression::{ClaimError, Expression, Function, Scene};
