//! An open directory of stored files: they can be read, replaced as a whole, locked and set aside.
//!
//! Names are resolved relative to the open directory, without following symbolic links. Only
//! regular files are opened, so that no pipe blocks and no device is used. Only the user can access
//! the written files.

use std::fs::{self, File, TryLockError};
use std::io::{self, IoSlice, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, fstat, mkdirat, openat, renameat,
    renameat_with, statat,
};
use rustix::io::Errno;

use super::Stamp;
use super::error::MemoryError;

/// The number of broken copies of one file that are kept for inspection. If there are more, a new
/// one replaces the last.
const MAX_BROKEN: usize = 3;
/// The number of attempts to take a lock. A lock is held for microseconds, and longer only if a
/// busy machine does not run its holder; after this time, the holder has been stopped.
const LOCK_TRIES: u32 = 250;
const LOCK_PAUSE: Duration = Duration::from_millis(1);
/// The beginning of the names of unfinished files.
const UNFINISHED: &str = ".new-";
/// After this time, an unfinished file belongs to no running process.
const FORGOTTEN: Duration = Duration::from_hours(1);

/// Makes the names of unfinished files distinct.
static COUNTER: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(super) struct Directory {
    directory: OwnedFd,
    /// The path, for messages.
    path: PathBuf,
}

/// What a new file replaced: nothing, or a file that now has the new one's former name.
enum Replaced {
    Nothing,
    Former,
}

/// A held lock: while it exists, no other process can take it.
#[derive(Debug)]
pub(super) struct Locked(File);

/// A file in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    /// The time of writing in nanoseconds since 1970.
    pub(super) written: i128,
    pub(super) name: String,
    pub(super) size: u64,
}

impl Directory {
    /// Opens `path`, creating it and its parents if necessary.
    pub(super) fn open(path: &Path) -> Result<Self, MemoryError> {
        let unusable = |source| MemoryError::Unusable {
            path: path.to_path_buf(),
            source,
        };
        if let Err(error) = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
        {
            // On a read-only disk, existing files can still be read.
            if !path.is_dir() {
                return Err(unusable(error));
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty());
        let directory = Self {
            directory: directory.map_err(|errno| unusable(errno.into()))?,
            path: path.to_path_buf(),
        };
        directory
            .check()
            .map_err(|error| error.unwrap_or_else(unusable))?;
        Ok(directory)
    }

    /// Opens or creates a subdirectory.
    pub(super) fn below(&self, name: &str) -> io::Result<Self> {
        match mkdirat(&self.directory, name, Mode::RWXU) {
            // If it cannot be created, it can still exist.
            Ok(())
            | Err(Errno::EXIST | Errno::ROFS | Errno::ACCESS | Errno::NOSPC | Errno::DQUOT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(&self.directory, name, flags, Mode::empty())?;
        Ok(Self {
            directory,
            path: self.path.join(name),
        })
    }

    /// The content of a file, or `None` if it does not exist. A file of more than `limit` bytes is
    /// refused.
    pub(super) fn read(&self, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.directory, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let size = regular(&file)?;
        if size > limit {
            return Err(io::Error::other(format!("it is too large ({size} bytes)")));
        }
        // One extra byte, so that reading to the end does not grow the buffer.
        let mut bytes = Vec::with_capacity(size as usize + 1);
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Writes `parts` as one file. Readers see either the old file or the new one, never a mixture.
    pub(super) fn replace(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let new = format!("{UNFINISHED}{}-{count}", std::process::id());
        let result = self
            .create(&new, parts)
            .and_then(|()| self.put_in_place(&new, name));
        if !matches!(result, Ok(Replaced::Nothing)) {
            let _ = self.remove(&new);
        }
        result.map(drop)
    }

    /// Gives the file `new` the name `name`. If there is such a file, the two exchange their names.
    /// Otherwise some file systems (ext4, btrfs) would write a file that replaces another to the
    /// disk at once, and the lookups would wait for that; these files may be lost in a power cut.
    fn put_in_place(&self, new: &str, name: &str) -> io::Result<Replaced> {
        let at = &self.directory;
        if renameat_with(at, new, at, name, RenameFlags::EXCHANGE).is_ok() {
            return Ok(Replaced::Former);
        }
        // There is no such file, or the file system cannot exchange names.
        renameat(at, new, at, name)?;
        Ok(Replaced::Nothing)
    }

    fn create(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        // An earlier process with the same process id can have left its file.
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(
            &self.directory,
            name,
            flags,
            Mode::RUSR | Mode::WUSR,
        )?);
        let mut slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut rest = slices.as_mut_slice();
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match file.write_vectored(rest)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => IoSlice::advance_slices(&mut rest, written),
            }
        }
        Ok(())
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(
            &self.directory,
            name,
            AtFlags::empty(),
        )?)
    }

    /// Renames a file that cannot be parsed, and returns its new name.
    pub(super) fn set_aside(&self, name: &str) -> io::Result<String> {
        let free = (1..MAX_BROKEN).find(|n| {
            let aside = format!("{name}.broken-{n}");
            let found = statat(&self.directory, aside, AtFlags::SYMLINK_NOFOLLOW);
            found.is_err_and(|errno| errno == Errno::NOENT)
        });
        let aside = format!("{name}.broken-{}", free.unwrap_or(MAX_BROKEN));
        renameat(&self.directory, name, &self.directory, &aside)?;
        Ok(aside)
    }

    /// Locks a file. The lock ends when the returned value is dropped, or with the process.
    pub(super) fn lock(&self, name: &str) -> io::Result<Locked> {
        let mut file = self.open_to_lock(name)?;
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) if !is_removed(&file)? => return Ok(Locked(file)),
                Ok(()) => file = self.open_to_lock(name)?,
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other("another process has locked it"))
    }

    /// Locks a file if no other process has locked it.
    pub(super) fn lock_at_once(&self, name: &str) -> io::Result<Locked> {
        let file = self.open_to_lock(name)?;
        file.try_lock()?;
        Ok(Locked(file))
    }

    /// Opens a file to read and write it in place.
    pub(super) fn open_to_lock(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(
            &self.directory,
            name,
            flags,
            Mode::RUSR | Mode::WUSR,
        )?);
        regular(&file)?;
        Ok(file)
    }

    /// Returns the files in this directory, at most `most`, and removes unfinished ones whose
    /// process has ended.
    pub(super) fn finished(&self, most: usize, now: Stamp) -> io::Result<Vec<Item>> {
        let (unfinished, finished): (Vec<Item>, Vec<Item>) = self
            .items(most)?
            .into_iter()
            .partition(|item| item.name.starts_with(UNFINISHED));
        for item in unfinished.iter().filter(|i| i.is_older(FORGOTTEN, now)) {
            let _ = self.remove(&item.name);
        }
        Ok(finished)
    }

    fn items(&self, most: usize) -> io::Result<Vec<Item>> {
        let mut items = Vec::new();
        for entry in Dir::read_from(&self.directory)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            let Ok(stat) = statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                continue;
            }
            items.push(Item {
                written: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
                name: name.to_owned(),
                size: u64::try_from(stat.st_size).unwrap_or(0),
            });
            if items.len() >= most {
                break;
            }
        }
        Ok(items)
    }

    pub(super) fn shown(&self, name: &str) -> String {
        if name.is_empty() {
            self.path.display().to_string()
        } else {
            self.path.join(name).display().to_string()
        }
    }

    /// Checks that the directory belongs to the user and that no other user can write to it.
    fn check(&self) -> Result<(), Result<MemoryError, io::Error>> {
        let stat = fstat(&self.directory).map_err(|errno| Err(errno.into()))?;
        let we = rustix::process::geteuid().as_raw();
        if stat.st_uid != we {
            return Err(Ok(MemoryError::NotOurs {
                path: self.path.clone(),
                owner: stat.st_uid,
                we,
            }));
        }
        let mode = stat.st_mode & 0o777;
        if mode & 0o022 != 0 {
            return Err(Ok(MemoryError::OthersWrite {
                path: self.path.clone(),
                mode,
            }));
        }
        Ok(())
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing the file would unlock it too, unless a child that was just forked still has it
        // open.
        let _ = self.0.unlock();
    }
}

impl Item {
    pub(super) fn is_older(&self, age: Duration, now: Stamp) -> bool {
        self.written < i128::from(now.minus(age).0) * 1_000_000
    }
}

/// Whether a file that is open has been removed.
pub(super) fn is_removed(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

/// The size of a regular file. If it is anything else, an error.
fn regular(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if metadata.is_file() {
        Ok(metadata.size())
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}
