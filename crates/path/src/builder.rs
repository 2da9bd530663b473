//! What a path is to be, checked before anything is made.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Step};
use crate::keeper::Keeper;
use crate::link::{Direction, Link};
use crate::middlebox::{Middlebox, StripFastOpen};
use crate::namespace::Namespace;
use crate::path::Path;
use crate::relay::{Relay, Route};
use crate::wiring::{self, CLIENT, SERVER, Side, Wired};

/// RFC 8200 §5.
const LEAST_MTU: u16 = 1280;
const MOST_DELAY: Duration = Duration::from_mins(1);

/// See [`Path::builder`]. Without further words: no delay, an MTU of 1500 bytes, nothing lost.
#[derive(Clone, Debug)]
pub struct Builder {
    up: Link,
    down: Link,
    mtu: u16,
    strip_fast_open: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            up: Link::default(),
            down: Link::default(),
            mtu: 1500,
            strip_fast_open: false,
        }
    }
}

impl Builder {
    /// The round-trip time, half of it each way.
    #[must_use]
    pub fn rtt(self, rtt: Duration) -> Self {
        let up = rtt / 2;
        self.delay(up, rtt.saturating_sub(up))
    }

    /// The delay from client to server, and from server to client.
    #[must_use]
    pub fn delay(mut self, up: Duration, down: Duration) -> Self {
        self.up.delay = up;
        self.down.delay = down;
        self
    }

    /// The longest IP packet, from 1280 bytes on; both interfaces know it.
    #[must_use]
    pub fn mtu(mut self, mtu: u16) -> Self {
        self.mtu = mtu;
        self
    }

    /// Loses the `n`-th packet of a direction, counted from 1. May be said several times.
    #[must_use]
    pub fn drop_nth(mut self, direction: Direction, n: u64) -> Self {
        match direction {
            Direction::Up => self.up.lost.insert(n),
            Direction::Down => self.down.lost.insert(n),
        };
        self
    }

    /// Puts a box in the way that takes the fast-open option out of SYN and SYN-ACK.
    #[must_use]
    pub fn strip_fast_open(mut self, strip: bool) -> Self {
        self.strip_fast_open = strip;
        self
    }

    /// Makes the namespaces, wires them, starts the relay. What is returned carries packets already.
    pub fn build(self) -> Result<Path, Error> {
        self.check()?;
        let (keeper, estate) = Keeper::start()?;
        let wired = wiring::wire(estate, self.mtu)?;
        let Wired {
            user,
            client,
            server,
            relay: relay_network,
            taps,
        } = wired;
        let up = self.route(&self.up, SERVER);
        let down = self.route(&self.down, CLIENT);
        let relay = Relay::start(taps, up, down).map_err(|source| Error::Setup {
            step: Step::StartRelay,
            source,
        })?;
        let user = user.map(Arc::new);
        Ok(Path {
            _keeper: keeper,
            client: Namespace::new(CLIENT, user.clone(), client),
            server: Namespace::new(SERVER, user, server),
            relay,
            _relay_network: relay_network,
        })
    }

    fn check(&self) -> Result<(), Error> {
        if self.mtu < LEAST_MTU {
            return Err(Error::Mtu(self.mtu));
        }
        for link in [&self.up, &self.down] {
            if link.lost.contains(&0) {
                return Err(Error::PacketZero);
            }
            if link.delay > MOST_DELAY {
                return Err(Error::Delay(link.delay));
            }
        }
        Ok(())
    }

    fn route(&self, link: &Link, to: Side) -> Route {
        let mut boxes: Vec<Box<dyn Middlebox>> = Vec::new();
        if self.strip_fast_open {
            boxes.push(Box::new(StripFastOpen));
        }
        Route {
            link: link.clone(),
            boxes,
            destination: to.mac,
            mtu: self.mtu,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_round_trip_goes_each_way_and_nothing_is_lost_to_rounding() {
        let builder = Path::builder().rtt(Duration::from_nanos(5));
        assert_eq!(
            builder.up.delay + builder.down.delay,
            Duration::from_nanos(5)
        );
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_is_made() {
        assert!(matches!(
            Path::builder().mtu(1279).build(),
            Err(Error::Mtu(1279))
        ));
        let zeroth = Path::builder().drop_nth(Direction::Down, 0);
        assert!(matches!(zeroth.build(), Err(Error::PacketZero)));
        let long = Path::builder().rtt(Duration::from_secs(121));
        assert!(matches!(long.build(), Err(Error::Delay(_))));
    }
}
