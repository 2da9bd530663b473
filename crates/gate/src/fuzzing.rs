//! Access for the fuzz targets to gate's pure functions over bytes from peers. Not a public
//! interface.

use std::net::{IpAddr, Ipv4Addr};

use crate::config::{Limits, Listen};
use crate::forward::h1::{self, ResponseBody};
use crate::judge::guard::{Guard, GuardDecision};
use crate::judge::request::{
    Body, Field, Forwarding, Inspected, Request, Rewrite, Version, compose, inspect, readings,
};

/// How a request is passed on.
#[derive(Debug, Clone, Copy)]
pub struct RequestSettings<'a> {
    /// Whether the client's protocol frames bodies itself.
    pub framed: bool,
    pub trusted: bool,
    pub upgrades: bool,
    pub early: bool,
    pub authorization: Option<&'a [u8]>,
}

/// A request that was not refused.
#[derive(Debug)]
pub struct Passed {
    /// The head for the backend.
    pub head: Vec<u8>,
    pub host: String,
    pub path: String,
    /// The bytes of the client's head.
    pub used: usize,
    pub body: ParsedFraming,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParsedFraming {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

/// Turns a client's bytes into the head for the backend.
pub fn request(bytes: &[u8], way: &RequestSettings<'_>) -> Option<Passed> {
    let read = h1::request(bytes, &Limits::default(), |request| pass(request, way));
    let (passed, used) = read.ok()??;
    let passed = passed?;
    Some(Passed { used, ..passed })
}

fn pass(request: &Request<'_>, way: &RequestSettings<'_>) -> Option<Passed> {
    let named = request.fields.iter().find(|f| f.name == "authority");
    let framed = Request {
        version: Version::H2,
        authority: named.and_then(|field| std::str::from_utf8(field.value).ok()),
        ..*request
    };
    let request = if way.framed { &framed } else { request };
    let inspected = inspect(request, u64::MAX).ok()?;
    readings(inspected.path).ok()?;
    let trusted_fields = Listen::default().lowercase_trusted_fields();
    let forwarding = Forwarding {
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        secure: true,
        early: way.early,
        authorization: way.authorization,
        identity: b"",
        // The cookies that remain are still a field.
        own_cookie: way.trusted.then_some("a"),
        trusted_fields: if way.trusted { &trusted_fields } else { &[] },
        anonymous: false,
        socket_key: None,
        buffered: false,
        rewrite: &Rewrite::default(),
        id: b"",
        trace: None,
    };
    let mut head = Vec::new();
    let early = compose(request, &inspected, &forwarding, way.upgrades, &mut head);
    // The head that is sent again after the handshake must still be valid.
    if let Some(range) = early.filter(|_| way.trusted) {
        head.drain(range);
    }
    Some(Passed {
        head,
        host: host(&inspected),
        path: inspected.path.into(),
        used: 0,
        body: match inspected.body {
            Body::None => ParsedFraming::None,
            Body::Length(length) => ParsedFraming::Length(length),
            Body::Chunked | Body::Framed => ParsedFraming::Chunked,
        },
    })
}

fn host(inspected: &Inspected<'_>) -> String {
    let mut host = Vec::new();
    inspected.host.write(&mut host);
    String::from_utf8_lossy(&host).into_owned()
}

/// A backend's answer that was not refused.
#[derive(Debug)]
pub struct ParsedAnswer {
    pub status: u16,
    pub reason: String,
    /// The fields that are passed on to the client.
    pub fields: Vec<(String, Vec<u8>)>,
    pub body: ParsedFraming,
}

pub fn response(bytes: &[u8], of_head: bool) -> Option<ParsedAnswer> {
    let read = h1::response(bytes, |response| {
        let body = response.body(of_head).ok()?;
        let _ = response.keeps();
        let field = |f: &Field<'_>| (f.name.to_owned(), f.value.to_vec());
        Some(ParsedAnswer {
            status: response.status,
            reason: response.reason.into(),
            fields: response.end_to_end().map(field).collect(),
            body: match body {
                ResponseBody::None => ParsedFraming::None,
                ResponseBody::Length(length) => ParsedFraming::Length(length),
                ResponseBody::Chunked => ParsedFraming::Chunked,
                ResponseBody::UntilClose => ParsedFraming::UntilClose,
            },
        })
    });
    read.ok()??.0
}

/// The session that a guard would ask the store for, for a request with this head.
pub fn judge(guard: &Guard, head: &[u8]) -> Option<String> {
    let read = h1::request(head, &Limits::default(), |request| {
        match guard.judge(request, false) {
            GuardDecision::Ask(question) => Some(question.session().to_owned()),
            // The store was never asked, so no session is known.
            GuardDecision::Pass(_) | GuardDecision::Deny(_) => None,
        }
    });
    read.ok()??.0
}
