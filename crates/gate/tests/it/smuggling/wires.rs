//! The surroundings of gate in a test: the echo server behind other servers, and the recording
//! proxy between gate and the server.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, spawn_local};

use crate::smuggling::reader::{Kind, message};

/// The bytes of one connection from gate to the server.
#[derive(Debug, Default, Clone)]
pub(crate) struct RecordedBytes {
    pub(crate) up: Vec<u8>,
    pub(crate) down: Vec<u8>,
    pub(crate) over: bool,
}

/// Listens, and ends with the test.
pub(crate) async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Answers each request with how it was understood.
pub(crate) async fn echo() -> SocketAddr {
    let (listener, address) = listener().await;
    spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            spawn_local(tell(stream));
        }
    });
    address
}

async fn tell(mut stream: TcpStream) {
    let (mut buffer, mut invited) = (Vec::new(), false);
    loop {
        let body = match message(&buffer, Kind::Request) {
            Ok(Some((request, length))) => {
                buffer.drain(..length);
                invited = false;
                crate::smuggling::belief(&request)
            }
            Ok(None) => {
                if expects(&buffer) && !invited {
                    invited = true;
                    let _ = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
                }
                match stream.read_buf(&mut buffer).await {
                    Ok(1..) => continue,
                    _ => return,
                }
            }
            Err(why) => format!("not strict: {why}\n"),
        };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        if stream.write_all((head + &body).as_bytes()).await.is_err() {
            return;
        }
    }
}

/// A complete head that waits for 100 Continue.
fn expects(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let head = text.split_once("\r\n\r\n").map(|(head, _)| head);
    head.is_some_and(|head| head.contains("\r\nexpect: 100-continue"))
}

pub(crate) struct RecordingProxy {
    pub(crate) address: SocketAddr,
    noted: Rc<RefCell<Vec<RecordedBytes>>>,
    /// Gate has sent everything: its kept connections must end.
    done: watch::Sender<bool>,
    task: AbortHandle,
}

impl RecordingProxy {
    pub(crate) async fn before(server: SocketAddr) -> Self {
        let (listener, address) = listener().await;
        let noted = Rc::<RefCell<Vec<RecordedBytes>>>::default();
        let all = noted.clone();
        let (done, end) = watch::channel(false);
        let task = spawn_local(async move {
            while let Ok((gate, _)) = listener.accept().await {
                let number = all.borrow().len();
                all.borrow_mut().push(RecordedBytes::default());
                let server = TcpStream::connect(server).await.unwrap();
                spawn_local(carry(gate, server, all.clone(), number, end.clone()));
            }
        });
        Self {
            address,
            noted,
            done,
            task: task.abort_handle(),
        }
    }

    /// The client has everything that it will get. Waits until the server has sent everything, too.
    pub(crate) async fn finish(self) -> Vec<RecordedBytes> {
        let _ = self.done.send(true);
        while self.noted.borrow().iter().any(|noted| !noted.over) {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        self.task.abort();
        self.noted.borrow().clone()
    }
}

/// When gate is done, the server gets a FIN, and may send the rest.
async fn carry(
    gate: TcpStream,
    server: TcpStream,
    all: Rc<RefCell<Vec<RecordedBytes>>>,
    number: usize,
    mut done: watch::Receiver<bool>,
) {
    let (mut from_gate, mut to_gate) = gate.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = async {
        let mut piece = [0; 4096];
        loop {
            let read = tokio::select! {
                biased;
                read = from_gate.read(&mut piece) => read,
                _ = done.wait_for(|done| *done) => break,
            };
            let Ok(length @ 1..) = read else { break };
            all.borrow_mut()[number]
                .up
                .extend_from_slice(&piece[..length]);
            let _ = to_server.write_all(&piece[..length]).await;
        }
        let _ = to_server.shutdown().await;
    };
    let down = async {
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = from_server.read(&mut piece).await {
            all.borrow_mut()[number]
                .down
                .extend_from_slice(&piece[..length]);
            let _ = to_gate.write_all(&piece[..length]).await;
        }
        let _ = to_gate.shutdown().await;
    };
    tokio::join!(up, down);
    all.borrow_mut()[number].over = true;
}
