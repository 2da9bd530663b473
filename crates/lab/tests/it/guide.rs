//! The guide's example is a valid experiment.

use std::fs;
use std::path::Path;

#[test]
fn the_example_of_the_guide_can_be_read() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab.md");
    let guide = fs::read_to_string(guide).unwrap();
    let (_, rest) = guide.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let read = roundtrip_lab::experiment::read("mine", "docs/lab.md", example);
    let experiment = read.unwrap_or_else(|flaw| panic!("{flaw}"));
    assert!(experiment.cells.len() > 2 && !experiment.claims.is_empty());
    assert!(!experiment.sweeps.is_empty());
}
