//! A server that always sends the same bytes, whatever they are: for answers that no proper server
//! gives.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

pub(crate) struct OneAnswer {
    address: SocketAddr,
}

impl OneAnswer {
    /// Answers each connection's first request, then closes. Its thread ends with the test's
    /// process.
    pub(crate) fn start(answer: impl AsRef<[u8]>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let answer = answer.as_ref().to_vec();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = answer.clone();
                std::thread::spawn(move || serve(stream, &answer));
            }
        });
        Self { address }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn serve(mut stream: TcpStream, answer: &[u8]) -> std::io::Result<()> {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request)?;
    stream.write_all(answer)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    // It waits for the client to close: a reset would overtake the answer.
    while stream.read(&mut request)? > 0 {}
    Ok(())
}
