//! The program as it is typed: each verb with its outputs, exit codes, failures and help; and what
//! holds for the whole project: layers and sources.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod causes;
mod compare;
mod demo;
mod diff;
mod exporter;
mod gate;
mod gate_clients;
mod gate_inherited;
mod gate_init;
mod gate_log;
mod gate_secrets;
mod gate_upgrade;
mod harmless;
mod lab;
mod lab_page;
mod otlp;
mod path;
mod peers;
mod perf;
mod probe;
mod process;
mod project;
mod rdap;
mod servers;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod tls_facts;
mod trace;
