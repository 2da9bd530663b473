//! The backend of these tests: a page that tries things out, an echo that shows what gate made of a
//! request, and an event stream that sends the next event once the last one was seen.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use crate::process::TIMEOUT;

/// Its picture arrives once the script is done: until then the page is not loaded.
const PAGE: &str = r#"<!DOCTYPE html><html><head><title>gate</title><link rel="icon" href="data:,"></head>
<body><pre></pre><img src="/hold"><script>
const post = (path, body) => fetch(path, { method: "POST", body });
const events = seen => new Promise((done, failed) => {
  const source = new EventSource("/mine/events");
  source.onerror = () => failed("the stream broke after " + seen);
  source.onmessage = async event => {
    seen.push(event.data);
    if (seen.length < 3) return post("/mine/next", "");
    source.close();
    done(seen.join(" "));
  };
});
const run = async () => {
  const way = performance.getEntriesByType("navigation")[0].nextHopProtocol;
  const answer = await post("/mine/echo", "x".repeat(100000));
  const echo = await answer.text();
  const short = echo.replace("x".repeat(100000), "all of it");
  return `${way}: ${answer.status} ${short}; events ${await events([])}`;
};
run().catch(error => "failed: " + error).then(said => {
  document.querySelector("pre").textContent = said;
  return post("/mine/done", "");
});
</script></body></html>"#;

/// The state that requests of different connections share.
#[derive(Default)]
struct Stage {
    /// The number of events that were seen, and whether the script is done.
    said: Mutex<(u32, bool)>,
    changed: Condvar,
}

impl Stage {
    fn tell(&self, change: impl FnOnce(&mut (u32, bool))) {
        change(&mut self.said.lock().unwrap());
        self.changed.notify_all();
    }

    fn wait(&self, until: impl Fn(&(u32, bool)) -> bool) {
        let said = self.said.lock().unwrap();
        let waited = self
            .changed
            .wait_timeout_while(said, TIMEOUT, |s| !until(s));
        drop(waited.unwrap());
    }
}

struct Request {
    line: String,
    login: String,
    early: bool,
    body: String,
}

/// The page sets this cookie.
pub(crate) fn serve(listener: TcpListener, cookie: &str) {
    let stage = Arc::new(Stage::default());
    let page =
        format!("Content-Type: text/html\r\nSet-Cookie: {cookie}; Path=/; Secure; HttpOnly\r\n");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stage, page) = (stage.clone(), page.clone());
            thread::spawn(move || answer_all(stream.unwrap(), &stage, &page));
        }
    });
}

fn answer_all(stream: TcpStream, stage: &Stage, page: &str) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream) {
        if answer(stream.get_mut(), &request, stage, page).is_none() {
            return;
        }
    }
}

fn read(stream: &mut impl BufRead) -> Option<Request> {
    let mut request = Request {
        line: line(stream)?,
        login: "nobody".into(),
        early: false,
        body: String::new(),
    };
    let mut length = 0;
    loop {
        let field = line(stream)?;
        let Some((name, value)) = field.split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => value.clone_into(&mut request.login),
            "early-data" => request.early = true,
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    request.body = String::from_utf8(body).unwrap();
    Some(request)
}

fn line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    Some(line.strip_suffix("\r\n")?.to_owned())
}

fn answer(to: &mut impl Write, request: &Request, stage: &Stage, page: &str) -> Option<()> {
    let target = request.line.split(' ').nth(1)?;
    let path = target.split('?').next()?;
    match path {
        "/" => return whole(to, page, PAGE),
        "/mine/events" => return events(to, stage),
        "/mine/next" => stage.tell(|said| said.0 += 1),
        "/mine/done" => stage.tell(|said| said.1 = true),
        "/hold" => stage.wait(|said| said.1),
        _ => {}
    }
    let early = if request.early { "early" } else { "late" };
    let Request { login, body, .. } = request;
    let body = format!("{login} {early} {body}");
    whole(to, "Content-Type: text/plain\r\n", &body)
}

fn whole(to: &mut impl Write, fields: &str, body: &str) -> Option<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n");
    to.write_all([head.as_str(), body].concat().as_bytes()).ok()
}

fn events(to: &mut impl Write, stage: &Stage) -> Option<()> {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    to.write_all(head.as_bytes()).ok()?;
    for number in 1..=3 {
        stage.wait(|said| said.0 + 1 >= number);
        let event = format!("data: {number}\n\n");
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        to.write_all(chunk.as_bytes()).ok()?;
    }
    to.write_all(b"0\r\n\r\n").ok()
}
