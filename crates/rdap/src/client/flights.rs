//! Requests in flight, by URL: others that want the same URL wait for the answer.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use tokio::sync::OnceCell;

use super::{Source, Trouble};

type Flight = Rc<OnceCell<Result<Source, Trouble>>>;

#[derive(Default)]
pub(super) struct Flights(RefCell<HashMap<String, Flight>>);

impl Flights {
    /// Returns the result of `fetch`, or that of an equal request in flight. If that one is
    /// cancelled, the next in line fetches.
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
            // The result is final for those who waited; a later request asks anew.
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
