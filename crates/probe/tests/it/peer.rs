//! Faulty peers of a few lines, at the server's end of the path. Their threads end with the test's
//! process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::scene::Scene;

/// Serves each connection on a separate thread.
pub(crate) fn peer(scene: &Scene, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let address = scene.path.server().address_v4();
    let serve = std::sync::Arc::new(serve);
    scene
        .path
        .server()
        .run(move || {
            let listener = TcpListener::bind((address, 0)).unwrap();
            let place = listener.local_addr().unwrap();
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let serve = serve.clone();
                    std::thread::spawn(move || serve(stream));
                }
            });
            place
        })
        .unwrap()
}

/// Answers each request on a connection with the same text, `late` after it.
pub(crate) fn answering(scene: &Scene, late: Duration, text: &'static str) -> SocketAddr {
    peer(scene, move |mut stream| {
        while read_head(&stream).is_some() {
            std::thread::sleep(late);
            if stream.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// The head of the next request, for requests without a body; `None` at the end.
pub(crate) fn read_head(stream: &TcpStream) -> Option<String> {
    let mut head = String::new();
    let mut reader = BufReader::new(stream);
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// Relays to `target` and holds back the first bytes that come from it.
pub(crate) fn hesitating(scene: &Scene, target: SocketAddr, hold: Duration) -> SocketAddr {
    peer(scene, move |client| {
        let server = TcpStream::connect(target).unwrap();
        for stream in [&client, &server] {
            stream.set_nodelay(true).unwrap();
        }
        let (up, down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        std::thread::spawn(move || pass(up, server, Duration::ZERO));
        pass(down, client, hold);
    })
}

/// A proxy whose tunnels all lead to `target`.
pub(crate) fn tunnelling(scene: &Scene, target: SocketAddr) -> SocketAddr {
    peer(scene, move |mut client| {
        if read_head(&client).is_none() {
            return;
        }
        let server = TcpStream::connect(target).unwrap();
        client.set_nodelay(true).unwrap();
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let (up, down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        std::thread::spawn(move || pass(up, server, Duration::ZERO));
        pass(down, client, Duration::ZERO);
    })
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut hold: Duration) {
    let mut buffer = vec![0; 32 * 1024];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        std::thread::sleep(std::mem::take(&mut hold));
        if to.write_all(&buffer[..n]).is_err() {
            return;
        }
    }
}
