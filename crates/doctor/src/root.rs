//! The examined file system: reads that never leave the directory it was opened on.
//!
//! A path is walked one component at a time from an open directory, without letting the kernel
//! follow symbolic links; a link is read and walked inside the root, as with `chroot`. Only regular
//! files are opened, so that no pipe blocks and no device has side effects. All reads are bounded.

mod glob;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat, readlinkat};
use rustix::io::Errno;

use crate::error::DoctorError;

/// The largest number of links in one path, as in Linux (`path_resolution(7)`).
const MAX_LINKS: usize = 40;
/// The largest number of components still to walk; links can multiply them.
const MAX_COMPONENTS: usize = 256;
/// The largest number of bytes that are read of a text file.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// A directory that serves as `/`.
#[derive(Debug)]
pub(crate) struct Root {
    directory: OwnedFd,
}

/// Why a file could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RootReadError {
    #[error("not there")]
    Absent,
    #[error("may not be read")]
    Refused,
    #[error("not a regular file")]
    NotAFile,
    #[error("its content is not valid")]
    Absurd,
    #[error("cannot be read ({})", io::Error::from_raw_os_error(*.0))]
    Failed(i32),
}

/// A file's device and inode: two paths with the same identity are the same file.
pub(crate) type FileIdentity = (u64, u64);

impl Root {
    /// Opens the directory that serves as root.
    pub(crate) fn open(path: &Path) -> Result<Self, DoctorError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(path, flags, Mode::empty()).map_err(|errno| DoctorError::Root {
            path: path.to_path_buf(),
            source: errno.into(),
        })?;
        Ok(Self { directory })
    }

    /// The text of a file, at most [`MAX_TEXT_BYTES`] bytes; invalid UTF-8 is replaced.
    pub(crate) fn read_text(&self, path: &str) -> Result<String, RootReadError> {
        let mut bytes = Vec::new();
        self.open_file(path)?
            .take(MAX_TEXT_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| RootReadError::from(&error))?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }

    /// Opens a regular file for reading.
    pub(crate) fn open_file(&self, path: &str) -> Result<File, RootReadError> {
        let trail = self.walk(Path::new(path))?;
        let (name, found) = trail.last().ok_or(RootReadError::NotAFile)?;
        if FileType::from_raw_mode(fstat(found)?.st_mode) != FileType::RegularFile {
            return Err(RootReadError::NotAFile);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(self.parent(&trail), name, flags, Mode::empty())?;
        // The file may have been replaced in the meantime.
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(RootReadError::NotAFile);
        }
        Ok(File::from(file))
    }

    /// The identity of a file, links resolved.
    pub(crate) fn identity(&self, path: &str) -> Result<FileIdentity, RootReadError> {
        let trail = self.walk(Path::new(path))?;
        let stat = match trail.last() {
            Some((_, found)) => fstat(found)?,
            None => fstat(&self.directory)?,
        };
        Ok((stat.st_dev, stat.st_ino))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.identity(path).is_ok()
    }

    /// Opens the end of a walked path as a directory.
    fn open_directory(&self, path: &str) -> Result<OwnedFd, RootReadError> {
        let trail = self.walk(Path::new(path))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let name = trail.last().map_or_else(|| ".".into(), |(n, _)| n.clone());
        Ok(openat(self.parent(&trail), name, flags, Mode::empty())?)
    }

    /// Walks to `path`, and resolves links inside the root. Returns each name and what it opened.
    fn walk(&self, path: &Path) -> Result<Vec<(OsString, OwnedFd)>, RootReadError> {
        let mut trail: Vec<(OsString, OwnedFd)> = Vec::new();
        let mut ahead = Vec::new();
        let mut links = 0;
        push_components(&mut ahead, path)?;
        while let Some(name) = ahead.pop() {
            if name == ".." {
                trail.pop(); // at the root, `..` is the root
                continue;
            }
            let here = trail.last().map_or(self.directory.as_fd(), |t| t.1.as_fd());
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let found = openat(here, &name, flags, Mode::empty())?;
            if FileType::from_raw_mode(fstat(&found)?.st_mode) != FileType::Symlink {
                trail.push((name, found));
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(RootReadError::from(Errno::LOOP));
            }
            // If the path is empty, readlinkat reads the link that the descriptor refers to.
            let target = readlinkat(&found, "", Vec::new())?.into_bytes();
            let target = PathBuf::from(OsString::from_vec(target));
            if target.is_absolute() {
                trail.clear();
            }
            push_components(&mut ahead, &target)?;
        }
        Ok(trail)
    }

    /// The directory that contains the last component of a walked path.
    fn parent<'a>(&'a self, trail: &'a [(OsString, OwnedFd)]) -> BorrowedFd<'a> {
        match trail {
            [.., (_, parent), _] => parent.as_fd(),
            _ => self.directory.as_fd(),
        }
    }
}

/// Prepends the components of `path` to those still to walk (the next one is last).
fn push_components(ahead: &mut Vec<OsString>, path: &Path) -> Result<(), RootReadError> {
    let before = ahead.len();
    for component in path.components() {
        match component {
            Component::Normal(name) => ahead.push(name.to_owned()),
            Component::ParentDir => ahead.push("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    if let Some(new) = ahead.get_mut(before..) {
        new.reverse();
    }
    if ahead.len() > MAX_COMPONENTS {
        return Err(RootReadError::from(Errno::NAMETOOLONG));
    }
    Ok(())
}

impl From<Errno> for RootReadError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::Absent,
            Errno::ACCESS | Errno::PERM => Self::Refused,
            other => Self::Failed(other.raw_os_error()),
        }
    }
}

impl From<&io::Error> for RootReadError {
    fn from(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(errno) => errno.into(),
            None => Self::Absurd,
        }
    }
}

#[cfg(test)]
mod tests;
