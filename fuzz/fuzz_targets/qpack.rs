//! Fuzzes field sections of HTTP/3, and the rules for them: decoded sections stay within the
//! bounds, and valid ones have each pseudo-header field once, before the other fields.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::message::{Pair, check_request, check_response, check_trailers};
use roundtrip_wire::qpack::{SectionBounds, begin_section, read_section, write_line};

const BOUNDS: SectionBounds = SectionBounds {
    lines: 64,
    size: 8 << 10,
};

fuzz_target!(|bytes: &[u8]| {
    let Ok(section) = read_section(bytes, BOUNDS) else {
        return;
    };
    let size = |(name, value): Pair<'_>| name.len() + value.len() + 32;
    assert!(section.len() <= BOUNDS.lines);
    assert!(section.lines().map(size).sum::<usize>() <= BOUNDS.size);
    let mut again = Vec::new();
    begin_section(&mut again);
    section
        .lines()
        .for_each(|(name, value)| write_line(&mut again, name, value));
    let again = read_section(&again, BOUNDS).unwrap();
    assert_eq!(again.len(), section.len());
    for ((name, value), (was, its_value)) in again.lines().zip(section.lines()) {
        assert_eq!(
            (name, value),
            (was.to_ascii_lowercase().as_slice(), its_value)
        );
    }

    let is_pseudo = |(name, _): &Pair<'_>| name.starts_with(b":");
    let _ = check_trailers(section.lines())
        .inspect(|()| assert!(!section.lines().any(|p| is_pseudo(&p))));
    let _ = check_response(section.lines()).inspect(|status| assert!((100..1000).contains(status)));
    if check_request(section.lines()).is_ok() {
        let pseudo = section.lines().take_while(is_pseudo).count();
        assert_eq!(section.lines().filter(is_pseudo).count(), pseudo);
        let mut names: Vec<&[u8]> = section.lines().take(pseudo).map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), pseudo);
        assert!(
            section
                .lines()
                .all(|(_, value)| !value.contains(&b'\n') && !value.contains(&0))
        );
    }
});
