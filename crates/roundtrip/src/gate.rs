//! `roundtrip gate`: the proxy is a separate crate; here its flags are passed on and its results
//! are printed.

mod check;
mod introduction;
mod login;
mod serve;
mod session;
mod source;
mod template;
mod token;

use crate::cli::{GateArgs, GateCommand};
use crate::output::Outcome;

pub(crate) fn run(args: &GateArgs) -> Outcome {
    match &args.command {
        GateCommand::Run(args) => serve::run(args),
        GateCommand::Authz(args) => serve::answer_proxies(args),
        GateCommand::Check(args) => check::run(args),
        GateCommand::Init { output } => template::write(output.as_deref()),
        GateCommand::Session(args) => session::run(args),
        GateCommand::Token(args) => token::run(args),
    }
}
