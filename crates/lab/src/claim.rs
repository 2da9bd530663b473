//! Claims: each is a sentence with an expression over the results of arms. The claim holds if the
//! expression is true, such as `saving(reuse, no-reuse) >= 36%` or `median(h3+0rtt) <= 1.15 R`.
//!
//! `words` splits the text into tokens, `expression` parses and checks it (arms exist, units
//! match), `evaluation` inserts the results. `outcome` defines the results.

mod evaluation;
mod expression;
mod words;

pub use evaluation::{ClaimVerdict, Results};
pub use expression::{ClaimError, ClaimScope, Expression, Function};
