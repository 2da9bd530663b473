//! The same requests in every protocol and form of the target.

use std::net::Ipv4Addr;

use crate::lifecycle::scene::Scene;
use crate::readings::h2::{Answered, Connection};
use crate::readings::wire::{Reply, Wire};
use crate::readings::{MARKER, h3};

/// How a path is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Origin,
    /// The target is a URL, as in requests to a proxy. RFC 9112 §3.2.2.
    Absolute,
    Http2,
    Http3,
}

pub(crate) const FORMS: [Form; 4] = [Form::Origin, Form::Absolute, Form::Http2, Form::Http3];

/// Streams that are requests; a connection that ends is replaced.
pub(crate) enum Streams<'a> {
    Http2(&'a Scene, Box<Connection>),
    Http3(&'a Scene, h3::Client),
}

impl<'a> Streams<'a> {
    pub(crate) fn http2(scene: &'a Scene) -> Self {
        Self::Http2(scene, Connection::open(scene, &[]).into())
    }

    pub(crate) fn http3(scene: &'a Scene) -> Self {
        Self::Http3(scene, h3::Client::open(scene))
    }

    /// Sends a GET with these additional fields.
    pub(crate) fn get(&mut self, path: &[u8], fields: &[(&str, &[u8])]) -> Answered {
        let begin: [(&str, &[u8]); 3] =
            [(":method", b"GET"), (":scheme", b"https"), (":path", path)];
        let all = [begin.as_slice(), fields].concat();
        match self {
            Self::Http2(scene, connection) => {
                let id = connection.ask(&all, true);
                let answered = connection.answer(id);
                if answered.over {
                    **connection = Connection::open(scene, &[]);
                }
                answered
            }
            Self::Http3(scene, client) => {
                let answered = client.ask(&all);
                if answered.over {
                    *client = h3::Client::open(scene);
                }
                answered
            }
        }
    }
}

/// A client that sends paths in this form.
pub(crate) enum Asker<'a> {
    Wire(Form, Wire),
    Streams(Streams<'a>),
}

impl<'a> Asker<'a> {
    pub(crate) fn new(scene: &'a Scene, form: Form) -> Self {
        match form {
            Form::Http2 => Self::Streams(Streams::http2(scene)),
            Form::Http3 => Self::Streams(Streams::http3(scene)),
            form => Self::Wire(form, Wire::to(scene.gate().addresses().http[0])),
        }
    }

    pub(crate) fn get(&mut self, path: &[u8], host: &str) -> Reply {
        match self {
            Self::Wire(Form::Absolute, wire) => {
                wire.get(&[b"http://", host.as_bytes(), path].concat(), host)
            }
            Self::Wire(_, wire) => wire.get(path, host),
            Self::Streams(streams) => {
                let answered = streams.get(path, &[(":authority", host.as_bytes())]);
                Reply {
                    status: answered.status,
                    bytes: answered.body,
                }
            }
        }
    }
}

impl Answered {
    pub(crate) fn is_guarded(&self) -> bool {
        let mut parts = self.body.windows(MARKER.len());
        parts.any(|part| part == MARKER.as_bytes())
    }
}

/// All of them need such an address.
pub(crate) fn listen(config: &mut roundtrip_gate::config::Config) {
    config.listen.https = vec![(Ipv4Addr::LOCALHOST, 0).into()];
}
