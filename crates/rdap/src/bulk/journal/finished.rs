//! A set of positions, one bit each: a million of them take 125 kilobytes.

#[derive(Debug, Default)]
pub(super) struct Finished {
    words: Vec<u64>,
    count: u64,
}

impl Finished {
    pub(super) fn has(&self, position: u64) -> bool {
        let (word, bit) = place(position);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Adds a position. Returns `false` if it was already there. The caller bounds the position.
    pub(super) fn add(&mut self, position: u64) -> bool {
        let (word, bit) = place(position);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words.get_mut(word).is_some_and(|word| {
            let before = std::mem::replace(word, *word | bit);
            before & bit == 0
        });
        self.count += u64::from(is_new);
        is_new
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

fn place(position: u64) -> (usize, u64) {
    ((position / 64) as usize, 1 << (position % 64))
}
