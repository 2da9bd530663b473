//! From an arrival to a client that is served: is there room, may it speak, and which protocol.

use std::cell::RefCell;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::spawn_local;

use crate::GateError;
use crate::accept::connection_limits::Census;
use crate::accept::front;
use crate::accept::listener::{
    self, Entrance, Handshake, Incoming, Manner, Met, QuicArrival, QuicEntrance, Seed, Tally, Unmet,
};
use crate::accept::stream::Peer;
use crate::accept::thread::House;
use crate::config::Limits;
use crate::judge::sessions::Known;
use crate::record::{Arrival, Ledger, Limit, Protocol, Security, TlsHandshake};

type Serving = House<Known>;

/// What every connection of the thread may need.
pub(crate) struct Admission {
    house: Rc<Serving>,
    manner: RefCell<Rc<Manner>>,
    census: Arc<Census>,
}

impl Admission {
    pub(crate) fn new(house: Rc<Serving>, manner: Manner, census: Arc<Census>) -> Rc<Self> {
        Rc::new(Self {
            house,
            manner: RefCell::new(Rc::new(manner)),
            census,
        })
    }

    pub(crate) fn house(&self) -> &Rc<Serving> {
        &self.house
    }

    /// Of TLS sessions, as they are met now.
    pub(crate) fn single_use(&self) -> Tally {
        self.manner.borrow().tls.tally()
    }

    /// Those who arrive from now on are met in another manner.
    pub(crate) fn change(&self, manner: Manner) {
        *self.manner.borrow_mut() = Rc::new(manner);
    }

    pub(crate) async fn receive(
        self: Rc<Self>,
        entrance: Entrance,
        closing: watch::Receiver<bool>,
    ) {
        let mut closed = pin!(until_closed(closing));
        loop {
            let arrival = tokio::select! {
                biased;
                arrival = entrance.next() => arrival,
                () = &mut closed => return,
            };
            let this = self.clone();
            spawn_local(async move { this.admit(arrival).await });
        }
    }

    async fn admit(self: Rc<Self>, arrival: listener::Arrival) {
        let house = &self.house;
        let site = house.site();
        let _place = match self.census.admit(arrival.peer.ip(), &site.policy.limits) {
            Ok(place) => place,
            Err(limit) => return house.ledger.count(limit),
        };
        let _inside = house.enter();
        let manner = self.manner.borrow().clone();
        let met = match arrival.meet(&manner, site.policy.limits.head_time.0).await {
            Ok(met) => met,
            Err(unmet) => return count_unmet(&house.ledger, &unmet),
        };
        drop((site, manner));
        let peer = Peer {
            address: met.peer.ip(),
            secure: matches!(met.stream, Incoming::Secure(_)),
            resumed: met.facts.resumed,
        };
        house.ledger.connection(arrival_of(&met));
        // Each takes as much room as its protocol wants, and not as the largest one does.
        let serving: Pin<Box<dyn Future<Output = _>>> = match met.stream {
            Incoming::Clear(stream) => Box::pin(front::h1::serve(stream, peer, house)),
            Incoming::Secure(stream) if stream.is_h2() => {
                // Each step of its beginning would have a place for all of it.
                Box::pin(front::h2::serve(stream, peer, house))
            }
            Incoming::Secure(stream) => Box::pin(front::h1::serve(*stream, peer, house)),
        };
        // How a connection ended is in the entries of its exchanges.
        let _ = serving.await;
    }
}

impl Admission {
    pub(crate) fn open_quic(
        &self,
        socket: std::net::UdpSocket,
        limits: &Limits,
        seed: &Seed,
    ) -> Result<Rc<QuicEntrance>, GateError> {
        let tls = self.manner.borrow().tls.clone();
        QuicEntrance::open(socket, tls, limits, seed).map(Rc::new)
    }

    pub(crate) async fn receive_quic(
        self: Rc<Self>,
        entrance: Rc<QuicEntrance>,
        closing: watch::Receiver<bool>,
    ) {
        let mut closed = pin!(until_closed(closing));
        loop {
            let arrival = tokio::select! {
                biased;
                arrival = entrance.next() => arrival,
                () = &mut closed => return entrance.close().await,
            };
            let Some(arrival) = arrival else { return };
            let this = self.clone();
            spawn_local(async move { this.admit_quic(arrival).await });
        }
    }

    async fn admit_quic(self: Rc<Self>, arrival: QuicArrival) {
        let house = &self.house;
        let site = house.site();
        let _place = match self.census.admit(arrival.peer().ip(), &site.policy.limits) {
            Ok(place) => place,
            Err(limit) => {
                arrival.refuse();
                return house.ledger.count(limit);
            }
        };
        let _inside = house.enter();
        let met = match arrival.meet(site.policy.limits.head_time.0).await {
            Ok(met) => met,
            Err(unmet) => return count_unmet(&house.ledger, &unmet),
        };
        drop(site);
        let peer = Peer {
            address: met.peer.ip(),
            secure: true,
            resumed: met.facts.resumed,
        };
        house.ledger.connection(Arrival {
            protocol: Protocol::H3,
            security: security_of(met.facts),
            fast_open: false,
        });
        let confirmed = met.link.confirmed();
        let _ = front::h3::serve(met.link.clone(), confirmed, peer, house).await;
    }
}

/// Ends when the doors are to close; where nobody could say so any more, too.
async fn until_closed(mut closing: watch::Receiver<bool>) {
    let _ = closing.wait_for(|closed| *closed).await;
}

fn count_unmet(ledger: &Ledger, unmet: &Unmet) {
    match unmet {
        Unmet::TimedOut => ledger.count(Limit::HeadTime),
        Unmet::Tls(_) | Unmet::Quic(_) => ledger.count(TlsHandshake::Failed),
        Unmet::Proxy(_) | Unmet::Io(_) => {}
    }
}

fn arrival_of(met: &Met) -> Arrival {
    let (protocol, handshake) = match &met.stream {
        Incoming::Clear(_) => (Protocol::H1, None),
        Incoming::Secure(stream) => {
            let protocol = if stream.is_h2() {
                Protocol::H2
            } else {
                Protocol::H1
            };
            (protocol, Some(met.facts))
        }
    };
    Arrival {
        protocol,
        security: handshake.map_or(Security::Clear, security_of),
        fast_open: met.facts.fast_open,
    }
}

fn security_of(facts: Handshake) -> Security {
    Security::Tls {
        handshake: match (facts.early_data, facts.resumed) {
            (true, _) => TlsHandshake::Early,
            (_, true) => TlsHandshake::Resumed,
            _ => TlsHandshake::Full,
        },
        two_trips: facts.version == Some(rustls::ProtocolVersion::TLSv1_2),
    }
}
