//! What is on its way, by URL: whoever wants the same waits for it, and asks nothing.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use tokio::sync::OnceCell;

use super::{Source, Trouble};

type Flight = Rc<OnceCell<Result<Source, Trouble>>>;

#[derive(Default)]
pub(super) struct Flights(RefCell<HashMap<String, Flight>>);

impl Flights {
    /// What `fetch` brings, or what the one brings who was here first. If that one is given up, it is the next one's turn.
    pub(super) async fn join(
        &self,
        url: &str,
        fetch: impl Future<Output = Result<Source, Trouble>>,
    ) -> Result<Source, Trouble> {
        let flight = self.flight(url);
        let first = Cell::new(false);
        let landed = flight.get_or_init(|| {
            first.set(true);
            fetch
        });
        let outcome = landed.await.clone();
        if first.get() {
            // What was said is said; who comes later asks anew.
            self.0.borrow_mut().remove(url);
            return outcome;
        }
        outcome.map(|mut source| {
            if let Some(timing) = &mut source.timing {
                timing.coalesced = true;
            }
            source
        })
    }

    fn flight(&self, url: &str) -> Flight {
        let mut flights = self.0.borrow_mut();
        flights.entry(url.to_owned()).or_default().clone()
    }
}
