//! The configuration of `gate run` without a file: everything on loopback, with sessions and keys
//! in the user's state directory. The keys are made when they are first needed.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::{Config, Route, SealKey, SecretFrom, SigningKey, Upstream};
use crate::GateError;

const HTTP: u16 = 8080;
const HTTPS: u16 = 8443;
const ADMIN: u16 = 9180;
const BACKEND: &str = "http://127.0.0.1:8000";
/// RFC 7518 §3.2: as long as a SHA-512 hash.
const SIGNING_KEY: usize = 64;
/// AES-256.
const SEAL_KEY: usize = 32;

/// The directory of a gate that has no configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self(directory.into())
    }

    /// The user's state directory (XDG Base Directory Specification), from the values of
    /// `XDG_STATE_HOME` and `HOME`.
    pub fn usual(state: Option<OsString>, home: Option<OsString>) -> Option<Self> {
        let absolute = |value: Option<OsString>| {
            let path = PathBuf::from(value?);
            path.is_absolute().then_some(path)
        };
        let state = absolute(state);
        let base = state.or_else(|| Some(absolute(home)?.join(".local/state")))?;
        Some(Self(base.join("roundtrip/gate")))
    }

    pub fn directory(&self) -> &Path {
        &self.0
    }

    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions.redb")
    }

    /// The secret that signs tokens.
    pub fn signing_key(&self) -> PathBuf {
        self.0.join("token.key")
    }

    pub fn seal_key(&self) -> PathBuf {
        self.0.join("seal.key")
    }

    /// Returns the configuration; changes nothing on the disk.
    pub fn config(&self) -> Config {
        let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut config = Config::default();
        config.listen.http = vec![loopback(HTTP)];
        config.listen.https = vec![loopback(HTTPS)];
        config.admin.listen = Some(loopback(ADMIN));
        config.session.store = format!("redb:{}", self.sessions().display());
        config.session.seal = vec![SealKey {
            id: "home".into(),
            from: SecretFrom::File(self.seal_key()),
        }];
        config.token.key = vec![SigningKey {
            algorithm: "HS512".into(),
            id: None,
            from: SecretFrom::File(self.signing_key()),
        }];
        config.serve(BACKEND);
        config
    }

    /// Makes the directory and the keys that do not exist yet. Existing keys stay.
    pub fn furnish(&self) -> Result<(), GateError> {
        let mut maker = DirBuilder::new();
        // XDG: "created with the permission 0700".
        let made = maker.recursive(true).mode(0o700).create(&self.0);
        made.map_err(|source| unwritable(&self.0, source))?;
        make_key(&self.signing_key(), SIGNING_KEY)?;
        make_key(&self.seal_key(), SEAL_KEY)
    }
}

impl Config {
    /// The configuration of `gate run` without a file; its directory and keys are made if they are
    /// missing.
    pub fn default_run() -> Result<Self, GateError> {
        let usual = Home::usual(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"));
        let home = usual.ok_or(GateError::NoHome)?;
        home.furnish()?;
        Ok(home.config())
    }

    /// Makes one route that sends all requests to this server.
    pub fn serve(&mut self, backend: &str) {
        let upstream = Upstream {
            servers: vec![backend.to_owned()],
            ..Upstream::default()
        };
        self.upstream = [("backend".to_owned(), upstream)].into();
        self.route = vec![Route {
            upstream: "backend".into(),
            ..Route::default()
        }];
    }
}

/// Makes a secret that signs tokens, for a new configuration. An existing one stays.
pub fn make_signing_key(path: &Path) -> Result<(), GateError> {
    make_key(path, SIGNING_KEY)
}

/// Writes a temporary file and renames it in one step, so two processes that start at once have the
/// same, complete key.
fn make_key(path: &Path, bytes: usize) -> Result<(), GateError> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let mut key = Zeroizing::new(vec![0; bytes]);
    let mut tag = [0; 8];
    for random in [key.as_mut_slice(), &mut tag] {
        aws_lc_rs::rand::fill(random).map_err(|_| GateError::Cryptography)?;
    }
    let line = Zeroizing::new(STANDARD.encode(&key) + "\n");
    let aside = path.with_extension(format!("{:016x}.new", u64::from_ne_bytes(tag)));
    let placed = write_private(&aside, line.as_bytes()).and_then(|()| {
        let linked = std::fs::hard_link(&aside, path);
        linked.or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error),
        })
    });
    // This also removes a partly written file.
    let _ = std::fs::remove_file(&aside);
    placed.map_err(|source| unwritable(path, source))
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn unwritable(path: &Path, source: io::Error) -> GateError {
    GateError::Unwritable {
        path: path.into(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::judge::configured::rules;

    #[test]
    fn it_is_where_state_goes() {
        let usual = |state: Option<&str>, home: Option<&str>| {
            let home = Home::usual(state.map(Into::into), home.map(Into::into));
            home.map(|home| home.sessions().display().to_string())
        };
        let under = |base: &str| Some(format!("{base}/roundtrip/gate/sessions.redb"));
        assert_eq!(usual(Some("/s"), Some("/h")), under("/s"));
        assert_eq!(usual(None, Some("/h")), under("/h/.local/state"));
        // The specification says that relative paths are to be ignored.
        assert_eq!(usual(Some("s"), Some("/h")), under("/h/.local/state"));
        assert_eq!(usual(Some(""), None), None);
    }

    #[test]
    fn keys_are_made_once_and_are_their_owner_s() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("state/gate"));
        home.furnish().unwrap();
        let read = || [home.signing_key(), home.seal_key()].map(|path| fs::read(path).unwrap());
        let keys = read();
        assert_ne!(keys[0], keys[1]);
        home.furnish().unwrap();
        assert_eq!(read(), keys);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home.signing_key()), 0o600);
        assert_eq!(mode(&home.seal_key()), 0o600);
        assert_eq!(mode(home.directory()), 0o700);
        // No temporary files are left.
        assert_eq!(fs::read_dir(home.directory()).unwrap().count(), 2);
        // The keys work, too.
        assert_eq!(rules(&home.config()).unwrap().keys.len(), 1);
    }

    #[test]
    fn all_who_start_at_once_have_the_same_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let read = || {
            make_key(&path, 32).unwrap();
            fs::read(&path).unwrap()
        };
        let keys: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(read)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| key == &keys[0] && key.len() == 45));
    }

    #[test]
    fn a_directory_that_cannot_be_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Home::at(file.join("gate")).furnish().unwrap_err();
        assert!(error.to_string().contains("file/gate"), "{error}");
    }
}
