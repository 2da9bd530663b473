//! A protected path cannot be reached by another spelling of its path or host, whatever the backend
//! makes of it: other implementations' servers, and models of known readers. No request here has a
//! token; each backend's answer to the same spelling without gate shows that there is something to
//! protect.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)] // a test may panic

pub(crate) mod h2;
pub(crate) mod h3;
mod hosts;
mod named;
pub(crate) mod paths;
mod prefixes;
pub(crate) mod protocols;
mod random;
mod readers;
mod servers;
mod wire;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::lifecycle::scene;
use protocols::{Asker, FORMS, Form};
use readers::Reading;
use roundtrip_gate::config::Config;
use scene::Scene;
use servers::Make;
use wire::Wire;

/// All protected content contains this, and nothing else does.
pub(crate) const MARKER: &str = "this-is-guarded-4711";
pub(crate) const OPEN: &str = "this-is-open";
const SEED: u64 = 20_261_122;
/// The number of random spellings; those with one mutation are added.
const MOST: usize = 2500;
/// The same, for each protocol and form.
const MOST_OF_EACH: usize = 300;

#[test]
fn no_other_spelling_of_a_path_before_nginx() {
    before(Make::Nginx);
}

#[test]
fn no_other_spelling_of_a_path_before_apache() {
    before(Make::Apache);
}

#[test]
fn no_other_spelling_of_a_path_before_tomcat() {
    before(Make::Tomcat);
}

#[test]
fn no_other_spelling_of_a_path_before_node() {
    before(Make::Node);
}

#[test]
fn no_other_spelling_of_a_path_before_express() {
    before(Make::Express);
}

#[test]
fn no_other_spelling_of_a_path_for_a_c_string() {
    to(readers::c_string);
}

#[test]
fn no_other_spelling_of_a_path_for_who_reads_lines() {
    to(readers::line);
}

#[test]
fn no_other_spelling_of_a_path_for_who_finds_the_query_late() {
    to(readers::late_query);
}

#[test]
fn no_other_spelling_of_a_path_for_who_decodes_twice() {
    to(readers::twice);
}

#[test]
fn no_other_spelling_of_a_path_for_who_decodes_thrice() {
    to(readers::thrice);
}

#[test]
fn no_other_spelling_of_a_path_for_who_leaves_parameters_away() {
    to(readers::parameters);
}

#[test]
fn no_other_spelling_of_a_path_for_who_takes_the_best_fit() {
    to(readers::best_fit);
}

#[test]
fn no_other_spelling_of_a_path_on_windows() {
    to(readers::windows);
}

#[test]
fn no_other_spelling_of_a_path_as_a_stream_on_windows() {
    to(readers::ntfs);
}

#[test]
fn no_other_spelling_of_a_path_with_a_session_of_asp_net() {
    to(readers::sessions);
}

/// Protocols and forms of a target have their own ways to a path.
#[test]
fn no_other_spelling_of_a_path_in_any_protocol() {
    let backend = readers::serve(readers::lenient);
    let mut wrong = Vec::new();
    for (scene, open) in [
        (guarded_below(backend), "/open"),
        (open_below(backend), "/public"),
    ] {
        let paths = paths::spellings("/guarded/page.txt", open, MOST_OF_EACH, SEED);
        for form in FORMS {
            let mut asker = Asker::new(&scene, form);
            let open = asker.get(b"/public/page.txt", "a.example");
            assert!(open.status == 200 && open.holds(OPEN), "{form:?}: {open:?}");
            let guarded = asker.get(b"/guarded/page.txt", "a.example");
            assert_eq!(guarded.status, 401, "{form:?}");
            let seen = try_all(backend, &mut asker, &paths);
            println!("{form:?} {seen}");
            assert!(seen.statuses.contains_key(&400), "{form:?} {seen}");
            wrong.extend(seen.wrong.iter().map(|path| format!("{form:?} {path}")));
        }
    }
    assert!(wrong.is_empty(), "got through:\n{}", wrong.join("\n"));
}

/// Ordinary names of files and resources: none is refused if all readings lead to one route.
#[test]
fn ordinary_paths_of_open_routes_pass() {
    let backend = readers::serve(readers::c_string);
    for (scene, folder) in [
        (guarded_below(backend), "/open"),
        (open_below(backend), "/public"),
    ] {
        let mut gate = Wire::to(scene.gate().addresses().http[0]);
        for name in [
            "",
            "/",
            "/page.txt",
            "/a%20b.txt",
            "/caf%C3%A9.txt",
            "/%E6%97%A5%E6%9C%AC%E8%AA%9E/%EF%BC%A1.txt",
            "/100%25.txt",
            "/a%2Bb+c",
            "/@user:8/~me/(1)!$&'*,=",
            "/x;jsessionid=0A1B",
            "/a%2Fb",
            "/v1.2/.well-known/x",
            "/..x/...",
            "/UPPER/Lower",
            "/%F0%9F%98%80",
            "?a=/../guarded/page.txt",
            "/?a=%00%2e%2e%2fguarded;x&b=%25&c=%ff",
            "/x?http://guarded/%5c..%5cguarded",
            "/a%3Ab%40c",
            "/deep/er/than/usual/a.b.c/",
        ] {
            let path = format!("{folder}{name}");
            let reply = gate.get(path.as_bytes(), "a.example");
            assert_eq!(reply.status, 200, "{path}");
            assert!(reply.holds(OPEN), "{path}");
        }
    }
}

fn before(make: Make) {
    if let Some(server) = make.start() {
        reach(server.address);
    }
}

fn to(reading: Reading) {
    reach(readers::serve(reading));
}

/// Everything is open except `/guarded`.
fn guarded_below(backend: SocketAddr) -> Scene {
    let more = "[[route]]\nupstream = \"backend\"\npath = \"/guarded\"\n";
    Scene::tuned(backend, more, |config| {
        tune(config);
        protocols::listen(config);
        config.route[0].auth = false;
    })
}

/// Everything is protected except `/public`.
fn open_below(backend: SocketAddr) -> Scene {
    let more = "[[route]]\nupstream = \"backend\"\npath = \"/public\"\nauth = false\n";
    Scene::tuned(backend, more, |config| {
        tune(config);
        protocols::listen(config);
    })
}

/// Other limits must not affect the result.
pub(crate) fn tune(config: &mut Config) {
    config.listen.threads = 1;
    config.limits.resets = 1_000_000;
    for upstream in config.upstream.values_mut() {
        upstream.eject_after = u32::MAX;
    }
}

fn reach(backend: SocketAddr) {
    let mut wrong = Vec::new();
    for (scene, open) in [
        (guarded_below(backend), "/open"),
        (open_below(backend), "/public"),
    ] {
        plain(&scene, backend);
        let paths = paths::spellings("/guarded/page.txt", open, MOST, SEED);
        let seen = try_all(backend, &mut Asker::new(&scene, Form::Origin), &paths);
        println!("{open}: {seen}");
        assert!(
            seen.direct > 0,
            "without gate no other spelling gets there either"
        );
        wrong.extend(seen.wrong);
    }
    let shown = wrong.iter().take(100).cloned().collect::<Vec<_>>();
    let shown = shown.join("\n");
    assert!(wrong.is_empty(), "{} got through:\n{shown}", wrong.len());
}

/// Plain spellings get the resource.
fn plain(scene: &Scene, backend: SocketAddr) {
    let (mut gate, mut direct) = (
        Wire::to(scene.gate().addresses().http[0]),
        Wire::to(backend),
    );
    let mut get = |path: &str| gate.get(path.as_bytes(), "a.example");
    assert!(direct.get(b"/guarded/page.txt", "a.example").holds(MARKER));
    assert_eq!(get("/guarded/page.txt").status, 401);
    let open = get("/public/page.txt");
    assert_eq!(open.status, 200);
    assert!(open.holds(OPEN));
}

#[derive(Default)]
struct Seen {
    tried: usize,
    /// How many spellings reach it without gate.
    direct: usize,
    statuses: BTreeMap<u16, usize>,
    wrong: Vec<String>,
}

impl std::fmt::Display for Seen {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            tried,
            direct,
            statuses,
            wrong,
        } = self;
        let wrong = wrong.len();
        write!(
            to,
            "{tried} spellings, {direct} of which get there without gate, and {wrong} with it; {statuses:?}"
        )
    }
}

fn try_all(backend: SocketAddr, through: &mut Asker<'_>, paths: &[Vec<u8>]) -> Seen {
    let mut direct = Wire::to(backend);
    let mut seen = Seen {
        tried: paths.len(),
        ..Seen::default()
    };
    for path in paths {
        seen.direct += usize::from(direct.get(path, "a.example").holds(MARKER));
        let reply = through.get(path, "a.example");
        *seen.statuses.entry(reply.status).or_default() += 1;
        if reply.holds(MARKER) {
            seen.wrong.push(path.escape_ascii().to_string());
        }
    }
    // A request that fails for lack of a backend proves nothing.
    assert!(
        seen.statuses
            .keys()
            .all(|status| !(502..=504).contains(status)),
        "{:?}",
        seen.statuses
    );
    seen
}
