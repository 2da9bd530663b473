//! Networks by name: what is known of them, in words, and from where.

use crate::builder::Builder;
use crate::words;

/// A network by name.
#[derive(Debug)]
pub struct Preset {
    pub name: &'static str,
    /// What it says of the path.
    pub words: &'static str,
    /// What it stands for, and where its figures come from.
    pub source: &'static str,
}

pub const PRESETS: &[Preset] = &[Preset {
    name: "transatlantic",
    words: "rtt=90ms",
    source: "US east coast to France",
}];

pub(crate) fn apply(path: &mut Builder, name: &str) -> Result<(), String> {
    let preset = PRESETS
        .iter()
        .find(|preset| preset.name == name)
        .ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            format!(
                "there is no network `{name}`; there are {}",
                names.join(", ")
            )
        })?;
    words::apply_all(path, preset.words)
}
