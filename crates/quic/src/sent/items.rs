//! The frames of packets other than stream data, in chains of nodes in one slab, so that a packet
//! needs no list.

use super::SentFrame;

#[derive(Debug)]
struct Node {
    item: SentFrame,
    next: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Items {
    /// The chain with index n begins at node n − 1.
    nodes: Vec<Node>,
    free: u32,
    used: usize,
}

impl Items {
    pub(crate) fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }

    /// Frees the memory if nothing is kept.
    pub(crate) fn shrink(&mut self) {
        if self.used == 0 {
            *self = Self::default();
        }
    }

    /// Stores the items in their order and returns their chain, 0 for none.
    pub(crate) fn keep(&mut self, items: &mut Vec<SentFrame>) -> u32 {
        let mut chain = 0;
        while let Some(item) = items.pop() {
            chain = self.put(item, chain);
        }
        chain
    }

    fn put(&mut self, item: SentFrame, next: u32) -> u32 {
        self.used += 1;
        let free = self.free;
        if let Some(node) = free
            .checked_sub(1)
            .and_then(|i| self.nodes.get_mut(i as usize))
        {
            self.free = node.next;
            *node = Node { item, next };
            return free;
        }
        self.nodes.push(Node { item, next });
        u32::try_from(self.nodes.len()).unwrap_or(0)
    }

    /// Calls `told` with each item of the chain, and keeps the chain.
    pub(crate) fn tell(&self, chain: u32, mut told: impl FnMut(SentFrame)) {
        let mut at = chain;
        while let Some(node) = at.checked_sub(1).and_then(|i| self.nodes.get(i as usize)) {
            told(node.item);
            at = node.next;
        }
    }

    /// Calls `told` with each item of the chain, and frees the chain.
    pub(crate) fn take(&mut self, chain: u32, mut told: impl FnMut(SentFrame)) {
        let mut at = chain;
        while let Some(node) = at
            .checked_sub(1)
            .and_then(|i| self.nodes.get_mut(i as usize))
        {
            told(node.item);
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = at;
            self.used -= 1;
            at = next;
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_keep_their_order_and_their_room_is_used_again() {
        let mut items = Items::default();
        let told = |items: &Items, chain| {
            let mut all = Vec::new();
            items.tell(chain, |item| all.push(item));
            all
        };
        assert_eq!(items.keep(&mut Vec::new()), 0);
        let first = items.keep(&mut vec![SentFrame::Ping, SentFrame::MaxData]);
        let second = items.keep(&mut vec![SentFrame::NewToken(0)]);
        assert_eq!(told(&items, first), [SentFrame::Ping, SentFrame::MaxData]);
        assert_eq!(told(&items, second), [SentFrame::NewToken(0)]);
        items.take(first, |_| {});
        for _ in 0..1000 {
            let chain = items.keep(&mut vec![SentFrame::HandshakeDone, SentFrame::Ping]);
            assert_eq!(
                told(&items, chain),
                [SentFrame::HandshakeDone, SentFrame::Ping]
            );
            items.take(chain, |_| {});
        }
        assert_eq!(told(&items, second), [SentFrame::NewToken(0)]);
        assert_eq!((items.len(), items.nodes.len()), (1, 3));
    }
}
