//! Data that was taken from the library while the exchange could not use it. The library keeps
//! about 256 bytes for each frame, however small; here, small frames share a buffer. The window of
//! the stream bounds both, because the server gets it back only after the exchange has read.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Pieces that are smaller are copied into the shared buffer.
const COPIED: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct GatheredData {
    whole: VecDeque<Bytes>,
    /// The newest data, which follows that in `whole`.
    small: BytesMut,
}

impl GatheredData {
    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.small.is_empty()
    }

    pub(super) fn push(&mut self, data: Bytes) {
        if data.len() < COPIED {
            self.small.extend_from_slice(&data);
            return;
        }
        if !self.small.is_empty() {
            self.whole.push_back(self.small.split().freeze());
        }
        self.whole.push_back(data);
    }

    pub(super) fn pop(&mut self) -> Option<Bytes> {
        if let Some(data) = self.whole.pop_front() {
            return Some(data);
        }
        let small = std::mem::take(&mut self.small);
        (!small.is_empty()).then(|| small.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_comes_back_in_order_and_small_pieces_together() {
        let mut gathered = GatheredData::default();
        let large = Bytes::from(vec![b'l'; COPIED]);
        for _ in 0..2 {
            for data in [b"a".as_slice(), b"b", &large, b"c", &large, b"d", b"e"] {
                gathered.push(Bytes::copy_from_slice(data));
            }
            let came: Vec<Bytes> = std::iter::from_fn(|| gathered.pop()).collect();
            let expected = [b"ab".as_slice(), &large, b"c", &large, b"de"];
            assert_eq!(came, expected);
            assert!(gathered.is_empty());
        }
    }
}
