//! The reasons why a directory is refused. All other failures there are notes, not errors.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error(
        "{} belongs to user {owner}, and you are user {we}: its content is not trusted\nchoose a directory that belongs to you, or none",
        path.display()
    )]
    NotOurs { path: PathBuf, owner: u32, we: u32 },
    #[error(
        "other users can write to {} (mode {mode:03o}): its content is not trusted\nrun chmod 700 on it, or choose another directory, or none",
        path.display()
    )]
    OthersWrite { path: PathBuf, mode: u32 },
    #[error("{} cannot be used", path.display())]
    Unusable { path: PathBuf, source: io::Error },
}
