//! Which of several words the user may have meant. The caller chooses how to say it.

use roundtrip_report::edit_distance;

/// The number of letters for which one mistake is accepted.
const LETTERS_A_MISTAKE: usize = 4;
const MAX_MISTAKES: usize = 3;

/// The words that resemble `typed`: first those with few typing mistakes in the word or in one of
/// its parts, then those that contain it.
pub(super) fn near<'a>(typed: &str, words: &[&'a str]) -> Vec<&'a str> {
    let typed = typed.to_ascii_lowercase();
    let allowed = typed.chars().count() / LETTERS_A_MISTAKE;
    let mut found: Vec<(usize, &str)> = words
        .iter()
        .filter_map(|word| {
            let parts = word.split('-').chain([*word]);
            let mistakes = parts.map(|part| edit_distance(&typed, part)).min()?;
            let part = typed.len() > 2 && word.contains(&typed);
            let rank = if mistakes <= allowed {
                mistakes
            } else {
                usize::MAX
            };
            (mistakes <= allowed || part).then_some((rank, *word))
        })
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    found
        .into_iter()
        .take(MAX_MISTAKES)
        .map(|(_, word)| word)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_come_first_and_far_ones_not_at_all() {
        let words = [
            "syn-lost",
            "segment-lost",
            "slow-start",
            "nagle-delayed-ack",
        ];
        assert_eq!(near("syn-last", &words), ["syn-lost"]);
        assert_eq!(near("lost", &words), ["syn-lost", "segment-lost"]);
        assert_eq!(near("nagel", &words), ["nagle-delayed-ack"]);
        assert!(near("", &words).is_empty() && near("teapot", &words).is_empty());
    }
}
