//! What happened, and what it took: [`Entry`] is one exchange, [`Ledger`] what a thread has
//! counted, [`Snapshot`] the sum over all threads, and from that the forms in which others read it.
//!
//! A ledger is written by one thread and read by another: relaxed atomics, without any
//! read-modify-write, so that to count costs as much as a plain addition. Nothing of a token, a
//! cookie, a credential or a session's name can get in here: all labels are words of ours, and what
//! an entry has of a request's own text is in its note, for the access log alone. Left to others:
//! when an exchange began and what came of it, and serving these texts (`admin`).

mod access_log;
mod caller;
mod entry;
mod families;
mod ledger;
mod line;
mod note;
pub(crate) mod prometheus;
mod reason;
mod request_id;
mod server_timing;
mod snapshot;
mod thread_log;
mod timer;
mod vocabulary;
mod word;

pub(crate) use access_log::{AccessLog, LogSender};
pub(crate) use caller::{Caller, Form};
pub(crate) use entry::{Entry, Phase};
pub(crate) use families::{FAMILIES, Family, Row};
pub(crate) use ledger::{Book, Held, Ledger};
pub(crate) use line::{LineContext, Marker, line};
pub(crate) use note::Note;
pub(crate) use reason::{Limit, Reason};
pub(crate) use request_id::RequestId;
pub(crate) use server_timing::server_timing;
pub(crate) use snapshot::Snapshot;
pub(crate) use thread_log::ThreadLog;
pub(crate) use timer::{Spread, Timer};
pub(crate) use vocabulary::{
    Avoided, Bytes, Carried, ConnectionStart, Early, Gauge, Known, Link, Outcome, Pool, Protocol,
    Remedy, Security, SingleUse, StatusClass, Store, Streams, TlsHandshake,
};
pub(crate) use word::{Counted, Word};
