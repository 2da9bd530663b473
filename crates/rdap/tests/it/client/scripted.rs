//! A server of HTTP/1.1 in clear text that answers as a function says, and records the requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use roundtrip_model::Target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::scene::target;

type Answers = dyn Fn(&str, usize) -> Option<Vec<u8>> + Send + Sync;

pub(crate) struct Scripted {
    address: SocketAddr,
    /// Heads of requests, in order of arrival.
    heads: Arc<Mutex<Vec<String>>>,
}

/// An RDAP answer, with these additional header lines.
pub(crate) fn rdap(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/rdap+json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
}

pub(crate) fn domain(name: &str) -> String {
    let body = format!(r#"{{"objectClassName":"domain","ldhName":"{name}"}}"#);
    rdap("200 OK", "", &body)
}

impl Scripted {
    /// `answers` receives the request line and the number of earlier requests. An empty answer
    /// closes the connection.
    pub(crate) async fn start(
        answers: impl Fn(&str, usize) -> String + Send + Sync + 'static,
    ) -> Self {
        Self::start_bytes(move |line, before| answers(line, before).into_bytes()).await
    }

    pub(crate) async fn start_bytes(
        answers: impl Fn(&str, usize) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        Self::start_silent(move |line, before| Some(answers(line, before))).await
    }

    /// Without an answer, the server stays silent.
    pub(crate) async fn start_silent(
        answers: impl Fn(&str, usize) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            heads: Arc::default(),
        };
        let (heads, answers): (_, Arc<Answers>) = (server.heads.clone(), Arc::new(answers));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, heads.clone(), answers.clone()));
            }
        });
        server
    }

    pub(crate) fn base(&self) -> Target {
        target(&self.url())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The values of a field, one for each request; empty where it was not sent.
    pub(crate) fn fields(&self, name: &str) -> Vec<String> {
        let of = |head: &String| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            let found = lines.find(|(field, _)| field.eq_ignore_ascii_case(name));
            found.map_or_else(String::new, |(_, value)| value.to_owned())
        };
        self.heads().iter().map(of).collect()
    }
}

async fn serve(mut stream: TcpStream, heads: Arc<Mutex<Vec<String>>>, answers: Arc<Answers>) {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if !matches!(stream.read(&mut byte).await, Ok(1)) {
                return;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let before = {
            let mut heads = heads.lock().unwrap();
            heads.push(head.clone());
            heads.len() - 1
        };
        let Some(answer) = answers(head.lines().next().unwrap(), before) else {
            return std::future::pending().await;
        };
        if answer.is_empty() || stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}
