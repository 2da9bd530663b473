//! Tickets that servers send after the last answer of a script's run: the process ends, and a copy
//! of it, which has the connections, takes them.

use std::process;
use std::time::Duration;

use roundtrip_net::{Half, split};
use roundtrip_rdap::client::{Client, Reserve};
use tokio::time::{sleep, timeout};

/// What later runs should find. A run that begins at once takes a ticket before the next one
/// arrives; without a token, a server may hold back answers to early data for a round trip.
const RESERVE: Reserve = Reserve {
    tickets: 2,
    token: true,
};
/// The largest number of waits for the thread that read the list, which has nothing left to do.
const MAX_WAITS: u32 = 10;
const WAIT: Duration = Duration::from_millis(1);
/// The longest time until the tickets are there, and until the connections are closed.
const MAX_SETTLING: Duration = Duration::from_secs(3);
const MAX_CLOSING: Duration = Duration::from_secs(1);

/// Takes the tickets that are on their way, if later runs have few. Everything must have been
/// printed: this process ends here with `code`. If it cannot be split, the tickets are lost.
pub(super) async fn settle(client: &Client, code: u8) {
    // The kernel ends all processes of a container with its first.
    if process::id() == 1 || !client.is_awaiting_tickets(RESERVE) {
        return;
    }
    for _ in 0..MAX_WAITS {
        match split() {
            Ok(Half::Foreground) => process::exit(code.into()),
            Ok(Half::Background) => {
                client.settle(RESERVE, MAX_SETTLING).await;
                // The end of a search for tickets of HTTP/3.
                client.keep();
                let closing = client.pool().close();
                // The server notices a connection that was not closed by itself.
                let _ = timeout(MAX_CLOSING, closing).await;
                process::exit(0)
            }
            Err(_) => sleep(WAIT).await,
        }
    }
}
