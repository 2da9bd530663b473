//! The flags of `history`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  roundtrip probe --every 1m --store history.redb https://example.com   records, until it is stopped
  roundtrip history history.redb                                        since when, and whose
  roundtrip history history.redb --html history.html                    the same as pictures")]
pub(crate) struct HistoryArgs {
    /// The file that `probe --store` writes; it may be writing meanwhile
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Also write one self-contained page
    #[arg(long, value_name = "PAGE")]
    pub html: Option<PathBuf>,
    /// One JSON document (schema roundtrip/history/1)
    #[arg(long)]
    pub json: bool,
    /// Print only errors, and what was asked for with --json
    #[arg(short, long)]
    pub quiet: bool,
}
