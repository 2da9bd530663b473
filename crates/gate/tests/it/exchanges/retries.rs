//! A backend that fails at any point of an exchange, in any way: no unsafe request arrives twice,
//! and no client takes part of an answer for the whole.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::exchanges::backend::Backend;
use crate::exchanges::raw_client::{Answer, RawClient, counted, path};
use crate::lifecycle::scene::Scene;

/// The moment at which the backend fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum At {
    Unread,
    PartRead,
    HeadRead,
    RequestRead,
    AmidHead,
    HeadSent,
    AmidCounted,
    AmidChunk,
    BetweenChunks,
    AmidLastChunk,
    /// The answer has no length, so the end of the connection is its end.
    AmidEndless,
}

const MOMENTS: [At; 11] = [
    At::Unread,
    At::PartRead,
    At::HeadRead,
    At::RequestRead,
    At::AmidHead,
    At::HeadSent,
    At::AmidCounted,
    At::AmidChunk,
    At::BetweenChunks,
    At::AmidLastChunk,
    At::AmidEndless,
];

/// How it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Close,
    Reset,
    /// It sends no more, but still reads.
    HalfClose,
}

const WAYS: [Ending; 3] = [Ending::Close, Ending::Reset, Ending::HalfClose];

const REQUESTS: [(&str, Body); 9] = [
    ("GET", Body::None),
    ("DELETE", Body::None),
    ("PUT", Body::Counted),
    ("PUT", Body::Chunked),
    ("POST", Body::None),
    ("POST", Body::Counted),
    ("POST", Body::Chunked),
    ("PATCH", Body::Counted),
    // An unknown method.
    ("FROBNICATE", Body::None),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    None,
    Counted,
    Chunked,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    method: &'static str,
    body: Body,
    at: At,
    how: Ending,
    /// It fails whenever this request arrives, not only the first time.
    lasting: bool,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        let requests = REQUESTS.into_iter();
        requests.flat_map(|(method, body)| {
            MOMENTS.into_iter().flat_map(move |at| {
                WAYS.into_iter().flat_map(move |how| {
                    [false, true].map(|lasting| Self {
                        method,
                        body,
                        at,
                        how,
                        lasting,
                    })
                })
            })
        })
    }

    fn request(&self, id: usize) -> String {
        let head = format!("{} /{id} HTTP/1.1\r\nHost: a.example\r\n", self.method);
        match self.body {
            Body::None => format!("{head}\r\n"),
            Body::Counted => format!("{head}Content-Length: 5\r\n\r\nhello"),
            Body::Chunked => {
                format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
            }
        }
    }

    /// RFC 9110 §9.2.2. A small body that has arrived at once is kept until the answer.
    fn may_arrive(&self, kept: bool) -> usize {
        let idempotent = matches!(self.method, "GET" | "DELETE" | "PUT");
        if idempotent && kept { 2 } else { 1 }
    }

    /// Whether the client must get the right answer anyway, because the backend answered nothing on
    /// a connection that may have been closed long before.
    fn must_recover(&self, kept: bool) -> bool {
        self.may_arrive(kept) == 2 && !self.lasting && self.at <= At::AmidHead
    }
}

type Cases = Arc<Mutex<HashMap<usize, (Case, usize)>>>;

/// Fails as the case of a request says; answers all others.
fn fickle(cases: &Cases) -> impl Fn(RawClient) + Send + Sync + use<> {
    let cases = cases.clone();
    move |mut raw_client| {
        loop {
            let Some(head) = raw_client.peek_head() else {
                return;
            };
            let id: usize = path(&head)[1..].parse().unwrap();
            let case = cases.lock().unwrap().get_mut(&id).and_then(|known| {
                known.1 += 1;
                (known.0.lasting || known.1 == 1).then_some(known.0)
            });
            if let Some(case) = case {
                return go(raw_client, case);
            }
            if raw_client.request().is_none() || !raw_client.send(&counted(&right(id))) {
                return;
            }
        }
    }
}

fn right(id: usize) -> String {
    format!("the answer to {id}")
}

fn go(mut raw_client: RawClient, case: Case) {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    match case.at {
        At::Unread => {}
        At::PartRead => drop(raw_client.exactly(1)),
        At::HeadRead => drop(raw_client.head()),
        _ => drop(raw_client.request()),
    }
    raw_client.send(&match case.at {
        At::Unread | At::PartRead | At::HeadRead | At::RequestRead => String::new(),
        At::AmidHead => "HTTP/1.1 200 OK\r\nContent-Le".into(),
        At::HeadSent => "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n".into(),
        At::AmidCounted => "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello".into(),
        At::AmidChunk => format!("{CHUNKED}a\r\nhello"),
        At::BetweenChunks => format!("{CHUNKED}5\r\nhello\r\n"),
        At::AmidLastChunk => format!("{CHUNKED}5\r\nhello\r\n0\r\n"),
        At::AmidEndless => "HTTP/1.1 200 OK\r\n\r\nhello".into(),
    });
    match case.how {
        Ending::Close => {}
        Ending::Reset => raw_client.reset(),
        Ending::HalfClose => {
            raw_client.finish_writing();
            let _ = raw_client.rest();
        }
    }
}

/// `kept`: over a connection that was used before.
fn all_cases(kept: bool) {
    let cases = Cases::default();
    let backend = Backend::start(fickle(&cases));
    let scene = Scene::tuned(backend.at, "", |config| {
        let upstream = config.upstream.get_mut("backend").unwrap();
        upstream.retry_budget = 100;
        upstream.idle = if kept { 4 } else { 0 };
        config.route[0].auth = false;
    });
    let gate = scene.gate().addresses().http[0];
    let good = |client: &mut RawClient, id: usize| {
        client.send(&format!("GET /{id} HTTP/1.1\r\nHost: a.example\r\n\r\n"));
        assert_eq!(client.answer().whole(200).body, right(id));
    };
    let mut recovered = 0;
    for (number, case) in Case::all().enumerate() {
        let (id, other) = (2 * number, 2 * number + 1);
        let mut client = RawClient::to(gate);
        // On the same thread, this is the connection that the request before left.
        good(&mut client, other);
        cases.lock().unwrap().insert(id, (case, 0));
        client.send(&case.request(id));
        let answer = client.answer();
        let arrived = cases.lock().unwrap()[&id].1;
        assert!(
            (1..=case.may_arrive(kept)).contains(&arrived),
            "{case:?} arrived {arrived} times"
        );
        let is_right = match &answer {
            Answer::Whole(200, message) if case.at == At::AmidEndless => {
                // A FIN is the end of the answer.
                case.how != Ending::Reset && message.body == "hello"
            }
            Answer::Whole(200, message) => message.body == right(id) && arrived == 2,
            Answer::Whole(status, message) => {
                *status == 502 && message.body.starts_with("502 Bad Gateway: ")
            }
            // Once the answer has begun, gate cannot send another one.
            Answer::Cut | Answer::Nothing => case.at > At::AmidHead,
        };
        assert!(is_right, "{case:?}: {answer:?}");
        if case.must_recover(kept) {
            assert_eq!(answer.status(), 200, "{case:?}");
            recovered += 1;
        }
        good(&mut RawClient::to(gate), other);
    }
    assert_eq!(recovered > 0, kept);
}

#[test]
fn a_request_that_is_not_idempotent_never_arrives_twice_over_kept_connections() {
    all_cases(true);
}

#[test]
fn no_request_arrives_twice_over_fresh_connections() {
    all_cases(false);
}
