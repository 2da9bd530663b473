//! What happened and how long it took: [`Entry`] is one exchange, [`Ledger`] holds one thread's
//! counters, [`Snapshot`] is the sum over all threads, from which metrics and pages are made.
//!
//! A ledger is written by one thread and read by another, with relaxed atomics and no
//! read-modify-write, so counting costs as much as a plain addition. No token, cookie, credential
//! or session name can get into a ledger: all label values are constants, and an entry keeps a
//! request's own text only in its `LogDetails`, for the access log. When an exchange began and how
//! it ended is decided elsewhere; `admin` serves the texts.

mod access_log;
mod caller;
mod entry;
mod families;
mod label_value;
mod ledger;
mod line;
mod log_details;
pub(crate) mod prometheus;
mod reason;
mod request_id;
mod server_durations;
mod server_timing;
mod snapshot;
mod span_thread;
mod thread_log;
mod timer;
mod tracer;
mod vocabulary;

pub(crate) use access_log::{AccessLog, LogSender};
pub(crate) use caller::{Caller, ErrorFormat};
pub(crate) use entry::{Entry, ExchangePhase};
pub(crate) use families::{FAMILIES, Family, Row};
pub(crate) use label_value::{Counted, LabelValue};
pub(crate) use ledger::{GaugeGuard, Ledger, Ledgers};
pub(crate) use line::{LineContext, Pseudonymizer, line};
pub(crate) use log_details::LogDetails;
pub(crate) use reason::{Limit, Reason, ReasonKind};
pub(crate) use request_id::RequestId;
pub(crate) use server_timing::server_timing;
pub(crate) use snapshot::Snapshot;
pub(crate) use span_thread::SpanThread;
pub(crate) use thread_log::ThreadLog;
pub(crate) use timer::{DurationHistogram, Timer};
pub(crate) use tracer::{SpanSender, TracePosition, Tracer};
pub(crate) use vocabulary::{
    Avoided, Bytes, Carried, ConnectionStart, Early, Gauge, Known, Link, LoginEvent, Outcome, Pool,
    Protocol, QuicStray, Remedy, Security, SingleUse, Spans, StatusClass, Store, Streams,
    TlsHandshake,
};
