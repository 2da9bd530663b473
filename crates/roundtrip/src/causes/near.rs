//! Which of several words the user may have meant. The caller chooses how to say it.

/// One mistake is accepted for this many letters.
const LETTERS_A_MISTAKE: usize = 4;
const MAX_MISTAKES: usize = 3;

/// The words that resemble `typed`: first those with few typing mistakes, then those that contain
/// it.
pub(super) fn near<'a>(typed: &str, words: &[&'a str]) -> Vec<&'a str> {
    let typed = typed.to_ascii_lowercase();
    let allowed = typed.chars().count() / LETTERS_A_MISTAKE;
    let mut found: Vec<(usize, &str)> = words
        .iter()
        .filter_map(|word| {
            let mistakes = distance(&typed, word);
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

/// How many letters have to be inserted, removed or changed (Levenshtein's distance), one row at a
/// time.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (n, x) in a.chars().enumerate() {
        let mut next = vec![n + 1];
        for (y, pair) in b.iter().zip(row.windows(2)) {
            let [above_left, above] = pair else { continue };
            let left = next.last().copied().unwrap_or_default();
            let changed = above_left + usize::from(x != *y);
            next.push(changed.min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, n) in [
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("kitten", "sitting", 3),
            ("ab", "ba", 2),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (n, n), "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_come_first_and_far_ones_not_at_all() {
        let words = ["syn-lost", "segment-lost", "slow-start"];
        assert_eq!(near("syn-last", &words), ["syn-lost"]);
        assert_eq!(near("lost", &words), ["syn-lost", "segment-lost"]);
        assert!(near("", &words).is_empty() && near("teapot", &words).is_empty());
    }
}
