//! The number of terminal columns that a text takes, and the part of it that fits.

/// The number of columns that a text takes.
pub fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// The number of columns of one character: none for combining marks, two for wide characters of
/// East Asia and for pictographs (Unicode UAX 11), roughly.
pub(super) fn width_of(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{489}'
        | '\u{591}'..='\u{5bd}'
        | '\u{64b}'..='\u{65f}'
        | '\u{e31}'
        | '\u{e34}'..='\u{e3a}'
        | '\u{e47}'..='\u{e4e}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{fe20}'..='\u{fe2f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{a960}'..='\u{a97c}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// The beginning of `text` that takes at most `columns`, with an ellipsis if something is left out.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let fits = |c: &char| {
        let wide = width_of(*c);
        let fits = wide <= room;
        room = room.saturating_sub(wide);
        fits
    };
    let mut short: String = text.chars().take_while(fits).collect();
    if columns > 0 {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fit() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("abcd", 0), "");
        assert_eq!(cut("漢字漢字", 4), "漢…");
        assert_eq!(cut("e\u{301}e\u{301}", 2), "e\u{301}e\u{301}");
    }
}
