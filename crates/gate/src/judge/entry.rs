//! Records facts about a request while it is judged.

use super::ForwardedRequest;
use super::request::{Request, is_read_as};
use crate::record::{Early, Entry, Known};

impl Entry {
    /// Records the request.
    pub(crate) fn set_request(&mut self, request: &Request<'_>) {
        self.caller.set_request(request);
        self.set_trace(request);
        if let Some(log_details) = &mut self.log_details {
            log_details.ask(request.method, request.target);
        }
    }

    /// Sets the request's place in a trace, once: a head may be judged more than once.
    fn set_trace(&mut self, request: &Request<'_>) {
        let Some(tracer) = self.tracer.as_ref().filter(|_| self.trace.is_none()) else {
            return;
        };
        let fields = request.fields.iter();
        let fields = fields.filter(|field| is_read_as(field.name, "traceparent"));
        let position = tracer.position(request.method, fields.map(|field| field.value));
        self.trace = Some(position);
        if position.context.sampled {
            self.log_details.get_or_insert_default();
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
