//! Man pages and completions, made from the flags.

mod lists;
mod man;

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Cli, defer_nothing};
use crate::output::{Outcome, OutputStream};

/// The command with the arguments of all verbs.
fn whole() -> clap::Command {
    defer_nothing();
    Cli::command()
}

pub(crate) fn completions(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    let mut command = lists::with_values(whole());
    clap_complete::generate(shell, &mut command, "roundtrip", &mut script);
    if shell == Shell::Fish {
        script.extend(lists::for_fish().into_bytes());
    }
    OutputStream::Out.print(script);
    Outcome::Done
}

pub(crate) fn man(directory: &Path) -> Outcome {
    match man::write(whole(), directory) {
        Ok(()) => Outcome::Done,
        Err(error) => Outcome::Usage(format!(
            "cannot write man pages to {}: {error}",
            directory.display()
        )),
    }
}
