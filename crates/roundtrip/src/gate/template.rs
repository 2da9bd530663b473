//! `gate init`: the initial configuration, and the key that it names.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use roundtrip_gate::config::make_signing_key;
use roundtrip_gate::config::template::TEMPLATE;

use super::introduction::quoted;
use crate::output::{Outcome, OutputStream, failed, say};

/// The path in the template.
const KEY: &str = "/etc/roundtrip/token.key";

pub(super) fn write(output: Option<&Path>) -> Outcome {
    let Some(path) = output else {
        OutputStream::Out.print(TEMPLATE);
        return Outcome::Done;
    };
    let shown = path.display();
    let key = match beside(path) {
        Ok(key) => key,
        Err(error) => return failed(&format!("cannot find the directory of {shown}: {error}")),
    };
    match create(path, &text(&key)) {
        Ok(()) => {
            if let Err(error) = make_signing_key(&key) {
                return failed(&error);
            }
            say(&format!(
                "{shown} is written, with its key in {}; edit it, then: roundtrip gate check --config {}",
                key.display(),
                quoted(path)
            ));
            Outcome::Done
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => failed(&format!(
            "{shown} exists already, and is left as it is; name another file"
        )),
        Err(error) => failed(&format!("cannot write {shown}: {error}")),
    }
}

/// The absolute path of the token key, so that a service finds it from any directory.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new(".")).canonicalize()?;
    Ok(parent.join("token.key"))
}

/// The template with the path of its key.
fn text(key: &Path) -> String {
    let key = key.display().to_string();
    let key = key.replace('\\', "\\\\").replace('"', "\\\"");
    TEMPLATE.replacen(KEY, &key, 1)
}

/// An existing file is never overwritten.
fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // A user who can write this file decides which users gate serves, so only the owner may write
    // it.
    options.write(true).create_new(true).mode(0o644);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
