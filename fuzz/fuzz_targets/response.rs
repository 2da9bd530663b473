//! Fuzzes a whole HTTP/1.1 response, from the status line to the decoded body.
#![no_main]

use std::io::Cursor;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use roundtrip_http::{BodyEnd, Connection, Request, RequestRecorder, RequestRun};
use roundtrip_model::{Clock, HttpFacts, Moment, Recorder, Target};

struct Frozen;

impl Clock for Frozen {
    fn now(&self) -> Moment {
        Moment::ZERO
    }
}

fuzz_target!(|bytes: &[u8]| {
    let request = Request {
        method: "GET".into(),
        target: Target::parse("http://example.com/").expect("a URL"),
        headers: Vec::new(),
        body: bytes::Bytes::new(),
        absolute_form: false,
    };
    let stream = tokio::io::join(Cursor::new(bytes.to_vec()), tokio::io::sink());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let mut facts = HttpFacts::default();
    let recorder = Recorder::new(Arc::new(Frozen));
    let _ = runtime.block_on(Connection::h1(stream).exchange(RequestRun {
        request: &request,
        decode: true,
        recorder: RequestRecorder::alone(&recorder),
        sink: &mut std::io::sink(),
        body_end: BodyEnd::Stream,
        facts: &mut facts,
    }));
    assert!(facts.header_bytes <= bytes.len() as u64);
});
