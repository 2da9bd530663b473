//! A relay between a client and a server. It can change its port towards the server, as a NAT does,
//! and can switch to another server without the client seeing it.

use std::cell::{Cell, RefCell};
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub(super) struct Relay {
    pub(super) at: SocketAddr,
    state: Rc<State>,
    carrying: JoinHandle<()>,
}

struct State {
    to: Cell<SocketAddr>,
    /// Requests another local port for the traffic towards the server.
    rebind: Notify,
    rebound: Notify,
    /// A datagram from the client has gone to the server.
    carried: Notify,
    last_to_server: RefCell<Vec<u8>>,
}

impl Relay {
    pub(super) async fn start(to: SocketAddr) -> Self {
        let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let at = front.local_addr().unwrap();
        let state = Rc::new(State {
            to: Cell::new(to),
            rebind: Notify::new(),
            rebound: Notify::new(),
            carried: Notify::new(),
            last_to_server: RefCell::default(),
        });
        let carrying = tokio::task::spawn_local(carry(front, state.clone()));
        Self {
            at,
            state,
            carrying,
        }
    }

    pub(super) fn lead_to(&self, to: SocketAddr) {
        self.state.to.set(to);
    }

    /// Sends the client's datagrams from another port from now on.
    pub(super) async fn rebind(&self) {
        self.state.rebind.notify_one();
        self.state.rebound.notified().await;
    }

    /// Waits until the client's next datagram has gone to the server.
    pub(super) async fn carried(&self) {
        self.state.carried.notified().await;
    }

    pub(super) fn last_to_server(&self) -> Vec<u8> {
        self.state.last_to_server.borrow().clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.carrying.abort();
    }
}

async fn carry(front: UdpSocket, state: Rc<State>) {
    let bind = async || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (mut up, mut down) = ([0; 2000], [0; 2000]);
    let mut client = None;
    // Datagrams on their way to an old port are lost.
    let mut left = Vec::new();
    let mut back = bind().await;
    loop {
        tokio::select! {
            Ok((length, from)) = front.recv_from(&mut up) => {
                client = Some(from);
                let datagram = up.get(..length).unwrap_or_default();
                *state.last_to_server.borrow_mut() = datagram.to_vec();
                let _ = back.send_to(datagram, state.to.get()).await;
                state.carried.notify_waiters();
            }
            Ok((length, _)) = back.recv_from(&mut down) => {
                if let Some(client) = client {
                    let _ = front.send_to(&down[..length], client).await;
                }
            }
            () = state.rebind.notified() => {
                left.push(std::mem::replace(&mut back, bind().await));
                state.rebound.notify_one();
            }
        }
    }
}
