//! One case: the bytes that a client sends, and the only meaning that they may have.

pub(crate) const HOST: &str = "gate.example";
/// Sent after every case: a reader that misreads the case misreads this.
pub(crate) const AFTER: &str =
    "GET /after HTTP/1.1\r\nHost: gate.example\r\nConnection: close\r\n\r\n";

#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) wire: Vec<u8>,
    /// The requests that are passed on, without the one after them.
    pub(crate) means: Vec<Meaning>,
    pub(crate) end: End,
    /// Servers may refuse what gate passes on, such as an odd target or method.
    pub(crate) refusable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) asked: String,
    pub(crate) host: String,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The request after the case is answered.
    After,
    /// The connection ends after the case's own requests.
    Closed,
    /// Refused with this status, and the connection ends.
    Refused(u16),
    /// The connection is cut within a request whose head was passed on: no server may take it for
    /// complete.
    Cut,
}

impl Meaning {
    pub(crate) fn of(asked: &str, body: &[u8]) -> Self {
        Self {
            asked: asked.into(),
            host: HOST.into(),
            body: body.to_vec(),
        }
    }
}

impl Case {
    fn new(name: &str, wire: impl Into<Vec<u8>>, means: Vec<Meaning>, end: End) -> Self {
        Self {
            name: name.into(),
            wire: wire.into(),
            means,
            end,
            refusable: false,
        }
    }

    pub(crate) fn host(mut self, host: &str) -> Self {
        self.means
            .iter_mut()
            .for_each(|meaning| meaning.host = host.into());
        self
    }

    pub(crate) fn refusable(mut self) -> Self {
        self.refusable = true;
        self
    }

    pub(crate) fn and(mut self, asked: &str, body: &[u8]) -> Self {
        self.means.push(Meaning::of(asked, body));
        self
    }

    pub(crate) fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }
}

pub(crate) fn refused(name: &str, status: u16, wire: impl Into<Vec<u8>>) -> Case {
    Case::new(name, wire, Vec::new(), End::Refused(status))
}

pub(crate) fn means(name: &str, wire: impl Into<Vec<u8>>, asked: &str, body: &[u8]) -> Case {
    Case::new(name, wire, vec![Meaning::of(asked, body)], End::After)
}

/// A POST with these lines after its Host, and these bytes after its head.
pub(crate) fn post(lines: &str, rest: &str) -> String {
    format!("POST /case HTTP/1.1\r\nHost: {HOST}\r\n{lines}\r\n{rest}")
}

/// A GET of this target with these lines after its Host.
pub(crate) fn get(target: &str, lines: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: {HOST}\r\n{lines}\r\n")
}

/// A chunked body that ends in the middle, for gate or for the client.
pub(crate) fn cut(name: &str, chunks: &str) -> Case {
    let wire = post("Transfer-Encoding: chunked\r\n", chunks);
    Case::new(name, wire, Vec::new(), End::Cut)
}

/// A valid chunked body.
pub(crate) fn chunks(name: &str, chunks: &str, body: &[u8]) -> Case {
    let wire = post("Transfer-Encoding: chunked\r\n", chunks);
    means(name, wire, "POST /case", body)
}
