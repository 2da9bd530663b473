//! A client that did not read what had arrived.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::OnceLock;

use tokio::io::AsyncReadExt;

use super::*;
use crate::SystemClock;

fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    sys::set_receive_stamps(&ours).unwrap();
    (ours, theirs)
}

/// Waits until the kernel stamps what arrives: it begins some time after a socket asks for that,
/// and stops after the last such socket is closed. This one stays open.
fn await_stamps() {
    static STAMPED: OnceLock<(TcpStream, TcpStream)> = OnceLock::new();
    STAMPED.get_or_init(|| {
        let (ours, mut theirs) = connection();
        let mut is_stamped = || {
            theirs.write_all(&[7]).unwrap();
            sys::receive(&ours, &mut [0], false).is_ok_and(|(_, stamp)| stamp.is_some())
        };
        while !is_stamped() {
            std::thread::sleep(Duration::from_millis(1));
        }
        (ours, theirs)
    });
}

fn pair() -> (Socket, TcpStream, Recorder) {
    await_stamps();
    let (ours, theirs) = connection();
    ours.set_nonblocking(true).unwrap();
    let recorder = Recorder::new(Arc::new(SystemClock::start()));
    let facts = FastOpenFacts::default();
    let throttling = Throttling::watch();
    let socket = Socket::new(ours.into(), recorder.clone(), false, facts, throttling);
    (socket.unwrap(), theirs, recorder)
}

/// The peer has more to send than the receive window takes while nothing is read.
#[tokio::test]
async fn a_window_that_closed_because_nobody_read_is_noticed() {
    let (mut socket, mut theirs, recorder) = pair();
    let sender = std::thread::spawn(move || theirs.write_all(&vec![7; 32 << 20]));
    let mut piece = [0; 5_000];
    let longest = || {
        let timeline = recorder.snapshot();
        let closed = timeline.iter().filter_map(|(_, event)| match event {
            Event::WindowClosed { took } => Some(*took),
            _ => None,
        });
        closed.max().unwrap_or_default()
    };
    socket.read_exact(&mut piece).await.unwrap();
    assert!(longest().is_zero());
    let unread = Duration::from_millis(300);
    std::thread::sleep(unread);
    socket.read_exact(&mut piece).await.unwrap();
    let took = longest();
    assert!(took > unread / 10 && took <= 10 * unread, "{took:?}");
    drop(socket);
    assert!(sender.join().unwrap().is_err());
}

/// The process is stopped between two reads that both find data.
#[tokio::test]
async fn a_client_that_stops_in_the_middle_of_a_body_is_noticed() {
    let (mut socket, mut theirs, recorder) = pair();
    theirs.write_all(&[7; 16_000]).unwrap();
    let mut piece = [0; 5_000];
    socket.read_exact(&mut piece).await.unwrap();
    let stopped = Duration::from_millis(60);
    std::thread::sleep(stopped);
    socket.read_exact(&mut piece).await.unwrap();
    socket.read_exact(&mut piece).await.unwrap();
    let timeline = recorder.snapshot();
    let starved: Vec<Duration> = timeline
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Starved { took, .. } => Some(*took),
            _ => None,
        })
        .collect();
    let longest = starved.iter().max();
    assert!(
        longest.is_some_and(|took| *took >= stopped / 2),
        "{starved:?}"
    );
}
