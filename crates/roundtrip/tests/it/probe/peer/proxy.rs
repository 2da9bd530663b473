//! A small HTTP proxy: CONNECT and absolute-form, with or without a password.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use crate::servers::listen;

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// With `token`, requests without it are answered 407. Its thread ends with the test's process.
    pub(crate) fn start(token: Option<&'static str>) -> Self {
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = heads.clone();
        let address = listen(move |stream| serve(stream, token, &seen));
        Self { address, heads }
    }

    /// The heads of the requests that it received.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(mut client: TcpStream, token: Option<&str>, seen: &Mutex<Vec<String>>) -> io::Result<()> {
    let head = read_head(&mut client)?;
    seen.lock().unwrap().push(head.clone());
    let lower = head.to_lowercase();
    let shown =
        |token: &str| lower.contains(&format!("proxy-authorization: {}", token.to_lowercase()));
    if !token.is_none_or(shown) {
        let answer = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\n\
                      Content-Length: 0\r\nConnection: close\r\n\r\n";
        return client.write_all(answer.as_bytes());
    }
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    if method == "CONNECT" {
        let server = TcpStream::connect(target)?;
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        return splice(client, server);
    }
    let rest = target.strip_prefix("http://").unwrap_or(target);
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut server = TcpStream::connect(authority)?;
    server.write_all(head.replacen(target, &format!("/{path}"), 1).as_bytes())?;
    splice(client, server)
}

fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && head.len() < 64 * 1024 {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Copies in both directions until both sides are done.
fn splice(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut up_from, mut up_to) = (client.try_clone()?, server.try_clone()?);
    let up = std::thread::spawn(move || {
        let _ = io::copy(&mut up_from, &mut up_to);
        let _ = up_to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (server, client);
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
    let _ = up.join();
    Ok(())
}
