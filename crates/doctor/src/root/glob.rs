//! Lists the files that match a pattern such as `usr/lib/*/libcrypto.so*` inside the root.
//!
//! `*` stands for any characters within one component. Names that are not UTF-8 are skipped.

use rustix::fs::Dir;

use super::{Root, RootReadError};

/// The largest number of names that are read from one directory.
const MAX_ENTRIES: usize = 50_000;
/// The largest number of paths that are kept after each component: a hostile tree must not multiply
/// them.
const MAX_PATHS: usize = 256;

impl Root {
    /// The matching paths, sorted, each beginning with `/`. Unreadable directories match nothing.
    pub(crate) fn glob(&self, pattern: &str) -> Vec<String> {
        let mut paths = vec![String::new()];
        for component in pattern.split('/').filter(|c| !c.is_empty()) {
            let mut longer = Vec::new();
            for path in &paths {
                if component.contains('*') {
                    let names = self.names(path).unwrap_or_default();
                    let fitting = names.iter().filter(|name| fits(component, name));
                    longer.extend(fitting.map(|name| format!("{path}/{name}")));
                } else {
                    longer.push(format!("{path}/{component}"));
                }
            }
            longer.truncate(MAX_PATHS);
            paths = longer;
        }
        paths.retain(|path| self.exists(path));
        paths
    }

    /// The names in a directory, sorted.
    fn names(&self, path: &str) -> Result<Vec<String>, RootReadError> {
        let directory = self.open_directory(path)?;
        let mut names: Vec<String> = Dir::read_from(&directory)?
            .take(MAX_ENTRIES)
            .map_while(Result::ok)
            .filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned))
            .filter(|name| name != "." && name != "..")
            .collect();
        names.sort_unstable();
        Ok(names)
    }
}

/// Whether `name` matches a pattern in which `*` stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((prefix, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(prefix) else {
        return false;
    };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return name.ends_with(piece);
        }
        match name.find(piece) {
            Some(at) => name = name.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_any_characters() {
        assert!(fits("libcrypto.so*", "libcrypto.so"));
        assert!(fits("libcrypto.so*", "libcrypto.so.1.0.0"));
        assert!(!fits("libcrypto.so*", "libcrypto.a"));
        assert!(fits("*-linux-gnu*", "x86_64-linux-gnu"));
        assert!(fits("*-linux-gnu*", "arm-linux-gnueabihf"));
        assert!(!fits("*-linux-gnu*", "linux-gnu"));
        assert!(fits("a*b*c", "a-b-b-c") && !fits("a*b*c", "a-c-b"));
        assert!(!fits("aba*aba", "aba"));
        assert!(fits("exact", "exact") && !fits("exact", "exactly"));
    }
}
