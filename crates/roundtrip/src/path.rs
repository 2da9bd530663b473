//! `roundtrip path`: a command at the near end of an emulated path and, if requested, a server at
//! its far end. This file has the sequence of steps; each step has a file.

mod account;
mod far_end;
mod list;
mod listener;
mod name_server;
mod near_end;

use std::error::Error as _;
use std::fmt::Display;

use roundtrip_path::{Builder, Path, PathError, enter_sandbox};

use self::far_end::FarEnd;
use crate::cli::PathArgs;
use crate::output::{Outcome, failed, say};

pub(crate) fn run(args: &PathArgs) -> Outcome {
    if args.list {
        return list::show(args.json);
    }
    match enact(args) {
        Ok(code) => Outcome::Of(code),
        Err(Ending::Usage(why)) => Outcome::Usage(why),
        Err(Ending::Failed(why)) => failed(&why),
        Err(Ending::NotRun { code, why }) => {
            tell(why);
            Outcome::Of(code)
        }
    }
}

/// Why the command was not run, or its summary not printed.
enum Ending {
    Usage(String),
    Failed(String),
    NotRun { code: u8, why: String },
}

fn enact(args: &PathArgs) -> Result<u8, Ending> {
    let builder = described(args)?;
    let knobs = far_end::knobs(args)?;
    // Before the first thread: only then can an ordinary user's threads enter.
    enter_sandbox().map_err(|error| ending(&error))?;
    let mut path = builder.build().map_err(|error| ending(&error))?;
    if let Err(error) = path.client().check_names() {
        tell(format!(
            "no names inside, only addresses: {}",
            chain(&error)
        ));
    }
    for (name, value) in &args.sysctl {
        for side in [path.client(), path.server()] {
            side.sysctl(name, value).map_err(|error| ending(&error))?;
        }
    }
    if args.uplink {
        path.connect_uplink().map_err(|error| ending(&error))?;
        warn_of_uplink(args);
    }
    let mut far_end = FarEnd::start(&path, args, knobs)?;
    if let Some(delay) = args.dns {
        name_server::start(&path, &args.name, delay).map_err(Ending::Failed)?;
    }
    if args.verbose {
        far_end.introduce();
    }
    let status = near_end::run(&path, args, &far_end)?;
    far_end.check();
    drop(far_end);
    finish(path, args, status)
}

/// Warns that only the host's administrator can allow access beyond the host.
fn warn_of_uplink(args: &PathArgs) {
    let forwards = std::fs::read_to_string("/proc/sys/net/ipv4/ip_forward");
    if !args.quiet && forwards.is_ok_and(|text| text.trim() == "0") {
        tell("--uplink: this host forwards nothing, so only its own addresses can be reached");
    }
}

fn finish(path: Path, args: &PathArgs, status: u8) -> Result<u8, Ending> {
    match path.close() {
        Ok(counters) => {
            account::give(&counters, args, status)?;
            Ok(status)
        }
        Err(error) => Err(ending(&error)),
    }
}

fn described(args: &PathArgs) -> Result<Builder, Ending> {
    let mut builder = Path::builder()
        .offload(args.offload)
        .tun(args.tun)
        .name_server(args.dns.is_some());
    for name in &args.name {
        builder = builder.name(name);
    }
    if let Some(file) = &args.pcapng {
        builder = builder.record(file);
    }
    for (word, value) in &args.words.0 {
        builder
            .set(word, value)
            .map_err(|error| Ending::Usage(format!("--{error}")))?;
    }
    Ok(builder)
}

/// An impossible request is the user's mistake; a refusal of the system is not.
fn ending(error: &PathError) -> Ending {
    let text = chain(error);
    match error {
        PathError::Mtu(_)
        | PathError::PacketZero
        | PathError::Delay(_)
        | PathError::Middlebox(_)
        | PathError::OffloadWithBoxes
        | PathError::Name(_)
        | PathError::SettingName(_) => Ending::Usage(text),
        _ => Ending::Failed(text),
    }
}

/// The text of an error with its sources; that of a refusal alone, because it is complete.
fn chain(error: &PathError) -> String {
    let refused = matches!(
        error,
        PathError::Refused { .. } | PathError::UplinkForbidden(_)
    );
    match error.source().filter(|_| !refused) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Standard output belongs to the command.
fn tell(text: impl Display) {
    say(&text);
}
