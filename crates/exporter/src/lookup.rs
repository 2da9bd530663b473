//! The address of a target that is a host and a port.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use roundtrip_net::{Resolver, Wanted};

use crate::config::IpProtocol;
use crate::line::told;
use crate::probe::KindRun;

/// Splits `HOST:PORT`; the host may be in brackets.
pub(crate) fn host_and_port(target: &str) -> Option<(&str, u16)> {
    let (host, port) = target.rsplit_once(':')?;
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if bare.is_none() && host.contains(':') {
        return None; // an IPv6 address alone
    }
    Some((bare.unwrap_or(host), port.parse().ok()?))
}

/// The address to connect to, of the preferred protocol or, if that is allowed, of the other one.
/// Records the time of the lookup.
pub(crate) async fn address(
    host: &str,
    port: u16,
    (preferred, falls_back): (IpProtocol, bool),
    run: &mut KindRun,
) -> Result<SocketAddr, String> {
    let bare = host.trim_matches(['[', ']']);
    let began = Instant::now();
    run.lookup = Some(Duration::ZERO);
    let prefers_4 = preferred == IpProtocol::Ip4;
    let no_address = "the name has no address of the preferred IP protocol";
    if let Ok(address) = bare.parse::<IpAddr>() {
        let fits = falls_back || address.is_ipv4() == prefers_4;
        let address = fits.then(|| SocketAddr::new(address, port));
        return address.ok_or_else(|| no_address.into());
    }
    let resolver = Resolver::system().map_err(told)?;
    let wanted = Wanted {
        v4: true,
        v6: true,
        https: None,
    };
    let found = resolver.look_up(host, wanted).await.map_err(told)?;
    run.lookup = Some(began.elapsed());
    let mut all = found.addresses.iter();
    let preferred = all.find(|address| address.is_ipv4() == prefers_4);
    let other = found.addresses.first().filter(|_| falls_back);
    let address = preferred.or(other).ok_or(no_address)?;
    Ok(SocketAddr::new(*address, port))
}
