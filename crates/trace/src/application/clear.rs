//! Requests and answers in clear text, and answers whose heads the capture does not have.

use super::TracedRequest;
use crate::http1::Http1;
use crate::tcp::TcpFlow;
use crate::view::ClientView;

/// The requests of HTTP/1 in clear text.
pub(crate) fn of_http1(http: &Http1, view: &ClientView) -> Vec<TracedRequest> {
    let mut responses = http.responses().iter().peekable();
    let mut all = Vec::new();
    let mut requests = http.requests().iter().peekable();
    while let Some(request) = requests.next() {
        let Some(began) = view.left(request.start + 1) else {
            break;
        };
        let end = request.end.unwrap_or(request.head_end);
        let mut asked = TracedRequest {
            request: Some(request.clone()),
            began,
            sent: view.left(end).unwrap_or(began),
            request_bytes: end - request.start,
            ..TracedRequest::default()
        };
        let next = requests.peek().and_then(|next| view.left(next.start + 1));
        if http.misses_answers() {
            let came = responses.peek().and_then(|r| view.readable(r.start + 1));
            if came.is_none_or(|came| next.is_some_and(|next| came > next)) {
                without_head(&mut asked, view, next);
                all.push(asked);
                continue;
            }
        }
        for response in responses.by_ref() {
            let at = view.readable(response.start + 1);
            if !response.is_final() {
                asked.interim.push(response.status);
                // Data that arrives before the whole request has left answers its head: `100
                // Continue`.
                let at = at.filter(|at| *at >= asked.sent);
                asked.first_byte = asked.first_byte.or(at);
                continue;
            }
            asked.first_byte = asked.first_byte.or(at);
            asked.answered = view.readable(response.head_end);
            let last = response
                .end
                .or_else(|| view.read.last().map(|(place, _)| *place));
            let last = last.unwrap_or(response.head_end);
            asked.finished = view.readable(last);
            asked.response_bytes = last - response.start;
            asked.is_whole = response.end.is_some() || view.fin.is_some();
            asked.response = Some(response.clone());
            break;
        }
        all.push(asked);
    }
    all
}

/// An answer whose head is missing from the capture: all data until the next request.
fn without_head(asked: &mut TracedRequest, view: &ClientView, next: Option<u64>) {
    let from = view.read.partition_point(|(_, at)| *at <= asked.sent);
    let until = view
        .read
        .partition_point(|(_, at)| next.is_none_or(|next| *at <= next));
    let came = view.read.get(from..until).unwrap_or_default();
    asked.first_byte = came.first().map(|(_, at)| *at);
    asked.answered = asked.first_byte;
    asked.finished = came.last().map(|(_, at)| *at);
    asked.is_whole = next.is_some() || view.fin.is_some();
}

/// Reads the rest of an answer whose request left before the capture began.
pub(crate) fn of_answer_alone(flow: &TcpFlow, view: &ClientView) -> Vec<TracedRequest> {
    let began = flow.sights.first().map(|sight| sight.at);
    let (Some(began), Some((_, first)), Some((place, last))) =
        (began, view.read.first(), view.read.last())
    else {
        return Vec::new();
    };
    if view.syn.is_some() || !view.sent.is_empty() {
        return Vec::new();
    }
    vec![TracedRequest {
        began: began.min(*first),
        sent: began.min(*first),
        first_byte: Some(*first),
        answered: Some(*first),
        finished: Some(*last),
        response_bytes: *place,
        is_inferred: true,
        is_whole: view.fin.is_some(),
        ..TracedRequest::default()
    }]
}
