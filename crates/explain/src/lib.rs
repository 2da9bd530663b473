//! From an exchange to findings: the time that was not necessary, the evidence, and the remedy.
//!
//! Pure: an [`Exchange`](roundtrip_model::Exchange) goes in, findings come out. Each cause is an
//! entry of the table in `causes`; its signature reads a [`Case`] and states a [`Cost`] as claims
//! on the waits of the phases. The ledger grants each millisecond once, so findings never overlap.
//! A cause without evidence is not named.

mod account;
mod case;
mod catalogue;
mod cause;
mod causes;
mod contradiction;
mod cost;
mod ledger;
mod series;

pub use account::{Account, account, findings};
pub use case::Case;
pub use catalogue::page;
pub use cause::{Cause, CauseFamily, Decidable};
pub use causes::{FAMILIES, all, by_id};
pub use cost::{Claim, Cost, WaitPart};
pub use series::review;
