//! Describes an emulated path and checks the description before anything is created.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::course::Course;
use crate::direction::Direction;
use crate::error::PathError;
use crate::link::{Link, Loss};
use crate::middlebox::Middlebox;
use crate::names::{self, HostNames};
use crate::namespace::Namespace;
use crate::path::Path;
use crate::reaper::Reaper;
use crate::recording::Recording;
use crate::relay::{Relay, RelayConfig};
use crate::section::{self, HopContext, PathSection};
use crate::side::{CLIENT, SERVER, WireKind};
use crate::step::SetupStep;
use crate::syscall::time;
use crate::wiring::{self, WiredNamespaces, WiringConfig};

/// The smallest MTU that IPv6 allows, in bytes (RFC 8200 §5).
const MIN_MTU: u16 = 1280;
/// The largest one-way delay of a link: more than any path needs, and far from overflowing a clock.
const MAX_DELAY: Duration = Duration::from_mins(1);

/// Describes a path; see [`Path::builder`]. By default there is no delay, no loss, and an MTU of
/// 1500 bytes.
#[derive(Clone, Debug)]
pub struct Builder {
    /// The sections in order from the client to the server; never empty.
    sections: Vec<PathSection>,
    mtu: u16,
    seed: u64,
    offload: bool,
    wires: WireKind,
    bare: bool,
    record: Option<PathBuf>,
    names: Vec<String>,
    name_server: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            sections: vec![PathSection::default()],
            mtu: 1500,
            seed: 0,
            offload: false,
            wires: WireKind::default(),
            bare: false,
            record: None,
            names: Vec::new(),
            name_server: false,
        }
    }
}

impl Path {
    /// Begins the description of a path.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// Sets the round-trip time; each direction gets half of it.
    #[must_use]
    pub fn rtt(self, rtt: Duration) -> Self {
        let up = rtt / 2;
        self.delay(up, rtt.saturating_sub(up))
    }

    /// Sets the delay from client to server, and from server to client.
    #[must_use]
    pub fn delay(mut self, up: Duration, down: Duration) -> Self {
        let links = &mut self.current().link;
        (links.up.delay, links.down.delay) = (up, down);
        self
    }

    /// Sets the MTU of both interfaces: the longest IP packet in bytes, at least 1280.
    #[must_use]
    pub fn mtu(mut self, mtu: u16) -> Self {
        self.mtu = mtu;
        self
    }

    /// Loses the `n`-th packet of a direction, counted from 1. Can be called several times.
    #[must_use]
    pub fn drop_nth(self, direction: Direction, n: u64) -> Self {
        self.link(direction, |link| link.loss.push(Loss::Numbers([n].into())))
    }

    /// Changes one direction of the current link.
    #[must_use]
    pub fn link(mut self, direction: Direction, change: impl FnOnce(&mut Link)) -> Self {
        change(self.current().link.get_mut(direction));
        self
    }

    /// Adds a middlebox on the client's side of the current link.
    #[must_use]
    pub fn middlebox(mut self, middlebox: Middlebox) -> Self {
        self.current().boxes.push(middlebox);
        self
    }

    /// Adds another section towards the server. Later calls describe that section.
    #[must_use]
    pub fn then(mut self) -> Self {
        self.sections.push(PathSection::default());
        self
    }

    /// Seeds all random choices: with the same seed, the same packets are lost.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Leaves segmentation to the interfaces at both ends, as on real machines. Fewer and larger
    /// packets then cross the path, which a real path would never see. Cannot be combined with
    /// boxes that change packets.
    #[must_use]
    pub fn offload(mut self, offload: bool) -> Self {
        self.offload = offload;
        self
    }

    /// Connects both ends by TAP devices instead of veth pairs, which requires access to
    /// `/dev/net/tun`. This needs no packet sockets, but is less exact: the kernel does not
    /// timestamp arrivals.
    #[must_use]
    pub fn tun(mut self, tun: bool) -> Self {
        self.wires = if tun { WireKind::Tun } else { WireKind::Veth };
        self
    }

    /// Connects both ends with only a veth pair, so that measurements of processor cost contain
    /// only the kernel's work. Without a relay there is no delay, loss, rate, box or recording:
    /// requesting one of these is [`PathError::Bare`], and [`Path::counters`] stay at 0.
    ///
    /// With [`Builder::offload`] the interfaces keep the kernel's defaults: TCP super-segments and
    /// `UDP_SEGMENT` batches cross whole. Without it, every packet that crosses is a real segment:
    /// the stack cuts both just above the interface, and nothing joins them again. Checksums are
    /// never computed, because the wire cannot damage anything.
    #[must_use]
    pub fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    /// Records both ends as pcapng, with comments that say what the path did to each packet.
    /// [`Path::close`] reports whether the whole recording could be written.
    #[must_use]
    pub fn record(mut self, file: impl Into<PathBuf>) -> Self {
        self.record = Some(file.into());
        self
    }

    /// Adds a name of the server inside the path, in addition to
    /// [`SERVER_NAMES`](crate::SERVER_NAMES).
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Makes commands inside send name queries to port 53 of the server's address; the caller has
    /// to run a name server there. By default names are in `/etc/hosts` and cost no time.
    #[must_use]
    pub fn name_server(mut self, asked: bool) -> Self {
        self.name_server = asked;
        self
    }

    /// The sum of all link delays, there and back: the shortest time for a small packet and its
    /// answer.
    pub fn round_trip(&self) -> Duration {
        self.delay_of(Direction::Up) + self.delay_of(Direction::Down)
    }

    /// Creates the namespaces, wires them and starts the relay. The path carries packets when this
    /// returns.
    pub fn build(self) -> Result<Path, PathError> {
        self.check()?;
        let setting = HopContext {
            seed: self.seed,
            start: time::monotonic(),
        };
        let stations = section::stations(&self.sections, setting).map_err(PathError::Middlebox)?;
        let recording = self.start_recording()?;
        let manner = self.manner();
        let (reaper, estate) = Reaper::start(manner.wires)?;
        let wired = match manner.wires {
            WireKind::Bare => wiring::bare::wire(estate, manner)?,
            WireKind::Veth | WireKind::Tun => wiring::wire(estate, manner)?,
        };
        let WiredNamespaces {
            user,
            client,
            server,
            relay: relay_network,
            taps,
        } = wired;
        let plan = RelayConfig {
            course: Course::new(stations),
            mtu: self.mtu,
            least_delay: self.least_delay(),
            offload: self.offload,
            recording,
        };
        let start = |taps| Relay::start(taps, plan).map_err(wiring::at(SetupStep::StartRelay));
        let relay = taps.map(start).transpose()?;
        let user = user.map(Arc::new);
        let names = Arc::new(HostNames::new(&self.names, self.name_server));
        Ok(Path {
            uplink: None,
            _reaper: reaper,
            client: Namespace::new(CLIENT, user.clone(), client, Arc::clone(&names)),
            server: Namespace::new(SERVER, user, server, names),
            relay,
            mtu: self.mtu,
            record: self.record,
            _relay_network: relay_network,
        })
    }

    /// The section that is being described: the last one.
    pub(crate) fn current(&mut self) -> &mut PathSection {
        if self.sections.is_empty() {
            self.sections.push(PathSection::default());
        }
        let last = self.sections.len() - 1;
        &mut self.sections[last]
    }

    fn manner(&self) -> WiringConfig {
        WiringConfig {
            wires: if self.bare {
                WireKind::Bare
            } else {
                self.wires
            },
            mtu: self.mtu,
            offload: self.offload,
        }
    }

    /// The smaller of the two one-way delays.
    fn least_delay(&self) -> Duration {
        self.delay_of(Direction::Up)
            .min(self.delay_of(Direction::Down))
    }

    fn delay_of(&self, way: Direction) -> Duration {
        let links = self.sections.iter().map(|section| section.link.get(way));
        links.map(|link| link.delay).sum()
    }

    pub(crate) fn set_mtu(&mut self, mtu: u16) -> Result<(), PathError> {
        self.mtu = mtu;
        check_mtu(mtu)
    }

    fn start_recording(&self) -> Result<Option<Recording>, PathError> {
        let create = |file: &PathBuf| {
            Recording::create(file).map_err(|source| PathError::Recording {
                file: file.clone(),
                source,
            })
        };
        self.record.as_ref().map(create).transpose()
    }

    fn check(&self) -> Result<(), PathError> {
        check_mtu(self.mtu)?;
        if let Some(name) = self.names.iter().find(|name| !names::is_name(name)) {
            return Err(PathError::Name(name.clone()));
        }
        let mut looks_into_segments = false;
        for section in &self.sections {
            looks_into_segments |= !section.boxes.is_empty();
            for link in [&section.link.up, &section.link.down] {
                // A link with a smaller MTU would treat a super-segment as one packet that is too
                // long.
                looks_into_segments |= link.mtu.is_some();
                let zeroth = |loss: &Loss| matches!(loss, Loss::Numbers(all) if all.contains(&0));
                if link.loss.iter().any(zeroth) {
                    return Err(PathError::PacketZero);
                }
                if link.delay > MAX_DELAY {
                    return Err(PathError::Delay(link.delay));
                }
            }
        }
        if self.bare {
            self.check_bare()?;
        }
        if self.offload && looks_into_segments {
            return Err(PathError::OffloadWithBoxes);
        }
        Ok(())
    }

    /// Rejects every property that needs a relay.
    fn check_bare(&self) -> Result<(), PathError> {
        let any = |is: fn(&PathSection) -> bool| self.sections.iter().any(is);
        let plain = Link::default();
        let mut links = self
            .sections
            .iter()
            .flat_map(|section| [Direction::Up, Direction::Down].map(|way| section.link.get(way)));
        let wanted = [
            (any(|section| !section.boxes.is_empty()), "a middlebox"),
            (
                links.any(|link| *link != plain),
                "delay, loss, a rate or the like",
            ),
            (self.sections.len() > 1, "a second link"),
            (self.record.is_some(), "a recording"),
            (self.wires == WireKind::Tun, "a TAP device"),
        ];
        let first = wanted.into_iter().find(|(is_wanted, _)| *is_wanted);
        first.map_or(Ok(()), |(_, what)| Err(PathError::Bare(what)))
    }
}

fn check_mtu(mtu: u16) -> Result<(), PathError> {
    if mtu < MIN_MTU {
        return Err(PathError::Mtu(mtu));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_gets_half_the_round_trip_without_rounding_loss() {
        let mut builder = Path::builder().rtt(Duration::from_nanos(5));
        let links = &builder.current().link;
        assert_eq!(links.up.delay + links.down.delay, Duration::from_nanos(5));
    }

    #[test]
    fn words_say_what_methods_say() {
        let mut path = Path::builder();
        for (word, value) in [
            ("rtt", "90ms"),
            ("delay", "down:50ms"),
            ("loss", "up:1%"),
            ("loss", "nth:3"),
            ("rate", "20mbit"),
            ("middlebox", "strip-fast-open"),
            ("then", "rate=down:1mbit queue=50ms,codel"),
        ] {
            path.set(word, value).unwrap();
        }
        let [first, second] = &path.sections[..] else {
            panic!("two sections: {path:?}");
        };
        assert_eq!(first.link.up.delay, Duration::from_millis(45));
        assert_eq!(first.link.down.delay, Duration::from_millis(50));
        assert_eq!(
            (first.link.up.loss.len(), first.link.down.loss.len()),
            (2, 1)
        );
        assert_eq!(first.boxes.len(), 1);
        assert!(second.link.up.rate.is_none() && second.link.down.rate.is_some());
    }

    #[test]
    fn invalid_values_are_reported_with_their_word() {
        let mut path = Path::builder();
        for (word, value, part) in [
            ("speed", "9", "its properties are preset, rtt"),
            ("loss", "200%", "loss: `200%` is not a loss"),
            ("then", "rate", "WORD=VALUE"),
            ("then", "rate=fast", "then: rate: `fast` is not a rate"),
            ("mtu", "1279", "1280"),
            ("preset", "moon", "there is no network `moon`"),
        ] {
            let error = path.set(word, value).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_bare_wire_rejects_everything_that_needs_a_relay() {
        let refused = |change: fn(Builder) -> Builder| {
            let refusal = change(Path::builder().bare()).check();
            refusal.err().map(|error| error.to_string())
        };
        assert_eq!(refused(|bare| bare.mtu(9000).offload(true).seed(1)), None);
        for (change, what) in [
            (
                (|bare| bare.rtt(Duration::from_millis(1))) as fn(Builder) -> Builder,
                "delay",
            ),
            (|bare| bare.drop_nth(Direction::Down, 1), "loss"),
            (
                |bare| bare.middlebox("strip-fast-open".parse().unwrap()),
                "a middlebox",
            ),
            (Builder::then, "a second link"),
            (|bare| bare.record("/nowhere"), "a recording"),
            (|bare| bare.tun(true), "a TAP device"),
        ] {
            let refusal = refused(change).unwrap_or_default();
            assert!(refusal.contains(what), "{what}: {refusal}");
        }
    }

    #[test]
    fn impossible_paths_are_refused_before_anything_is_made() {
        assert!(matches!(
            Path::builder().mtu(1279).build(),
            Err(PathError::Mtu(1279))
        ));
        let zeroth = Path::builder().drop_nth(Direction::Down, 0);
        assert!(matches!(zeroth.build(), Err(PathError::PacketZero)));
        let long = Path::builder().rtt(Duration::from_secs(121));
        assert!(matches!(long.build(), Err(PathError::Delay(_))));
        let meddled = Path::builder().middlebox("strip-fast-open".parse().unwrap());
        assert!(matches!(
            meddled.offload(true).build(),
            Err(PathError::OffloadWithBoxes)
        ));
        let mut narrow = Path::builder();
        narrow.set("hole", "1400").unwrap();
        assert!(matches!(
            narrow.offload(true).build(),
            Err(PathError::OffloadWithBoxes)
        ));
    }
}
