//! Finds the known word that is nearest to a mistyped one.

use roundtrip_report::edit_distance;

/// The nearest word, if it is near enough: up to a third of the letters differ, or one word begins
/// with the other.
pub(super) fn nearest<'a>(typed: &str, words: &[&'a str]) -> Option<&'a str> {
    let typed: String = typed.chars().take(64).collect();
    let length = typed.chars().count();
    let near = |word: &&str| {
        let distance = edit_distance(&typed, word);
        let begins = length > 1 && (word.starts_with(&typed) || typed.starts_with(word));
        let most = length.max(word.chars().count()) / 3;
        (distance <= most || (begins && distance <= 4)).then_some(distance)
    };
    let near = words.iter().filter_map(|word| Some((near(word)?, *word)));
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let words = ["listen", "https", "http", "idle_time", "idle", "age"];
        for (typed, found) in [
            ("lisen", Some("listen")),
            ("lsiten", Some("listen")),
            ("htps", Some("https")),
            ("idle-time", Some("idle_time")),
            ("idles", Some("idle")),
            ("agee", Some("age")),
            ("connections", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, &words), found, "{typed}");
        }
    }
}
