//! Starts and stops the echo service without HTTP and TLS. `echo` serves its connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use roundtrip_net::{Listening, listen};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::site::OriginState;
use crate::tcp::{self, ListenerContext, ListenerRole};
use crate::{EchoKnobs, Knobs, OriginCounters, OriginError, Stats};

const MAX_CONNECTIONS: usize = 4096;
const BACKLOG: u32 = 1024;

/// The echo service alone, without HTTP and TLS. Dropping it stops it.
#[derive(Debug)]
pub struct Echo {
    pub address: SocketAddr,
    counters: Arc<OriginCounters>,
    task: JoinHandle<()>,
}

impl Echo {
    /// Starts on the current tokio runtime.
    pub fn start(knobs: &EchoKnobs) -> Result<Self, OriginError> {
        let wanted = SocketAddr::new(knobs.bind, knobs.port);
        let failed = |source: io::Error| OriginError::Listen {
            address: knobs.bind,
            port: knobs.port,
            source,
        };
        let how = Listening {
            backlog: BACKLOG,
            fast_open: knobs.fast_open,
            ..Listening::default()
        };
        let listener = listen(wanted, &how).map_err(failed)?;
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let counters = Arc::new(OriginCounters::default());
        let context = ListenerContext {
            site: Arc::new(OriginState::new(&Knobs::default(), 0, counters.clone())),
            places: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            fast_open: knobs.fast_open > 0,
        };
        Ok(Self {
            address,
            counters,
            task: tokio::spawn(tcp::accept(listener, ListenerRole::Echo, context)),
        })
    }

    pub fn stats(&self) -> Stats {
        self.counters.snapshot()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.task.abort();
    }
}
