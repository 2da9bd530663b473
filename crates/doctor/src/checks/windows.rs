//! How much the first round trip carries: initial windows, which routes can change.

use crate::check::{Area, Check, CheckSubject};
use crate::netlink::routes::SpecialRoute;
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const WINDOWS: CheckSubject =
    CheckSubject::new("tcp-initial-windows", Area::Tcp, "Initial windows");

/// The initial window in segments (RFC 6928) unless a route says otherwise.
const DEFAULT_WINDOW: u32 = 10;

pub(super) fn examine(_scene: &ExaminedSystem, probes: &Probes) -> Vec<Check> {
    vec![windows(probes)]
}

fn windows(probes: &Probes) -> Check {
    let routes = match &probes.routes {
        Ok(routes) => routes,
        Err(error) => {
            return WINDOWS.unknown(
                format!("the kernel does not say ({error})"),
                "Ten segments leave in the first round trip unless a route says otherwise.",
            );
        }
    };
    let narrow = |window| window != 0 && window < DEFAULT_WINDOW;
    let narrow = routes.special.iter().any(|route| {
        narrow(route.initial_congestion_window) || narrow(route.initial_receive_window)
    });
    let value = match routes.special.as_slice() {
        [] if routes.count == 0 => {
            format!("{DEFAULT_WINDOW} segments (RFC 6928); there are no routes")
        }
        [] => format!(
            "{DEFAULT_WINDOW} segments (RFC 6928) on all {} routes",
            routes.count
        ),
        special => format!(
            "{DEFAULT_WINDOW} segments, but {}",
            special.iter().map(describe).collect::<Vec<_>>().join("; ")
        ),
    };
    let advice = "ip route change default via GATEWAY initcwnd 32 initrwnd 32, for paths known to \
                  cope with it; or send less: a shorter certificate chain, compressed bodies";
    if narrow {
        return WINDOWS
            .problem(
                value,
                "A route sends or accepts less than the usual ten segments in its first round \
                 trip: an ordinary TLS answer takes one round trip more.",
            )
            .change("ip route change PREFIX … initcwnd 10 initrwnd 10");
    }
    WINDOWS
        .good(
            value,
            "Ten segments, about 14 kB, leave in the first round trip, twice as many in the \
             second, and so on: a 200 kB body needs four. A TLS answer over the first window \
             costs one round trip more.",
        )
        .change_if(routes.special.is_empty(), advice)
}

fn describe(route: &SpecialRoute) -> String {
    let mut facts = Vec::new();
    if route.initial_congestion_window != 0 {
        facts.push(format!("initcwnd {}", route.initial_congestion_window));
    }
    if route.initial_receive_window != 0 {
        facts.push(format!("initrwnd {}", route.initial_receive_window));
    }
    if route.fast_open_without_cookie {
        facts.push("fastopen_no_cookie".into());
    }
    format!("{} {}", route.to, facts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckStatus;
    use crate::netlink::routes::RouteSummary;

    fn with(special: Vec<SpecialRoute>) -> Check {
        let mut probes = Probes::granting();
        probes.routes = Ok(RouteSummary { count: 3, special });
        windows(&probes)
    }

    fn route(congestion: u32, receive: u32) -> SpecialRoute {
        SpecialRoute {
            to: "default".into(),
            initial_congestion_window: congestion,
            initial_receive_window: receive,
            ..SpecialRoute::default()
        }
    }

    #[test]
    fn ten_segments_unless_a_route_says_otherwise() {
        assert_eq!(with(vec![]).value, "10 segments (RFC 6928) on all 3 routes");
        let check = with(vec![route(32, 64)]);
        assert_eq!(
            check.value,
            "10 segments, but default initcwnd 32 initrwnd 64"
        );
        assert_eq!(check.status, CheckStatus::Good);
    }

    #[test]
    fn a_narrow_route_is_a_problem() {
        assert_eq!(with(vec![route(2, 0)]).status, CheckStatus::Problem);
        assert_eq!(
            with(vec![route(32, 0), route(0, 4)]).status,
            CheckStatus::Problem
        );
        assert_eq!(with(vec![route(0, 64)]).status, CheckStatus::Good);
    }
}
