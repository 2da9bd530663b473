//! `roundtrip rdap --version`: our version, and the age of the known registries.

use roundtrip_fetch::memory::Memory;
use roundtrip_rdap::bootstrap::{Bootstrap, Registry};
use std::fmt::Write as _;

use super::meaning;
use crate::cli::RdapArgs;
use crate::output::{Outcome, OutputStream};

pub(super) fn show(args: &RdapArgs) -> Outcome {
    let directory = meaning::directory(args);
    // `--version` only looks, so it creates nothing.
    let there = directory.as_ref().is_some_and(|path| path.is_dir());
    let memory = if there {
        meaning::memory(args)
    } else {
        Ok(Memory::nowhere())
    };
    let memory = match memory {
        Ok(memory) => memory,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    let mut bootstrap = Bootstrap::embedded();
    let mut text = format!(
        "roundtrip {}\nIANA's registries (RFC 9224), as published:\n",
        env!("CARGO_PKG_VERSION")
    );
    for registry in Registry::ALL {
        let built_in = bootstrap.publication(registry).to_owned();
        // Writing to a string cannot fail.
        let _ = write!(text, "  {registry:12} {built_in}, built in");
        let copy = memory.document(registry.as_str());
        let renewed =
            copy.is_some_and(|copy| matches!(bootstrap.renew(registry, &copy.body), Ok(true)));
        if renewed {
            let newer = bootstrap.publication(registry);
            let _ = write!(text, "; {newer} is used, from the memory");
        }
        text.push('\n');
    }
    if let Some(directory) = directory {
        let _ = writeln!(text, "Newer copies are kept in {}", directory.display());
    }
    OutputStream::Out.print(text);
    Outcome::Done
}
