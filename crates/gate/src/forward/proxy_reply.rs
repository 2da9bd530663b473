//! Tells a proxy what to do with the request that it asked about: by the status and fields of an
//! answer, or by a `CheckResponse` of Envoy's gRPC service.

use std::io;

use roundtrip_wire::ext_authz::{write_allowed, write_denied};

use super::exchange::Sink;
use super::h1::{Response, ResponseBody, Trailers};
use crate::judge::request::{self, Field};
use crate::judge::{OwnAnswer, ProxyReply};
use crate::record::Caller;

pub(super) fn tell(
    own_answer: &OwnAnswer,
    reply: &ProxyReply,
    caller: &Caller,
    to: &mut impl Sink,
) {
    let allows = own_answer.status == 200;
    if !reply.grpc {
        if allows {
            allow(reply, caller, to);
        } else {
            own_answer.write(caller, to);
        }
        return;
    }
    let message = if allows {
        let id = std::iter::once((request::ID, caller.id.as_bytes()));
        let removed = reply.removed.iter().map(String::as_str);
        let removed = removed.chain(reply.absent());
        write_allowed(reply.lines().chain(id), removed)
    } else {
        let mut answer = RecordedAnswer::default();
        own_answer.write(caller, &mut answer);
        let fields = answer.fields.iter();
        let fields = fields.map(|(name, value)| (name.as_str(), value.as_slice()));
        write_denied(own_answer.status, fields, &answer.body)
    };
    let fields = [field("content-type", b"application/grpc")];
    to.head(&ok(&fields), ResponseBody::None, &[]);
    to.push(&message);
    if let Ok(status) =
        Trailers::from_lines([(b"grpc-status".as_slice(), b"0".as_slice())].into_iter())
    {
        to.trailers(&status);
    }
}

/// nginx prefers `X-Accel-Expires` to `Cache-Control`, and caches no private answers.
fn allow(reply: &ProxyReply, caller: &Caller, to: &mut impl Sink) {
    let seconds = reply.remember.as_secs().to_string();
    let control = match reply.remember.as_secs() {
        0 => "no-store".to_owned(),
        seconds => format!("private, max-age={seconds}"),
    };
    let usual = [
        field("Content-Length", b"0"),
        field("Cache-Control", control.as_bytes()),
        field("X-Accel-Expires", seconds.as_bytes()),
    ];
    // A backend's own ID would not get through, so ours is added.
    let id = field(request::ID, caller.id.as_bytes());
    let lines = reply.lines().map(|(name, value)| field(name, value));
    // The proxy replaces the client's own field with the empty value.
    let absent = reply.absent().map(|name| field(name, b""));
    let more: Vec<Field<'_>> = std::iter::once(id).chain(lines).chain(absent).collect();
    to.head(&ok(&usual), ResponseBody::None, &more);
}

fn ok<'a>(fields: &'a [Field<'a>]) -> Response<'a> {
    Response::new(200, "OK", fields)
}

fn field<'a>(name: &'a str, value: &'a [u8]) -> Field<'a> {
    Field { name, value }
}

/// An answer that is written into a message.
#[derive(Default)]
struct RecordedAnswer {
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Sink for RecordedAnswer {
    fn head(&mut self, response: &Response<'_>, _: ResponseBody, more: &[Field<'_>]) {
        let fields = response.fields.iter().chain(more);
        // The length describes this answer, but the proxy may change the body.
        let fields = fields.filter(|field| !field.name.eq_ignore_ascii_case("content-length"));
        self.fields = fields
            .map(|field| (field.name.to_owned(), field.value.to_vec()))
            .collect();
    }

    fn push(&mut self, data: &[u8]) {
        self.body.extend_from_slice(data);
    }

    async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn trailers(&mut self, _: &Trailers) {}

    async fn end(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn takes_interim(&self) -> bool {
        false
    }
}
