//! Small servers on the loopback. Their threads end with the test's process.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Passes each connection to `serve`, on a separate thread.
pub(crate) fn listen<T>(serve: impl Fn(TcpStream) -> T + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    serve_on(listener, serve);
    address
}

/// Like [`listen`], on this listener.
pub(crate) fn serve_on<T>(
    listener: TcpListener,
    serve: impl Fn(TcpStream) -> T + Clone + Send + 'static,
) {
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || drop(serve(stream)));
        }
    });
}

/// Sends the same bytes on each connection once it has read something, and closes it.
pub(crate) fn one_answer(answer: impl AsRef<[u8]>) -> SocketAddr {
    let answer = answer.as_ref().to_vec();
    listen(move |mut stream| {
        let _ = stream.read(&mut [0; 4096])?;
        stream.write_all(&answer)?;
        end(stream)
    })
}

/// Waits for the client to close: a reset would overtake the answer.
pub(crate) fn end(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    while stream.read(&mut [0; 4096])? > 0 {}
    Ok(())
}

/// Answers the first request of each connection, one after the other, with what `answer` makes of
/// its head and its body.
pub(crate) fn answering<T: AsRef<[u8]>>(
    mut answer: impl FnMut(&str, &[u8]) -> T + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if let Some((head, body)) = read_request(&mut stream) {
                let _ = stream.write_all(answer(&head, &body).as_ref());
            }
        }
    });
    address
}

/// Reads a request: its head and its body. `None` if the connection ends before.
pub(crate) fn read_request(stream: &mut impl Read) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = field(&head, "content-length").and_then(|value| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// The value of a field of a head.
pub(crate) fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// An answer with this body.
pub(crate) fn ok(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}
