//! Looks for a line in the static table of HPACK or QPACK.

/// The table's entry for a line, by its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Line(usize),
    /// The first entry with the name, if no entry has the value as well.
    Name(usize),
    Nothing,
}

/// The length of the longest name, `access-control-allow-credentials`.
const MAX_NAME_LENGTH: usize = 32;

/// The entries of a static table, ordered by the lengths of their names.
pub(crate) struct StaticIndex<const N: usize> {
    by_length: [u8; N],
    /// The index in `by_length` at which the names of each length begin.
    starts: [u8; MAX_NAME_LENGTH + 2],
}

impl<const N: usize> StaticIndex<N> {
    pub(crate) const fn new(entries: &[(&str, &str); N]) -> Self {
        let (mut by_length, mut starts) = ([0; N], [0; MAX_NAME_LENGTH + 2]);
        let (mut length, mut count) = (0, 0);
        while length <= MAX_NAME_LENGTH {
            starts[length] = count as u8;
            let mut index = 0;
            while index < N {
                if entries[index].0.len() == length {
                    by_length[count] = index as u8;
                    count += 1;
                }
                index += 1;
            }
            length += 1;
        }
        starts[length] = count as u8;
        assert!(count == N, "no name is longer");
        Self { by_length, starts }
    }

    /// Looks for a line in the same table; the name may have upper case.
    pub(crate) fn find(
        &self,
        entries: &[(&'static str, &'static str); N],
        name: &[u8],
        value: &[u8],
    ) -> Found {
        let start = |length: usize| self.starts.get(length).copied().map(usize::from);
        let (Some(from), Some(to)) = (start(name.len()), start(name.len() + 1)) else {
            return Found::Nothing;
        };
        let Some(first) = name.first().map(u8::to_ascii_lowercase) else {
            return Found::Nothing;
        };
        let mut found: Option<(usize, &str)> = None;
        for index in self.by_length.get(from..to).unwrap_or_default() {
            let index = usize::from(*index);
            let Some((known, its_value)) = entries.get(index) else {
                continue;
            };
            // Most candidates differ in the first letter, and many have the name that was found.
            if known.as_bytes().first() != Some(&first) {
                continue;
            }
            let is_same = match found {
                Some((_, name)) => name == *known,
                None => known.as_bytes().eq_ignore_ascii_case(name),
            };
            if !is_same {
                continue;
            }
            if its_value.as_bytes() == value {
                return Found::Line(index);
            }
            found.get_or_insert((index, *known));
        }
        found.map_or(Found::Nothing, |(index, _)| Found::Name(index))
    }
}
