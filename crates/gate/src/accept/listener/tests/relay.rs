//! A relay between a client and a server that can switch to another server while neither sees its
//! peer's address change.

use std::cell::Cell;
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
    /// The server that it leads to now has said something.
    answered: Notify,
}

impl Relay {
    pub(super) async fn start(to: SocketAddr) -> Self {
        let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let at = front.local_addr().unwrap();
        let state = Rc::new(State {
            to: Cell::new(to),
            answered: Notify::new(),
        });
        let carrying = tokio::task::spawn_local(carry(front, back, state.clone()));
        Self {
            at,
            state,
            carrying,
        }
    }

    pub(super) fn lead_to(&self, to: SocketAddr) {
        self.state.to.set(to);
    }

    /// Waits until the server says something.
    pub(super) async fn answered(&self) {
        self.state.answered.notified().await;
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.carrying.abort();
    }
}

async fn carry(front: UdpSocket, back: UdpSocket, state: Rc<State>) {
    let (mut up, mut down) = ([0; 2000], [0; 2000]);
    let mut client = None;
    loop {
        tokio::select! {
            Ok((length, from)) = front.recv_from(&mut up) => {
                client = Some(from);
                let _ = back.send_to(&up[..length], state.to.get()).await;
            }
            Ok((length, from)) = back.recv_from(&mut down) => {
                if let Some(client) = client {
                    let _ = front.send_to(&down[..length], client).await;
                }
                if from == state.to.get() {
                    state.answered.notify_waiters();
                }
            }
        }
    }
}
