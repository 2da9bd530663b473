//! When the datagrams of a UDP socket arrived, as the kernel stamped them, for a socket that somebody else reads.

use std::io;
use std::net::UdpSocket;

use roundtrip_model::Moment;

use crate::clock::Reading;
use crate::sys;

/// A look from the side: it takes nothing from the socket and leaves the reader's control messages alone.
#[derive(Debug)]
pub struct Stamps(UdpSocket);

impl Stamps {
    /// From now on the kernel stamps what arrives at `socket`.
    pub fn of(socket: &UdpSocket) -> io::Result<Self> {
        let socket = socket.try_clone()?;
        sys::last_stamp(&socket);
        Ok(Self(socket))
    }

    /// When the datagram arrived that will be read next, if one is there.
    pub fn next(&self, clock: impl Fn() -> Moment) -> Option<Moment> {
        sys::receive(&self.0, &mut [0], true).ok()?;
        self.last(clock)
    }

    /// When the datagram arrived that was read last.
    pub fn last(&self, clock: impl Fn() -> Moment) -> Option<Moment> {
        sys::last_stamp(&self.0).map(|stamp| Reading::of(clock).moment_of(stamp))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::thread::sleep;
    use std::time::Duration;

    use roundtrip_model::Clock;

    use super::*;
    use crate::SystemClock;

    #[test]
    fn a_datagram_read_late_still_has_its_time() {
        const PAUSE: Duration = Duration::from_millis(60);
        let clock = SystemClock::start();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stamps = Stamps::of(&socket).unwrap();
        assert_eq!(stamps.next(|| clock.now()), None);
        for _ in 0..2 {
            socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
            sleep(PAUSE);
        }
        let first = stamps.next(|| clock.now()).unwrap();
        for _ in 0..2 {
            assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 1);
        }
        let read = clock.now();
        let second = stamps.last(|| read).unwrap();
        assert!(second.since(first) >= PAUSE / 2, "{first:?} {second:?}");
        assert!(read.since(second) >= PAUSE / 2, "{second:?} {read:?}");
    }
}
