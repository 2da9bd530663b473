//! Finds the known word that is nearest to a mistyped one.

/// The nearest word, if it is near enough: up to a third of the letters are wrong, or one word
/// begins with the other.
pub(super) fn nearest<'a>(typed: &str, words: &[&'a str]) -> Option<&'a str> {
    let typed: Vec<char> = typed.chars().take(64).collect();
    let near = |word: &&str| {
        let letters: Vec<char> = word.chars().collect();
        let distance = distance(&typed, &letters);
        let begins =
            typed.len() > 1 && (letters.starts_with(&typed) || typed.starts_with(&letters));
        let most = typed.len().max(letters.len()) / 3;
        (distance <= most || (begins && distance <= 4)).then_some(distance)
    };
    let near = words.iter().filter_map(|word| Some((near(word)?, *word)));
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// The number of letters to insert, remove or replace (Levenshtein); swapped neighbours count as
/// one.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let replaced = cell(&last, j) + usize::from(x != y);
            let mut best = replaced.min(cell(&last, j + 1) + 1).min(cell(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(cell(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
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

    #[test]
    fn distances() {
        let d = |a: &str, b: &str| {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            distance(&letters(a), &letters(b))
        };
        for (a, b, expected) in [("", "abc", 3), ("ab", "ba", 1), ("kitten", "sitting", 3)] {
            assert_eq!((d(a, b), d(b, a)), (expected, expected), "{a} {b}");
        }
    }
}
