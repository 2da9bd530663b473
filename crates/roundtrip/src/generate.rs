//! Man pages and completions, made from the flags.

use std::io;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output::{Outcome, Stream};

pub(crate) fn completions(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "roundtrip", &mut script);
    Stream::Out.print(script);
    Outcome::Done
}

pub(crate) fn man(directory: &Path) -> Outcome {
    let written = std::fs::create_dir_all(directory).and_then(|()| {
        clap_mangen::generate_to(Cli::command(), directory).map_err(io::Error::other)
    });
    match written {
        Ok(()) => Outcome::Done,
        Err(error) => Outcome::Usage(format!(
            "cannot write man pages to {}: {error}",
            directory.display()
        )),
    }
}
