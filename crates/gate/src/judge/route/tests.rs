//! Which route is found, and models of how backends read the same path.

use proptest::prelude::*;

use super::*;

/// Each path with or without a host before it, all to one upstream.
fn routes(places: &[&str]) -> Routes {
    let upstreams = [("app".to_owned(), ())].into();
    let route = |place: &&str| {
        let (host, path) = place.split_at(place.find('/').unwrap());
        config::Route {
            host: host.into(),
            path: path.into(),
            upstream: "app".into(),
            ..config::Route::default()
        }
    };
    let config: Vec<_> = places.iter().map(route).collect();
    Routes::new(&config, &upstreams).unwrap()
}

fn found(routes: &Routes, host: &str, target: &str) -> Result<String, BadRequestError> {
    let host = Authority::parse(host).unwrap();
    let found = routes.find(&host, target)?;
    Ok(found.map_or("none".into(), |route| {
        format!("{}{}/", route.host, route.path)
    }))
}

#[test]
fn paths_are_told_apart_at_slashes() {
    for (path, route, below) in [
        ("/jmap", "/jmap", true),
        ("/jmap/x", "/jmap", true),
        ("/jmap/", "/jmap", true),
        ("/jmapx", "/jmap", false),
        ("/JMAP", "/jmap", false),
        ("/", "/jmap", false),
        ("/anything", "", true),
        ("*", "", true),
        ("*", "/x", false),
    ] {
        let is = is_below(path.as_bytes(), route.as_bytes(), <[u8]>::eq);
        assert_eq!(is, below, "{path} below {route}");
    }
}

#[test]
fn a_path_has_the_longest_route() {
    let routes = routes(&["/", "/a", "/a/b/", "x.example/", "x.example/a"]);
    for (host, target, expected) in [
        ("y", "/c?/a", "/"),
        ("y", "/a?x", "/a/"),
        ("y", "/a/b", "/a/b/"),
        ("x.example", "/a/b", "x.example/a/"),
        ("X.Example.:8443", "/", "x.example/"),
    ] {
        assert_eq!(found(&routes, host, target).unwrap(), expected, "{target}");
    }
}

#[test]
fn paths_that_may_lead_to_another_route_are_refused() {
    let routes = routes(&["/", "/jmap", "/x/Public"]);
    for target in [
        "/%6amap",
        "//jmap",
        "/;/jmap",
        "/jmap;x",
        "/;a/jmap/y",
        "/JMAP/x",
        "/jmap%3fx",
        "/%256amap",
        "/jmap.",
        "/%5cjmap",
        "/x/public",
        "/x/Public;/y",
    ] {
        assert_eq!(
            found(&routes, "a", target),
            Err(BadRequestError::TwoWays),
            "{target}"
        );
    }
    for target in ["/a;b=c/d%20e", "/jmap/a;b", "/X/y.", "/x%2fy", "/jmapx;"] {
        assert!(found(&routes, "a", target).is_ok(), "{target}");
    }
}

#[test]
fn routes_may_be_told_apart_by_capitals() {
    let routes = routes(&["/", "/a", "/A"]);
    assert_eq!(found(&routes, "a", "/A/x").unwrap(), "/A/");
    assert_eq!(found(&routes, "a", "/a/x").unwrap(), "/a/");
}

/// Models of what servers do with a path before they choose a route, after each server's
/// documentation or source. `None`: refused.
mod models {
    fn decode(path: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = path;
        while let Some((first, after)) = rest.split_first() {
            let code = after
                .get(..2)
                .and_then(|code| std::str::from_utf8(code).ok());
            let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
            match byte.filter(|_| *first == b'%') {
                Some(byte) => {
                    out.push(byte);
                    rest = &after[2..];
                }
                None => {
                    out.push(*first);
                    rest = after;
                }
            }
        }
        out
    }

    fn plain(path: &[u8], merge: bool) -> Option<Vec<u8>> {
        let mut out: Vec<&[u8]> = Vec::new();
        let segments: Vec<&[u8]> = path.split(|b| *b == b'/').skip(1).collect();
        for (at, segment) in segments.iter().enumerate() {
            match *segment {
                b"." => {}
                b".." => drop(out.pop()?),
                b"" if merge && at + 1 < segments.len() => {}
                other => out.push(other),
            }
        }
        Some([b"/", out.join(&b'/').as_slice()].concat())
    }

    fn without_parameters(path: &[u8]) -> Vec<u8> {
        let segments = path.split(|b| *b == b'/');
        let bare = segments.map(|s| s.split(|b| *b == b';').next().unwrap_or_default());
        bare.collect::<Vec<_>>().join(&b'/')
    }

    fn until(path: &[u8], end: u8) -> Vec<u8> {
        path.split(|b| *b == end)
            .next()
            .unwrap_or_default()
            .to_vec()
    }

    /// Decodes once, resolves and merges; a NUL is an error.
    pub(super) fn nginx(path: &[u8]) -> Option<Vec<u8>> {
        plain(&decode(path), true).filter(|path| !path.contains(&0))
    }

    pub(super) fn apache(path: &[u8]) -> Option<Vec<u8>> {
        nginx(path)
    }

    /// Removes parameters before it decodes; `\` may be a slash.
    pub(super) fn tomcat(path: &[u8]) -> Option<Vec<u8>> {
        let decoded = decode(&without_parameters(path));
        let slashes: Vec<u8> = decoded
            .iter()
            .map(|b| if *b == b'\\' { b'/' } else { *b })
            .collect();
        plain(&slashes, true)
    }

    /// Like Tomcat, but keeps empty segments.
    pub(super) fn jetty(path: &[u8]) -> Option<Vec<u8>> {
        plain(&decode(&without_parameters(path)), false)
    }

    /// `new URL`, then a router that decodes and ignores case.
    pub(super) fn node(path: &[u8]) -> Option<Vec<u8>> {
        let slashes: Vec<u8> = path
            .iter()
            .map(|b| if *b == b'\\' { b'/' } else { *b })
            .collect();
        let resolved = plain(&slashes, false)?;
        Some(decode(&resolved).to_ascii_lowercase())
    }

    /// The path ends at its first NUL, once it is decoded; some decode twice.
    pub(super) fn c_string(path: &[u8]) -> Option<Vec<u8>> {
        plain(&until(&decode(path), 0), true)
    }

    pub(super) fn twice(path: &[u8]) -> Option<Vec<u8>> {
        plain(&until(&decode(&decode(path)), 0), true)
    }

    /// A proxy that decodes first takes an encoded question mark for the beginning of a query.
    pub(super) fn proxy(path: &[u8]) -> Option<Vec<u8>> {
        plain(&until(&decode(path), b'?'), true)
    }

    /// Names as Windows reads them.
    pub(super) fn windows(path: &[u8]) -> Option<Vec<u8>> {
        let path = tomcat(path)?;
        let segments = path.split(|b| *b == b'/').map(|segment| {
            let end = segment.iter().rposition(|b| !b" .".contains(b));
            segment
                .get(..end.map_or(0, |end| end + 1))
                .unwrap_or_default()
        });
        let names = segments.collect::<Vec<_>>().join(&b'/');
        plain(&names.to_ascii_lowercase(), true)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Gate refuses a raw `\\` earlier. If a server serves something from below a guarded path, the
    /// guarded route admitted it. The reverse holds for an open path where everything else is
    /// guarded.
    #[test]
    fn no_backend_finds_another_route(
        target in prop::collection::vec(prop::sample::select(vec![
            "/", "g", "u", "gu", "GU", "%67", "%2567", "%75", "o", "%4f", ";", ";x=y", "%3b", "%253b", "//", "/./", "/../", "..", "%2e", "%252e", ".", "%2f", "%252f", "\\", "%5c", "%255c", "%00", "%2500", "%3f", "%23", "%20", "%c0%af", "?", "*", "x",
        ]), 0..9),
    ) {
        let target = format!("/{}", target.concat());
        for places in [["/", "/gu"], ["/", "/o"], ["/gu", "/gu/o"]] {
            let routes = routes(&places);
            let Ok(found) = found(&routes, "a", &target) else { continue };
            let path = target.split('?').next().unwrap_or_default().as_bytes();
            for model in [
                models::nginx, models::apache, models::tomcat, models::jetty, models::node, models::c_string, models::twice,
                models::proxy, models::windows,
            ] {
                let Some(served) = model(path) else { continue };
                let meant = routes.look(&Authority::default(), &served, <[u8]>::eq);
                let meant = meant.map_or("none".into(), |route| format!("{}{}/", route.host, route.path));
                // A path without a route is not passed on.
                prop_assert!(found == "none" || found == meant, "{target}: {found}, and {served:?} is of {meant}");
            }
        }
    }
}
