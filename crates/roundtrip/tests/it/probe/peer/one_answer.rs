//! A server that always sends the same bytes, whatever they are: for answers that no correct server
//! gives.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::{ServerConnection, StreamOwned};

use super::{Authority, doh};
use crate::servers::{end, listen, one_answer};

pub(crate) struct OneAnswer {
    address: SocketAddr,
}

impl OneAnswer {
    /// Answers each connection's first request, then closes. Its thread ends with the test's
    /// process.
    pub(crate) fn start(answer: impl AsRef<[u8]>) -> Self {
        let address = one_answer(answer);
        Self { address }
    }

    /// Answers each connection's first request, and neither reads on nor closes.
    pub(crate) fn reading_no_more(answer: &'static str) -> Self {
        Self::serving(move |mut stream| {
            let _ = stream.read(&mut [0; 4096])?;
            stream.write_all(answer.as_bytes())?;
            loop {
                std::thread::park();
            }
        })
    }

    /// Answers over TLS, then closes. With `notifies`, close_notify comes before the end.
    pub(crate) fn over_tls(answer: &'static str, notifies: bool) -> Self {
        let config = Arc::new(doh::config(&Authority::issue(&["127.0.0.1"])));
        Self::serving(move |stream| {
            let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
            let mut tls = StreamOwned::new(connection, stream);
            let _ = tls.read(&mut [0; 4096])?;
            tls.write_all(answer.as_bytes())?;
            if notifies {
                tls.conn.send_close_notify();
            }
            tls.flush()?;
            end(tls.sock)
        })
    }

    fn serving(serve: impl Fn(TcpStream) -> io::Result<()> + Clone + Send + 'static) -> Self {
        let address = listen(serve);
        Self { address }
    }

    pub(crate) fn https(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}
