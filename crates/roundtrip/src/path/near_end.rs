//! The command at the near end and its environment.

use std::process::Command;

use roundtrip_path::Path;

use super::Ending;
use super::account::PathMeter;
use super::far_end::FarEnd;
use crate::child::{self, ChildError};
use crate::cli::PathArgs;

/// The variables that name a proxy, for curl and most others.
const PROXIES: [&str; 6] = [
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
];

/// Runs COMMAND at the near end until it ends, and returns its exit code as a shell reports it.
pub(super) fn run(path: &Path, args: &PathArgs, far_end: &FarEnd) -> Result<u8, Ending> {
    let (program, arguments) = args
        .command
        .split_first()
        .ok_or_else(|| Ending::Usage("no COMMAND was given, after --".into()))?;
    let mut command = path.client().command(program);
    command.args(arguments);
    name_ends(&mut command, path);
    command.envs(far_end.environment());
    if !args.uplink {
        // The host's proxies cannot be reached from there.
        for name in PROXIES {
            command.env_remove(name);
        }
    }
    let mut live = args.live.then(|| PathMeter::new(path));
    let mut show = live.as_mut().map(|live| || live.show());
    let tick = show.as_mut().map(|show| show as &mut dyn FnMut());
    child::run(command, program, tick).map_err(|trouble| match trouble {
        ChildError::Failed(why) => Ending::Failed(why),
        ChildError::NotRun { code, why } => Ending::NotRun { code, why },
    })
}

/// Tells a command, on either side, the addresses of both ends.
pub(super) fn name_ends(command: &mut Command, path: &Path) {
    for (prefix, side) in [("CLIENT", path.client()), ("SERVER", path.server())] {
        command.env(format!("{prefix}_V4"), side.address_v4().to_string());
        command.env(format!("{prefix}_V6"), side.address_v6().to_string());
    }
}
