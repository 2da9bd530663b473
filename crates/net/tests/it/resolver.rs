//! The resolver against a small name server: its queries, its repetitions, and the answers that it
//! accepts.

mod answers;
mod failures;
mod server;

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_model::NameFacts;
use roundtrip_net::{ResolveError, Resolver, Wanted};
use roundtrip_wire::hosts::Hosts;
use roundtrip_wire::resolv_conf::ResolvConf;

const BOTH: Wanted = Wanted {
    v4: true,
    v6: true,
    https: None,
};
const V4: Wanted = Wanted {
    v4: true,
    v6: false,
    https: None,
};

/// A configuration with short waits, because the tests wait for silence.
fn conf(text: &str) -> ResolvConf {
    ResolvConf {
        timeout: Duration::from_millis(300),
        ..ResolvConf::parse(text)
    }
}

fn resolver(text: &str, servers: &[SocketAddr]) -> Resolver {
    Resolver::new(conf(text), Hosts::parse(""), servers.to_vec()).unwrap()
}

async fn look_up(
    server: SocketAddr,
    name: &str,
    wanted: Wanted,
) -> Result<NameFacts, ResolveError> {
    resolver("", &[server]).look_up(name, wanted).await
}
