//! Parses the origin's settings from flags, in the form that `roundtrip origin` takes.

use clap::Parser;
use roundtrip_origin::Knobs;

#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct KnobFlags {
    #[command(flatten)]
    knobs: Knobs,
}

/// Flags with their dashes, and their values behind `=`.
pub(crate) fn parse(flags: impl IntoIterator<Item = String>) -> Result<Knobs, clap::Error> {
    KnobFlags::try_parse_from(flags).map(|flags| flags.knobs)
}
