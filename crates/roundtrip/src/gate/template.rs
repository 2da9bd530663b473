//! `gate init`: the configuration to begin with.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use roundtrip_gate::config::template::TEMPLATE;

use crate::output::{Outcome, Stream, failed};

pub(super) fn write(output: Option<&Path>) -> Outcome {
    let Some(path) = output else {
        Stream::Out.print(TEMPLATE);
        return Outcome::Done;
    };
    let shown = path.display();
    match create(path) {
        Ok(()) => {
            let told = format!(
                "roundtrip: {shown} is written; edit it, then: roundtrip gate check --config {shown}\n"
            );
            Stream::Err.print(told);
            Outcome::Done
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => failed(&format!(
            "{shown} is there already, and is left as it is; name another file"
        )),
        Err(error) => failed(&format!("cannot write {shown}: {error}")),
    }
}

/// What is there is never written over.
fn create(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(TEMPLATE.as_bytes())?;
    file.sync_all()
}
