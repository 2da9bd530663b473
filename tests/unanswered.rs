//! A port that answers no SYN, as if packets were lost: the queue of its connections is full.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// The port answers no SYN as long as this exists.
pub(crate) struct Unanswered {
    pub(crate) address: SocketAddr,
    _socket: Socket,
    _queued: Vec<TcpStream>,
}

impl Unanswered {
    pub(crate) fn new() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        socket.bind(&any.into()).unwrap();
        socket.listen(0).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(200)).ok();
        let queued: Vec<TcpStream> = (0..10).map_while(|_| connect()).collect();
        assert!(queued.len() < 10);
        Self {
            address,
            _socket: socket,
            _queued: queued,
        }
    }
}
