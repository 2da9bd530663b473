//! The guide shows the files of `packaging/authz`, which the other tests run.

use std::fs;
use std::path::Path;

#[test]
fn the_guide_shows_what_is_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/gate-authz.md")).unwrap();
    for name in [
        "nginx.conf",
        "Caddyfile",
        "haproxy.cfg",
        "envoy.yaml",
        "traefik.yaml",
    ] {
        let file = fs::read_to_string(root.join("packaging/authz").join(name)).unwrap();
        assert!(
            page.contains(&format!("\n{file}```\n")),
            "docs/gate-authz.md lacks {name} as it is"
        );
    }
}
