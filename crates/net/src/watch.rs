//! A descriptor registered with the runtime, for callers that read it in their own way.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll};

use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};

use crate::sys;

/// Waits until there is something to read.
#[derive(Debug)]
pub struct Watch(AsyncFd<OwnedFd>);

impl Watch {
    /// Watches the same file, socket or timer as `descriptor`, on the current runtime.
    pub fn new(descriptor: &impl AsFd) -> io::Result<Self> {
        let same = descriptor.as_fd().try_clone_to_owned()?;
        sys::watch(same).map(Self)
    }

    /// Ready until the caller tells the guard that there was nothing to read. After that, the task
    /// is woken when there is something to read again.
    pub fn poll_readable(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'_, OwnedFd>>> {
        self.0.poll_read_ready(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::ready;
    use std::time::Duration;

    use super::*;
    use crate::Alarm;

    #[tokio::test]
    async fn it_is_ready_each_time_there_is_something_new() {
        let alarm = Alarm::new().unwrap();
        let watch = Watch::new(&alarm).unwrap();
        for _ in 0..3 {
            alarm.set(Duration::from_micros(50)).unwrap();
            poll_fn(|cx| {
                loop {
                    let mut guard = ready!(watch.poll_readable(cx)).unwrap();
                    if alarm.hear() {
                        return Poll::Ready(());
                    }
                    guard.clear_ready();
                }
            })
            .await;
        }
    }
}
