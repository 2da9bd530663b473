//! A password on its way from a file or the environment to the server: shown to nobody, wiped when done.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use zeroize::Zeroizing;

use crate::StoreError;

const LONGEST: u64 = 4096;

/// Has neither `Debug` with its text nor `Display`.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The file's text without the end of its line. Others may not be able to read it.
    pub fn from_file(path: &Path) -> Result<Self, StoreError> {
        let wrong = |why: String| StoreError::Setting {
            path: path.into(),
            why,
        };
        let file = File::open(path).map_err(|e| wrong(format!("cannot be read: {e}")))?;
        let facts = file.metadata().map_err(|e| wrong(e.to_string()))?;
        if !facts.is_file() {
            return Err(wrong("is not a file".into()));
        }
        if facts.permissions().mode() & 0o007 != 0 {
            return Err(wrong("everybody may open this secret; chmod o= it".into()));
        }
        let mut text = Zeroizing::new(String::new());
        file.take(LONGEST + 1)
            .read_to_string(&mut text)
            .map_err(|e| wrong(format!("cannot be read: {e}")))?;
        if text.len() as u64 > LONGEST {
            return Err(wrong(format!("holds more than {LONGEST} bytes")));
        }
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            return Err(wrong("is empty".into()));
        }
        Ok(Self::new(line.into()))
    }

    pub fn from_environment(name: &str) -> Result<Self, StoreError> {
        match std::env::var(name) {
            Ok(text) if !text.is_empty() => Ok(Self::new(text)),
            _ => Err(StoreError::Setting {
                path: format!("${name}").into(),
                why: "is not set, is empty, or is not text".into(),
            }),
        }
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_without_its_line_end_and_never_shown() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        std::fs::write(&path, "canary\r\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let secret = Secret::from_file(&path).unwrap();
        assert_eq!(secret.reveal(), "canary");
        assert!(!format!("{secret:?}").contains("canary"));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        let error = Secret::from_file(&path).unwrap_err().to_string();
        assert!(error.contains("everybody"), "{error}");
        assert!(Secret::from_file(directory.path()).is_err());
    }
}
