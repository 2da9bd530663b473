//! Text from outside: which characters must not reach a terminal or a page as they are.

/// Whether a character affects its surroundings, or is invisible: controls (C0, DEL, C1), direction
/// marks, embeddings, overrides and isolates (Unicode UAX 9), zero-width characters, line and
/// paragraph separators, annotations and tags.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The beginning of a text, at most `most` characters, for an error message. U+FFFD replaces
/// characters that act on a terminal.
pub fn excerpt(text: &str, most: usize) -> String {
    let characters = text.chars().take(most);
    characters
        .map(|c| if acts(c) { '\u{fffd}' } else { c })
        .collect()
}
