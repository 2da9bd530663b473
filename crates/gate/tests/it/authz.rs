//! gate as the authorization server of other proxies: nginx, Caddy, HAProxy and Envoy with the
//! configurations of `packaging/authz`, a client made of Envoy's definitions, and requests by hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)] // a test may panic

mod conventions;
mod grpc;
mod guide;
mod proxies;

use std::net::SocketAddr;

use roundtrip_gate::manage::{SessionManager, TokenTransport};

use crate::applications::stage::{Stage, token};
use crate::exchanges::raw_client::{Answer, RawClient};
use crate::runtime;

/// `/open` needs no session, nor does the host `open.example`; everything else does.
const ROUTES: &str = "[[route]]\nupstream = \"b\"\nset = { X-Client = \"{client}\", X-Site = \"{scheme}://{host}\" }\n\
                      remove = [\"X-Secret\"]\n\
                      [[route]]\nupstream = \"b\"\npath = \"/open\"\nauth = false\n\
                      [[route]]\nupstream = \"b\"\nhost = \"open.example\"\nauth = false\n\
                      [upstream.b]\nservers = [\"http://127.0.0.1:9\"]\n";
/// `alice:secret`, the login of the session.
const LOGIN: &str = "Basic YWxpY2U6c2VjcmV0";

/// A gate that proxies may ask.
struct Asked {
    stage: Stage,
    /// The field that admits.
    cookie: String,
}

impl Asked {
    /// `more`: what else `[authz]` has.
    fn new(more: &str) -> Self {
        Self::with_store(None, more)
    }

    fn with_store(store: Option<&str>, more: &str) -> Self {
        let more = format!(
            "[authz]\nhttp = [\"127.0.0.1:0\"]\ngrpc = [\"127.0.0.1:0\"]\n{more}\n{ROUTES}"
        );
        let stage = Stage::with_store(store, &more);
        let cookie = format!("Cookie: {}", token(&stage.config, TokenTransport::Cookie));
        Self { stage, cookie }
    }

    fn http(&self) -> SocketAddr {
        self.stage.gate.addresses().authz_http[0]
    }

    fn grpc(&self) -> SocketAddr {
        self.stage.gate.addresses().authz_grpc[0]
    }

    /// The answer to a request with these fields, on a new connection.
    fn ask(&self, line: &str, fields: &str) -> Answer {
        ask(self.http(), line, fields)
    }

    /// Questions to the store.
    fn questions(&self) -> u64 {
        self.stage
            .metric("sessions_looked_up_total{from=\"asked\"}")
    }

    fn revoke(&self) {
        let runtime = runtime();
        let revoking = async {
            let manager = SessionManager::open(&self.stage.config).unwrap();
            manager.revoke("s").await.unwrap()
        };
        assert!(tokio::task::LocalSet::new().block_on(&runtime, revoking));
    }
}

fn ask(at: SocketAddr, line: &str, fields: &str) -> Answer {
    let mut client = RawClient::to(at);
    client.send(&format!(
        "{line} HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n{fields}\r\n"
    ));
    client.answer()
}
