//! Who waits for what, on a connection or on the dock as a whole; who stops waiting leaves nothing behind.

use std::collections::HashMap;
use std::task::{Context, Waker};

use roundtrip_quic::Dir;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// To open a stream.
    Open(Dir),
    /// For a stream of the peer's.
    Accept(Dir),
    /// For the handshake, a token, or the end.
    Stage,
}

/// Where one waits; each has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place(u64);

#[derive(Debug, Default)]
pub(crate) struct Crowd {
    waiting: HashMap<Place, (Wish, Waker)>,
    places: u64,
}

impl Crowd {
    pub(crate) fn place(&mut self) -> Place {
        self.places += 1;
        Place(self.places)
    }

    pub(crate) fn wait(&mut self, place: Place, wish: Wish, cx: &Context<'_>) {
        match self.waiting.get_mut(&place) {
            Some((wished, waker)) => {
                *wished = wish;
                waker.clone_from(cx.waker());
            }
            None => {
                self.waiting.insert(place, (wish, cx.waker().clone()));
            }
        }
    }

    pub(crate) fn leave(&mut self, place: Place) {
        self.waiting.remove(&place);
    }

    /// Those who have this wish try again.
    pub(crate) fn call(&mut self, wish: Wish, wakes: &mut Vec<Waker>) {
        let called = self.waiting.extract_if(|_, (wished, _)| *wished == wish);
        wakes.extend(called.map(|(_, (_, waker))| waker));
    }

    pub(crate) fn call_all(&mut self, wakes: &mut Vec<Waker>) {
        wakes.extend(self.waiting.drain().map(|(_, (_, waker))| waker));
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_called_for_what_it_waits_for() {
        let mut crowd = Crowd::default();
        let cx = Context::from_waker(Waker::noop());
        let wishes = [Wish::Open(Dir::Bidi), Wish::Accept(Dir::Uni), Wish::Stage];
        for wish in wishes {
            let place = crowd.place();
            crowd.wait(place, wish, &cx);
            crowd.wait(place, wish, &cx);
        }
        let gone = crowd.place();
        crowd.wait(gone, Wish::Stage, &cx);
        crowd.leave(gone);
        let mut wakes = Vec::new();
        crowd.call(Wish::Accept(Dir::Bidi), &mut wakes);
        assert_eq!(wakes.len(), 0);
        crowd.call(Wish::Accept(Dir::Uni), &mut wakes);
        assert_eq!(wakes.len(), 1);
        crowd.call_all(&mut wakes);
        assert_eq!(wakes.len(), 3);
        assert!(crowd.is_empty());
    }
}
