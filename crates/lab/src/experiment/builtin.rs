//! The built-in experiments and client programs, and those loaded from files.

use std::fs;
use std::path::Path;

use super::{Experiment, read};
use crate::LabError;

/// Names and texts. A new experiment is a file and a line here.
const EXPERIMENTS: [(&str, &str); 6] = [
    (
        "persistence",
        include_str!("../../../../lab/experiments/persistence.toml"),
    ),
    (
        "fast-open",
        include_str!("../../../../lab/experiments/fast-open.toml"),
    ),
    (
        "https-100ms",
        include_str!("../../../../lab/experiments/https-100ms.toml"),
    ),
    (
        "auth-proxy",
        include_str!("../../../../lab/experiments/auth-proxy.toml"),
    ),
    (
        "auth-proxy-far",
        include_str!("../../../../lab/experiments/auth-proxy-far.toml"),
    ),
    (
        "quic-vs-tcp",
        include_str!("../../../../lab/experiments/quic-vs-tcp.toml"),
    ),
];

/// Our client programs, by the name in an arm's `program`.
const CLIENTS: [(&str, &str); 3] = [
    (
        "lookups.go",
        include_str!("../../../../lab/clients/lookups.go"),
    ),
    (
        "lookups.py",
        include_str!("../../../../lab/clients/lookups.py"),
    ),
    (
        "auth_proxy.py",
        include_str!("../../../../lab/clients/auth_proxy.py"),
    ),
];

/// The names of the built-in experiments, in the order in which `all` runs them.
pub fn names() -> impl Iterator<Item = &'static str> {
    EXPERIMENTS.iter().map(|(name, _)| *name)
}

/// Loads an experiment by its name or by the path of its file.
pub fn load(what: &str) -> Result<Experiment, LabError> {
    if let Some((name, text)) = EXPERIMENTS.iter().find(|(name, _)| *name == what) {
        return Ok(read(name, &format!("{name}.toml"), text)?);
    }
    let path = Path::new(what);
    let is_file = path.extension().is_some_and(|e| e == "toml") || what.contains('/');
    if !is_file {
        let known: Vec<&str> = names().collect();
        return Err(LabError::Unknown {
            name: what.to_owned(),
            known: known.join(", "),
        });
    }
    let text = fs::read_to_string(path).map_err(|source| LabError::Read {
        path: path.to_owned(),
        source,
    })?;
    let name = path
        .file_stem()
        .map_or(what.into(), |stem| stem.to_string_lossy());
    let mut experiment = read(&name, what, &text)?;
    experiment.directory = path.parent().map(Path::to_path_buf);
    Ok(experiment)
}

/// The source of one of our client programs.
pub(crate) fn client(name: &str) -> Option<&'static str> {
    CLIENTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_experiments_can_be_read() {
        for name in names() {
            let experiment = load(name).unwrap();
            assert!(!experiment.claims.is_empty(), "{name} claims nothing");
            assert!(!experiment.published.is_empty(), "{name}");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_built_in() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab");
        let mut files: Vec<String> = fs::read_dir(root.join("experiments"))
            .unwrap()
            .map(|entry| {
                entry
                    .unwrap()
                    .path()
                    .file_stem()
                    .unwrap()
                    .to_string_lossy()
                    .into()
            })
            .collect();
        let mut builtin: Vec<&str> = names().collect();
        files.sort();
        builtin.sort_unstable();
        assert_eq!(files, builtin);
    }

    #[test]
    fn missing_experiments_are_reported() {
        let unknown = load("teapot").unwrap_err().to_string();
        assert!(unknown.contains("persistence, fast-open"), "{unknown}");
        let missing = load("nowhere/x.toml").unwrap_err().to_string();
        assert!(missing.contains("nowhere/x.toml"), "{missing}");
    }
}
