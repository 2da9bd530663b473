//! A name server over HTTPS (RFC 8484) with fixed answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;

use roundtrip_wire::dns::{Data, Kind, Message, Rcode, Record};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::Authority;
use crate::servers::listen;

pub(crate) struct Doh {
    pub(crate) address: SocketAddr,
    pub(crate) authority: Authority,
}

impl Doh {
    /// Knows `name` at `address`, and no other name. Its thread ends with the test's process.
    pub(crate) fn start(name: &'static str, address: Ipv4Addr) -> Self {
        let authority = Authority::issue(&["localhost", "127.0.0.1"]);
        let config = Arc::new(config(&authority));
        let serve = move |stream| serve(stream, config.clone(), name, address);
        Self {
            address: listen(serve),
            authority,
        }
    }
}

pub(super) fn config(authority: &Authority) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let chain = CertificateDer::pem_slice_iter(authority.chain.as_bytes())
        .map(Result::unwrap)
        .collect();
    let key = PrivateKeyDer::from_pem_slice(authority.key.as_bytes()).unwrap();
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap()
}

fn serve(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    name: &str,
    address: Ipv4Addr,
) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(n) = line.to_lowercase().strip_prefix("content-length:") {
                length = n.trim().parse().map_err(std::io::Error::other)?;
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut query = vec![0; length];
        stream.read_exact(&mut query)?;
        let query = Message::parse(&query).map_err(std::io::Error::other)?;
        let answer = answer(&query, name, address)
            .encode()
            .map_err(std::io::Error::other)?;
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        stream
            .get_mut()
            .write_all(&[head.as_bytes(), &answer].concat())?;
    }
}

fn answer(query: &Message, name: &str, address: Ipv4Addr) -> Message {
    let question = &query.questions[0];
    let known = question.name.to_string().trim_end_matches('.') == name;
    let mut reply = query.reply(if known {
        Rcode::NO_ERROR
    } else {
        Rcode::NO_SUCH_NAME
    });
    let data = Data::A(address);
    if known && question.kind == Kind::A {
        reply.answers.push(Record {
            name: question.name.clone(),
            ttl: 60,
            data,
        });
    }
    reply
}
