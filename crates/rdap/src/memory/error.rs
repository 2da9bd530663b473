//! Why a directory is not used. All other failures there are notes, not errors.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error(
        "{} belongs to user {owner}, and you are user {we}: its content is not trusted\nname a directory of your own, or none",
        path.display()
    )]
    NotOurs { path: PathBuf, owner: u32, we: u32 },
    #[error(
        "others may write to {} (mode {mode:03o}): its content is not trusted\nmake it yours alone with chmod 700, or name another directory, or none",
        path.display()
    )]
    OthersWrite { path: PathBuf, mode: u32 },
    #[error("{} cannot be used", path.display())]
    Unusable { path: PathBuf, source: io::Error },
}
