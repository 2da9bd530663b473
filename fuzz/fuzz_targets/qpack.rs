//! Fuzzes field sections of HTTP/3, and the rules that they are judged by: what is read keeps the bounds, and what is sound has
//! each pseudo-header field once, before the others.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::message::{Pair, check_request, check_trailers};
use roundtrip_wire::qpack::{FieldLine, SectionBounds, read_section};

const BOUNDS: SectionBounds = SectionBounds {
    lines: 64,
    size: 8 << 10,
};

fuzz_target!(|bytes: &[u8]| {
    let Ok(lines) = read_section(bytes, BOUNDS) else {
        return;
    };
    let size = |line: &FieldLine<'_>| line.name().len() + line.value().len() + 32;
    assert!(lines.len() <= BOUNDS.lines);
    assert!(lines.iter().map(size).sum::<usize>() <= BOUNDS.size);
    let pairs = || lines.iter().map(|line| -> Pair<'_> { (line.name(), line.value()) });
    let is_pseudo = |(name, _): &Pair<'_>| name.starts_with(b":");
    let _ = check_trailers(pairs()).inspect(|()| assert!(!pairs().any(|p| is_pseudo(&p))));
    if check_request(pairs()).is_ok() {
        let pseudo = pairs().take_while(is_pseudo).count();
        assert_eq!(pairs().filter(is_pseudo).count(), pseudo);
        let mut names: Vec<&[u8]> = pairs().take(pseudo).map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), pseudo);
        assert!(pairs().all(|(_, value)| !value.contains(&b'\n') && !value.contains(&0)));
    }
});
