//! What must not be seen: never shown, wiped when it goes, and read from files that only their owner can read, or from the
//! environment; never from the command line, where every user of the machine can see it.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use zeroize::Zeroizing;

use crate::GateError;

/// Keys and sets of keys are smaller.
const LARGEST: usize = 64 * 1024;

/// Neither `Debug` nor `Display`: to look inside is to say so.
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// All of a file that nobody but its owner may read.
    pub fn from_file(path: &Path) -> Result<Self, GateError> {
        let (secret, exposed) = read(path)?;
        if exposed {
            return Err(GateError::Exposed { path: path.into() });
        }
        Ok(secret)
    }

    pub fn from_env(name: &str) -> Result<Self, GateError> {
        use std::os::unix::ffi::OsStringExt;
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        let value = value.ok_or_else(|| GateError::NoVariable(name.into()))?;
        Ok(Self::new(value.into_vec()))
    }

    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Without the newline that editors and `echo` leave at the end; one, not more.
    pub(crate) fn line(&self) -> &[u8] {
        let bytes = self.expose();
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        bytes.strip_suffix(b"\r").unwrap_or(bytes)
    }
}

/// What is in a file, and whether others may read it. Asked of the open file: the path may name another one by then.
pub(crate) fn read(path: &Path) -> Result<(Secret, bool), GateError> {
    let unreadable = |source| GateError::Unreadable {
        path: path.into(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    // With all its room from the start: what grows leaves copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(LARGEST + 1));
    let read = file.take(LARGEST as u64 + 1).read_to_end(&mut bytes);
    if read.map_err(unreadable)? > LARGEST {
        return Err(GateError::FileTooLarge {
            path: path.into(),
            limit: LARGEST,
        });
    }
    Ok((Secret(bytes), mode & 0o077 != 0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_secret_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "canary\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = Secret::from_file(&path).err().unwrap();
        assert!(matches!(refused, GateError::Exposed { .. }));
        assert!(!format!("{refused} {refused:?}").contains("canary"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let secret = Secret::from_file(&path).ok().unwrap();
        assert_eq!(
            (secret.expose(), secret.line()),
            (b"canary\n".as_slice(), b"canary".as_slice())
        );
        fs::write(&path, vec![0; LARGEST + 1]).unwrap();
        assert!(matches!(
            Secret::from_file(&path),
            Err(GateError::FileTooLarge { .. })
        ));
        let none = Secret::from_file(&folder.path().join("none"));
        assert!(matches!(none, Err(GateError::Unreadable { .. })));
        assert!(matches!(
            Secret::from_file(folder.path()),
            Err(GateError::Unreadable { .. } | GateError::Exposed { .. })
        ));
    }

    #[test]
    fn the_environment_has_it_or_not() {
        // Cargo sets it for every test.
        let here = Secret::from_env("CARGO_MANIFEST_DIR").ok().unwrap();
        assert!(here.expose().starts_with(b"/"));
        assert!(Secret::from_env("ROUNDTRIP_NO_SUCH_VARIABLE").is_err());
    }
}
