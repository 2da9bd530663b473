//! A name server whose answers a test defines. It listens over UDP and TCP on one port of the
//! loopback.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};

use roundtrip_wire::dns::{Data, Kind, Message, Name, Rcode, Record};

/// One received query.
pub(crate) struct TimedAnswer {
    pub(crate) query: Message,
    pub(crate) over_tcp: bool,
    /// The number of queries before it.
    pub(crate) before: usize,
}

pub(crate) struct NameServer {
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<Vec<(String, Kind, bool)>>>,
}

type Answer = dyn Fn(&TimedAnswer) -> Vec<Vec<u8>> + Send + Sync;

impl NameServer {
    /// `answer` returns the messages for a query; with none, the server is silent. The threads end
    /// with the test's process.
    pub(crate) fn start(
        answer: impl Fn(&TimedAnswer) -> Vec<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let (udp, tcp) = sockets();
        let log = Arc::new(Mutex::new(Vec::new()));
        let server = Self {
            address: udp.local_addr().unwrap(),
            log: log.clone(),
        };
        let answer: Arc<Answer> = Arc::new(answer);
        let (log_tcp, answer_tcp) = (log.clone(), answer.clone());
        std::thread::spawn(move || over_udp(&udp, &log, answer.as_ref()));
        std::thread::spawn(move || over_tcp(&tcp, &log_tcp, answer_tcp.as_ref()));
        server
    }

    /// Answers each question with one message.
    pub(crate) fn replying(
        reply: impl Fn(&TimedAnswer) -> Message + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |asked| vec![reply(asked).encode().unwrap()])
    }

    /// The received queries: name, kind, and whether over TCP.
    pub(crate) fn log(&self) -> Vec<(String, Kind, bool)> {
        self.log.lock().unwrap().clone()
    }
}

/// Finds a port that is free for both.
fn sockets() -> (UdpSocket, TcpListener) {
    for _ in 0..50 {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) {
            return (udp, tcp);
        }
    }
    panic!("no port is free for both UDP and TCP");
}

fn respond(
    bytes: &[u8],
    over_tcp: bool,
    log: &Mutex<Vec<(String, Kind, bool)>>,
    answer: &Answer,
) -> Vec<Vec<u8>> {
    let query = Message::parse(bytes).unwrap();
    let question = &query.questions[0];
    let before = {
        let mut log = log.lock().unwrap();
        log.push((question.name.to_string(), question.kind, over_tcp));
        log.len() - 1
    };
    answer(&TimedAnswer {
        query,
        over_tcp,
        before,
    })
}

fn over_udp(socket: &UdpSocket, log: &Mutex<Vec<(String, Kind, bool)>>, answer: &Answer) {
    let mut buffer = [0; 4096];
    while let Ok((n, from)) = socket.recv_from(&mut buffer) {
        for message in respond(&buffer[..n], false, log, answer) {
            socket.send_to(&message, from).unwrap();
        }
    }
}

fn over_tcp(listener: &TcpListener, log: &Mutex<Vec<(String, Kind, bool)>>, answer: &Answer) {
    for mut stream in listener.incoming().flatten() {
        let mut length = [0; 2];
        if stream.read_exact(&mut length).is_err() {
            continue;
        }
        let mut query = vec![0; u16::from_be_bytes(length).into()];
        stream.read_exact(&mut query).unwrap();
        for message in respond(&query, true, log, answer) {
            let length = u16::try_from(message.len()).unwrap().to_be_bytes();
            let _ = stream.write_all(&[&length[..], &message].concat());
        }
    }
}

impl TimedAnswer {
    pub(crate) fn name(&self) -> String {
        self.query.questions[0].name.to_string()
    }

    pub(crate) fn kind(&self) -> Kind {
        self.query.questions[0].kind
    }

    /// An answer with these records.
    pub(crate) fn reply(&self, records: Vec<Record>) -> Message {
        Message {
            answers: records,
            ..self.query.reply(Rcode::NO_ERROR)
        }
    }

    pub(crate) fn refuse(&self, rcode: Rcode) -> Message {
        self.query.reply(rcode)
    }

    /// The addresses of a name with one of each family.
    pub(crate) fn addresses(&self, name: &str) -> Message {
        let records = match self.kind() {
            Kind::A => vec![record(name, 60, Data::A([192, 0, 2, 1].into()))],
            Kind::AAAA => vec![record(name, 30, Data::Aaaa("2001:db8::1".parse().unwrap()))],
            _ => Vec::new(),
        };
        self.reply(records)
    }
}

pub(crate) fn record(name: &str, ttl: u32, data: Data) -> Record {
    Record {
        name: parsed(name),
        ttl,
        data,
    }
}

pub(crate) fn parsed(name: &str) -> Name {
    name.parse().unwrap()
}
