//! TLS 1.3 over TCP by rustls: the reference. The application's writes become records that leave in
//! one system call (`writev`); input is read in large pieces and inspected where it was decrypted.

use std::io::{self, BufRead, Read};
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

use super::channel::{BufferedSocket, Channel};
use super::lanes::{self, ChannelMaker};
use super::{Engine, Job, ListeningServer, SideReport};
use crate::error::{PerfError, PlanError};
use crate::identity::{self, ServerIdentity, Trust};
use crate::plan::ArmKnobs;

pub(super) struct TlsEngine;

/// Accepted connections.
pub(super) struct TlsAcceptor(Arc<ServerConfig>);

/// Opened connections.
pub(super) struct TlsConnector(Arc<ClientConfig>);

pub(super) struct TlsChannel {
    tls: Connection,
    line: BufferedSocket,
    /// Bytes that are decrypted, and not yet consumed.
    ready: usize,
}

impl Engine for TlsEngine {
    fn check(&self, _: &ArmKnobs) -> Result<(), PlanError> {
        Ok(())
    }

    fn listen(
        &self,
        at: SocketAddr,
        identity: &ServerIdentity,
        job: &Job,
    ) -> Result<Box<dyn ListeningServer>, PerfError> {
        let guests = TlsAcceptor(Arc::new(identity.server(job.knobs.cipher)?));
        lanes::listen(guests, at, job)
    }

    fn drive(&self, to: SocketAddr, trust: &Trust, job: &Job) -> Result<SideReport, PerfError> {
        let visits = TlsConnector(Arc::new(trust.client(job.knobs.cipher)?));
        lanes::drive(&visits, to, job)
    }
}

impl ChannelMaker for TlsAcceptor {
    type Channel = TlsChannel;

    fn open(&self, line: BufferedSocket) -> Result<TlsChannel, PerfError> {
        TlsChannel::shake(ServerConnection::new(self.0.clone())?.into(), line)
    }
}

impl ChannelMaker for TlsConnector {
    type Channel = TlsChannel;

    fn open(&self, line: BufferedSocket) -> Result<TlsChannel, PerfError> {
        let name = identity::server_name()?;
        TlsChannel::shake(ClientConnection::new(self.0.clone(), name)?.into(), line)
    }
}

impl TlsChannel {
    fn shake(mut tls: Connection, mut line: BufferedSocket) -> Result<Self, PerfError> {
        // A write is encrypted at once, however large it is.
        tls.set_buffer_limit(None);
        while tls.is_handshaking() {
            tls.complete_io(&mut line)
                .map_err(PerfError::io("the TLS handshake failed"))?;
        }
        Ok(Self {
            tls,
            line,
            ready: 0,
        })
    }

    fn flush_records(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.line)?;
        }
        Ok(())
    }

    /// Decrypts until there is plaintext, or the end.
    fn decrypt(&mut self) -> io::Result<()> {
        while self.ready == 0 && self.tls.read_tls(&mut self.line)? > 0 {
            let state = self.tls.process_new_packets().map_err(io::Error::other)?;
            self.ready = state.plaintext_bytes_to_read();
            if state.peer_has_closed() {
                break;
            }
        }
        Ok(())
    }
}

impl Channel for TlsChannel {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut self.tls.writer(), bytes)?;
        self.flush_records()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.tls.send_close_notify();
        self.flush_records()?;
        self.line.shut()
    }

    fn line(&self) -> &BufferedSocket {
        &self.line
    }
}

impl BufRead for TlsChannel {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.ready == 0 {
            // Records that arrived together with others are already decrypted.
            let state = self.tls.process_new_packets().map_err(io::Error::other)?;
            self.ready = state.plaintext_bytes_to_read();
            if state.peer_has_closed() && self.ready == 0 {
                return Ok(&[]);
            }
        }
        self.decrypt()?;
        match self.ready {
            0 => Ok(&[]),
            _ => self.tls.reader().into_first_chunk(),
        }
    }

    fn consume(&mut self, amount: usize) {
        self.tls.reader().consume(amount);
        self.ready = self.ready.saturating_sub(amount);
    }
}

impl Read for TlsChannel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let n = ready.len().min(into.len());
        if let (Some(to), Some(from)) = (into.get_mut(..n), ready.get(..n)) {
            to.copy_from_slice(from);
        }
        self.consume(n);
        Ok(n)
    }
}
