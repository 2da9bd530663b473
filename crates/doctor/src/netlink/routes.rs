//! Routes that change what TCP does in its first round trip (`RTM_GETROUTE`, rtnetlink(7)).

use std::io;
use std::net::IpAddr;

use roundtrip_net::ask_kernel;
use roundtrip_wire::netlink::{NetlinkRequest, attributes, u32_at};

/// The length of `struct rtmsg`: eight bytes of family … type, then flags.
const HEADER: usize = 12;
const RTN_UNICAST: u8 = 1;
const RTA_DST: u16 = 1;
const RTA_METRICS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RTAX_INITRWND: u16 = 14;
const RTAX_FASTOPEN_NO_COOKIE: u16 = 17;
/// The largest number of special routes that are kept: a machine that routes for others may have a
/// great many, and a report needs a few.
const MAX_SPECIAL: usize = 64;

/// The settings for initial windows and fast open in the routing tables.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RouteSummary {
    /// How many unicast routes there are.
    pub(crate) count: usize,
    /// The routes that set one of the requested metrics.
    pub(crate) special: Vec<SpecialRoute>,
}

/// A route that sets a metric; zero or false is the system's default.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SpecialRoute {
    /// `default` or a prefix.
    pub(crate) to: String,
    pub(crate) initial_congestion_window: u32,
    pub(crate) initial_receive_window: u32,
    pub(crate) fast_open_without_cookie: bool,
}

/// Reads the routes of both families, all tables.
pub(crate) fn read() -> io::Result<RouteSummary> {
    let mut routes = RouteSummary::default();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut request = NetlinkRequest::dump(libc::RTM_GETROUTE);
        request.route(family as u8, 0);
        ask_kernel(libc::NETLINK_ROUTE, request, |message| routes.add(message))?;
    }
    Ok(routes)
}

impl RouteSummary {
    /// Takes in one `RTM_NEWROUTE`.
    fn add(&mut self, message: &[u8]) {
        let Some((header, rest)) = message.split_first_chunk::<HEADER>() else {
            return;
        };
        let [_family, prefix, _, _, _, _, _, kind, ..] = *header;
        if kind != RTN_UNICAST {
            return;
        }
        self.count += 1;
        let mut route = SpecialRoute {
            to: "default".into(),
            ..SpecialRoute::default()
        };
        for (kind, value) in attributes(rest) {
            match kind {
                RTA_DST => route.to = destination(value, prefix),
                RTA_METRICS => route.take(value),
                _ => {}
            }
        }
        if route.is_special() && self.special.len() < MAX_SPECIAL {
            self.special.push(route);
        }
    }
}

impl SpecialRoute {
    fn take(&mut self, metrics: &[u8]) {
        for (kind, value) in attributes(metrics) {
            let number = u32_at(value, 0).unwrap_or(0);
            match kind {
                RTAX_INITCWND => self.initial_congestion_window = number,
                RTAX_INITRWND => self.initial_receive_window = number,
                RTAX_FASTOPEN_NO_COOKIE => self.fast_open_without_cookie = number != 0,
                _ => {}
            }
        }
    }

    fn is_special(&self) -> bool {
        self.initial_congestion_window != 0
            || self.initial_receive_window != 0
            || self.fast_open_without_cookie
    }
}

fn destination(value: &[u8], prefix: u8) -> String {
    let address = match value.len() {
        4 => value.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
        16 => value
            .first_chunk::<16>()
            .map(|octets| IpAddr::from(*octets)),
        _ => None,
    };
    address.map_or_else(|| "?".into(), |address| format!("{address}/{prefix}"))
}

#[cfg(test)]
mod tests {
    use super::super::attribute;
    use super::*;

    fn route(kind: u8, prefix: u8, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![2, prefix, 0, 0, 254, 2, 0, kind, 0, 0, 0, 0];
        bytes.extend(attributes.concat());
        bytes
    }

    #[test]
    fn a_route_with_metrics_is_kept_and_a_plain_one_only_counted() {
        let metrics = [
            attribute(RTAX_INITCWND, &32_u32.to_ne_bytes()),
            attribute(RTAX_INITRWND, &64_u32.to_ne_bytes()),
        ];
        let nested = attribute(RTA_METRICS | 0x8000, &metrics.concat());
        let mut routes = RouteSummary::default();
        routes.add(&route(1, 0, std::slice::from_ref(&nested)));
        routes.add(&route(1, 8, &[attribute(RTA_DST, &[10, 0, 0, 0]), nested]));
        routes.add(&route(1, 24, &[attribute(RTA_DST, &[192, 0, 2, 0])]));
        routes.add(&route(2, 32, &[attribute(RTA_DST, &[127, 0, 0, 1])])); // local
        assert_eq!(routes.count, 3);
        let to: Vec<_> = routes.special.iter().map(|r| r.to.as_str()).collect();
        assert_eq!(to, ["default", "10.0.0.0/8"]);
        assert_eq!(routes.special[0].initial_congestion_window, 32);
        assert_eq!(routes.special[0].initial_receive_window, 64);
    }

    #[test]
    fn truncated_routes_are_harmless() {
        let metrics = attribute(RTAX_INITCWND, &32_u32.to_ne_bytes());
        let whole = route(1, 0, &[attribute(RTA_METRICS, &metrics)]);
        for length in 0..whole.len() {
            let mut routes = RouteSummary::default();
            routes.add(&whole[..length]);
            assert!(routes.special.is_empty(), "{length}");
        }
    }
}
