//! One connection: commands are pipelined, answers come back in order, and the server's pushes go
//! to the connection's watcher. A connection that violates the protocol or misses a deadline is
//! closed.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use roundtrip_wire::resp::{Decoder, Value, command};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::socket::Bytes;
use crate::StoreError;

const PIECE: usize = 16 * 1024;
/// The largest number of outstanding answers.
const MAX_WAITING: usize = 16 * 1024;

/// One open connection. Dropping it closes the connection.
pub(super) struct Link {
    wire: Rc<Wire>,
    answer: Duration,
    /// Whether the server reports changes.
    pub(super) pushes: Cell<bool>,
    /// The server's replication id when it was last asked.
    pub(super) term: RefCell<Option<Vec<u8>>>,
    task: JoinHandle<()>,
}

struct Wire {
    out: RefCell<Vec<u8>>,
    waiting: RefCell<VecDeque<oneshot::Sender<Value>>>,
    /// Signals that there is something to write, or that the connection is closed.
    wake: Notify,
    broken: RefCell<Option<StoreError>>,
    watcher: Rc<dyn LinkWatcher>,
}

/// Receives a connection's pushes, in order with its answers.
pub(super) trait LinkWatcher {
    fn pushed(&self, items: Vec<Value>);

    /// Called once, when the connection has ended.
    fn lost(&self);
}

impl Link {
    pub(super) fn new(
        stream: Box<dyn Bytes>,
        answer: Duration,
        watcher: Rc<dyn LinkWatcher>,
    ) -> Self {
        let wire = Rc::new(Wire {
            out: RefCell::default(),
            waiting: RefCell::default(),
            wake: Notify::new(),
            broken: RefCell::default(),
            watcher,
        });
        let (reading, writing) = tokio::io::split(stream);
        let carrier = wire.clone();
        let task = tokio::task::spawn_local(async move {
            let error = carrier.carry(reading, writing, answer).await;
            carrier.give_up(error);
        });
        Self {
            wire,
            answer,
            pushes: Cell::new(false),
            term: RefCell::default(),
            task,
        }
    }

    pub(super) fn broken(&self) -> Option<StoreError> {
        self.wire.broken.borrow().clone()
    }

    pub(super) async fn ask(&self, parts: &[&[u8]]) -> Result<Value, StoreError> {
        let waiter = self.send(parts)?;
        self.wait(waiter).await
    }

    /// Sends several commands in one write. Each follows `ASKING` if the server is only about to
    /// get their slot.
    pub(super) async fn ask_all(
        &self,
        commands: &[&[&[u8]]],
        asking: bool,
    ) -> Result<Vec<Value>, StoreError> {
        let mut waiters = Vec::with_capacity(commands.len());
        for command in commands {
            let before = asking.then(|| self.send(&[b"ASKING"])).transpose()?;
            waiters.push((before, self.send(command)?));
        }
        let mut answers = Vec::with_capacity(commands.len());
        for (before, waiter) in waiters {
            if let Some(before) = before {
                self.wait(before).await?;
            }
            answers.push(self.wait(waiter).await?);
        }
        Ok(answers)
    }

    /// Sends a command whose only answers are pushes.
    pub(super) fn tell(&self, parts: &[&[u8]]) {
        command(parts, &mut self.wire.out.borrow_mut());
        self.wire.wake.notify_one();
    }

    pub(super) fn give_up(&self, error: StoreError) {
        self.wire.give_up(error);
    }

    fn send(&self, parts: &[&[u8]]) -> Result<oneshot::Receiver<Value>, StoreError> {
        if let Some(error) = self.broken() {
            return Err(error);
        }
        let mut waiting = self.wire.waiting.borrow_mut();
        if waiting.len() >= MAX_WAITING {
            return Err(StoreError::down(
                "too many requests are waiting for an answer",
            ));
        }
        let (answered, waiter) = oneshot::channel();
        waiting.push_back(answered);
        command(parts, &mut self.wire.out.borrow_mut());
        self.wire.wake.notify_one();
        Ok(waiter)
    }

    async fn wait(&self, waiter: oneshot::Receiver<Value>) -> Result<Value, StoreError> {
        match timeout(self.answer, waiter).await {
            Ok(Ok(value)) => Ok(value.bare()),
            Ok(Err(_)) => {
                let gone = || StoreError::down("the connection is gone");
                Err(self.broken().unwrap_or_else(gone))
            }
            Err(_) => {
                let late = StoreError::TimedOut { what: "answer" };
                self.wire.give_up(late.clone());
                Err(late)
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Wire {
    /// Carries requests and answers until the connection ends, and returns why it ended.
    async fn carry(
        &self,
        mut reading: ReadHalf<Box<dyn Bytes>>,
        mut writing: WriteHalf<Box<dyn Bytes>>,
        deadline: Duration,
    ) -> StoreError {
        let mut decoder = Decoder::default();
        let mut piece = vec![0; PIECE];
        loop {
            tokio::select! {
                read = reading.read(&mut piece) => match read {
                    Ok(0) => return StoreError::down("it closed the connection"),
                    Ok(n) => {
                        decoder.feed(piece.get(..n).unwrap_or_default());
                        if let Err(error) = self.take(&mut decoder) {
                            return error;
                        }
                    }
                    Err(error) => return StoreError::io("reading", error),
                },
                () = self.wake.notified() => {
                    if let Some(error) = self.broken.borrow().clone() {
                        return error;
                    }
                    let out = std::mem::take(&mut *self.out.borrow_mut());
                    let write = async {
                        writing.write_all(&out).await?;
                        writing.flush().await
                    };
                    match timeout(deadline, write).await {
                        Ok(Ok(())) => {}
                        Ok(Err(error)) => return StoreError::io("writing", error),
                        Err(_) => return StoreError::TimedOut { what: "accept a request" },
                    }
                }
            }
        }
    }

    fn take(&self, decoder: &mut Decoder) -> Result<(), StoreError> {
        while let Some(value) = decoder.next_value().map_err(StoreError::Protocol)? {
            if let Value::Push(items) = value {
                self.watcher.pushed(items);
                continue;
            }
            let Some(waiter) = self.waiting.borrow_mut().pop_front() else {
                return Err(StoreError::down("it sent an answer without a request"));
            };
            // The caller can be gone.
            let _ = waiter.send(value);
        }
        Ok(())
    }

    /// Called once: all waiting callers get the error, and answers from this connection can no
    /// longer be trusted to be current.
    fn give_up(&self, error: StoreError) {
        let mut broken = self.broken.borrow_mut();
        if broken.is_some() {
            return;
        }
        *broken = Some(error);
        drop(broken);
        self.waiting.borrow_mut().clear();
        self.wake.notify_one();
        self.watcher.lost();
    }
}
