//! Records facts about a request while it is judged.

use super::ForwardedRequest;
use super::request::Request;
use crate::record::{Early, Entry, Known};

impl Entry {
    /// Records the request.
    pub(crate) fn set_request(&mut self, request: &Request<'_>) {
        self.caller.set_request(request);
        if let Some(log_details) = &mut self.log_details {
            log_details.ask(request.method, request.target);
        }
    }

    /// Records that the request is admitted and goes to a backend.
    pub(crate) fn set_admitted(&mut self, asked: &ForwardedRequest) {
        if let Some(log_details) = &mut self.log_details {
            log_details.session = asked.session.as_ref().map(|pass| pass.name().clone());
            log_details.upstream = Some(asked.route.upstream_name.clone());
        }
        if asked.session.is_some() {
            self.known.get_or_insert(Known::Near);
        }
        if asked.early.is_some() {
            self.early = Some(Early::Passed);
        }
    }
}
