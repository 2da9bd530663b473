//! Secrets: never shown, wiped when dropped, and read from files that only their owner can read, or
//! from the environment; never from the command line, where every user of the machine can see them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Deref;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use zeroize::{Zeroize, Zeroizing};

/// The largest file that is read. Keys and sets of keys are smaller.
const MAX_SECRET_SIZE: usize = 64 * 1024;

/// A secret. It has neither `Debug` nor `Display`: reading the content takes an explicit call.
pub struct Secret<T: Zeroize = Vec<u8>>(Zeroizing<T>);

/// The reason why a secret could not be read. No message repeats any of it.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not a regular file", path.display())]
    NoFile { path: PathBuf },
    #[error("other users can read {}: it contains a secret; run: chmod 600 {}", path.display(), path.display())]
    Exposed { path: PathBuf },
    #[error(
        "users outside its group can read {}, or users other than its owner can change it: it contains a secret; run: chmod 640 {} (or 600)",
        path.display(), path.display()
    )]
    Open { path: PathBuf },
    #[error("{} is larger than {MAX_SECRET_SIZE} bytes: that is not a secret", path.display())]
    TooLarge { path: PathBuf },
    #[error("{} is empty", path.display())]
    Empty { path: PathBuf },
    #[error("the environment has no variable '{0}', or it is empty")]
    NoVariable(String),
}

impl<T: Zeroize + Deref> Secret<T> {
    pub fn new(value: T) -> Self {
        Self(Zeroizing::new(value))
    }

    pub fn expose(&self) -> &T::Target {
        &self.0
    }
}

impl Secret {
    /// Reads a file that only its owner can read.
    pub fn from_file(path: &Path) -> Result<Self, SecretError> {
        let path_of = || path.to_path_buf();
        let (secret, exposed) = Self::read(path)?;
        if exposed {
            return Err(SecretError::Exposed { path: path_of() });
        }
        if secret.line().is_empty() {
            return Err(SecretError::Empty { path: path_of() });
        }
        Ok(secret)
    }

    /// Like [`Secret::from_file`], but the file's group may read it too, as with Debian's
    /// `ssl-cert` group and in Kubernetes. See [`Secret::is_shared`].
    pub fn from_shared_file(path: &Path) -> Result<Self, SecretError> {
        let (secret, mode) = Self::read_with_mode(path)?;
        if mode & 0o027 != 0 {
            return Err(SecretError::Open { path: path.into() });
        }
        if secret.line().is_empty() {
            return Err(SecretError::Empty { path: path.into() });
        }
        Ok(secret)
    }

    /// Whether the file's group can read it, but no other user. False for credentials that a
    /// service manager provides like that.
    pub fn is_shared(path: &Path) -> bool {
        let read = mode(path).is_some_and(|mode| mode & 0o067 == 0o040);
        read && !is_handed_over(path, std::env::var_os("CREDENTIALS_DIRECTORY"))
    }

    pub fn from_env(name: &str) -> Result<Self, SecretError> {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        let value = value.ok_or_else(|| SecretError::NoVariable(name.into()))?;
        Ok(Self::new(value.into_vec()))
    }

    /// Reads a file, and returns whether other users can read it. For files that do not always
    /// contain a secret. No other user can read credentials that a service manager provides.
    pub fn read(path: &Path) -> Result<(Self, bool), SecretError> {
        let (secret, mode) = Self::read_with_mode(path)?;
        let directory = std::env::var_os("CREDENTIALS_DIRECTORY");
        let exposed = mode & 0o077 != 0 && !is_handed_over(path, directory);
        Ok((secret, exposed))
    }

    fn read_with_mode(path: &Path) -> Result<(Self, u32), SecretError> {
        let unreadable = |source| SecretError::Unreadable {
            path: path.into(),
            source,
        };
        let no_file = || SecretError::NoFile { path: path.into() };
        // Checked before opening, because opening a pipe waits for its writer.
        if !fs::metadata(path).map_err(unreadable)?.is_file() {
            return Err(no_file());
        }
        let file = File::open(path).map_err(unreadable)?;
        // This is checked again on the open file, because the path can name another file by then.
        let facts = file.metadata().map_err(unreadable)?;
        if !facts.is_file() {
            return Err(no_file());
        }
        // The buffer is allocated in full at once: a buffer that grows leaves copies behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_SECRET_SIZE + 1));
        let read = file
            .take(MAX_SECRET_SIZE as u64 + 1)
            .read_to_end(&mut bytes);
        if read.map_err(unreadable)? > MAX_SECRET_SIZE {
            return Err(SecretError::TooLarge { path: path.into() });
        }
        Ok((Self(bytes), facts.permissions().mode()))
    }

    /// The content without the one newline that editors and `echo` add at the end.
    pub fn line(&self) -> &[u8] {
        let bytes = self.expose();
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        bytes.strip_suffix(b"\r").unwrap_or(bytes)
    }
}

fn mode(path: &Path) -> Option<u32> {
    fs::metadata(path)
        .ok()
        .map(|facts| facts.permissions().mode())
}

/// systemd passes credentials in a directory that belongs to the service alone, and shows their
/// files as readable by the group (LoadCredential= of systemd.exec(5)).
fn is_handed_over(path: &Path, directory: Option<OsString>) -> bool {
    let directory = directory.map(PathBuf::from).filter(|d| d.is_absolute());
    let inside = directory.is_some_and(|directory| path.parent() == Some(&directory));
    let mode = fs::metadata(path).map(|facts| facts.permissions().mode());
    inside && mode.is_ok_and(|mode| mode & 0o777 | 0o740 == 0o740)
}

impl From<String> for Secret<String> {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Secret<String> {
    fn from(text: &str) -> Self {
        Self::new(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_can_read_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let refused = |path: &Path| Secret::from_file(path).err().unwrap();
        fs::write(&path, "canary\n").unwrap();
        for mode in [0o640, 0o604, 0o660, 0o601] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = refused(&path);
            assert!(matches!(error, SecretError::Exposed { .. }));
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("canary") && shown.contains("chmod 600"));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let secret = Secret::from_file(&path).ok().unwrap();
        assert_eq!(secret.expose(), b"canary\n");
        assert_eq!(secret.line(), b"canary");
        fs::write(&path, "canary\r\n\r\n").unwrap();
        assert_eq!(Secret::from_file(&path).ok().unwrap().line(), b"canary\r\n");
        fs::write(&path, vec![0; MAX_SECRET_SIZE + 1]).unwrap();
        assert!(matches!(refused(&path), SecretError::TooLarge { .. }));
        for empty in ["", "\n"] {
            fs::write(&path, empty).unwrap();
            assert!(matches!(refused(&path), SecretError::Empty { .. }));
        }
        let none = folder.path().join("none");
        assert!(matches!(refused(&none), SecretError::Unreadable { .. }));
        assert!(matches!(refused(folder.path()), SecretError::NoFile { .. }));
    }

    #[test]
    fn a_group_but_no_other_user_can_read_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "canary").unwrap();
        for (mode, fine, shared) in [
            (0o600, true, false),
            (0o640, true, true),
            (0o440, true, true),
            (0o660, false, false),
            (0o604, false, false),
            (0o644, false, false),
            (0o602, false, false),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let read = Secret::from_shared_file(&path);
            assert_eq!(read.is_ok(), fine, "{mode:o}");
            assert_eq!(Secret::is_shared(&path), shared, "{mode:o}");
            if let Err(error) = read {
                assert!(error.to_string().contains("chmod 640"), "{error}");
            }
        }
    }

    #[test]
    fn a_missing_environment_variable_is_refused() {
        let here = Secret::from_env("PATH").ok().unwrap();
        assert!(here.expose().contains(&b'/'));
        assert!(Secret::from_env("ROUNDTRIP_NO_SUCH_VARIABLE").is_err());
    }

    #[test]
    fn credentials_of_a_service_manager_can_be_readable_by_the_group() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "canary").unwrap();
        let directory = || Some(folder.path().as_os_str().to_owned());
        for (mode, fine) in [(0o440, true), (0o400, true), (0o460, false), (0o444, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_handed_over(&path, directory()), fine, "{mode:o}");
            assert!(!is_handed_over(&path, None));
            assert!(!is_handed_over(&path, Some("/".into())));
        }
    }
}
