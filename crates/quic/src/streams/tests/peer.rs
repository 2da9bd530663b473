//! One end of a connection without packet protection: what it sends, and how it handles what comes.

use std::time::Duration;

use bytes::Bytes;
use roundtrip_wire::quic::{Frame, Frames, Parameters, Pen, Side};

use super::super::{Dir, Peek, ReadError, StreamEvent, StreamId, Streams};
use crate::Transport;
use crate::error::TransportError;
use crate::sent::{Chunk, SentFrame};

/// What one packet carried.
#[derive(Debug, Clone, Default)]
pub(super) struct Sent {
    pub(super) payload: Vec<u8>,
    pub(super) chunks: Vec<Chunk>,
    pub(super) items: Vec<SentFrame>,
}

pub(super) fn transport() -> Transport {
    Transport {
        stream_window: 1000,
        window: 2500,
        send_buffer: 4096,
        bidi_streams: 3,
        uni_streams: 2,
        max_ack_delay: Duration::ZERO,
        ..Transport::default()
    }
}

pub(super) fn parameters(transport: &Transport) -> Parameters {
    Parameters {
        initial_max_data: transport.window,
        initial_max_stream_data_bidi_local: transport.stream_window,
        initial_max_stream_data_bidi_remote: transport.stream_window,
        initial_max_stream_data_uni: transport.stream_window,
        initial_max_streams_bidi: transport.bidi_streams,
        initial_max_streams_uni: transport.uni_streams,
        ..Parameters::default()
    }
}

/// A client and a server that know each other's limits.
pub(super) fn pair(transport: &Transport) -> [Streams; 2] {
    [Side::Client, Side::Server].map(|side| {
        let mut streams = Streams::new(side, transport);
        streams.set_peer(&parameters(transport));
        streams
    })
}

/// The byte at an offset of what `writer` sends on a stream.
pub(super) fn byte(writer: Side, id: StreamId, offset: u64) -> u8 {
    let seed = offset ^ id.0 << 20 ^ u64::from(writer == Side::Server) << 40;
    (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

pub(super) fn bytes(writer: Side, id: StreamId, from: u64, count: usize) -> Bytes {
    (from..from + count as u64)
        .map(|offset| byte(writer, id, offset))
        .collect()
}

/// The next packet, if there is anything to send.
pub(super) fn send(streams: &mut Streams, room: usize) -> Option<Sent> {
    let mut buffer = vec![0xee; room];
    let mut pen = Pen::new(&mut buffer);
    let mut sent = Sent::default();
    streams.write_control(&mut pen, &mut sent.items);
    let wanted = streams.wants_to_send();
    while let Some(chunk) = streams.write_chunk(&mut pen) {
        sent.chunks.push(chunk);
    }
    assert!(wanted || sent.chunks.is_empty());
    sent.payload = pen.written().to_vec();
    (!sent.payload.is_empty()).then_some(sent)
}

pub(super) fn deliver(streams: &mut Streams, payload: &[u8]) -> Result<(), TransportError> {
    for frame in Frames::new(payload) {
        match frame.unwrap() {
            Frame::Padding(_) => {}
            Frame::Stream {
                id,
                offset,
                data,
                fin,
            } => streams.on_stream(id, offset, data, fin)?,
            Frame::ResetStream { id, code, size } => streams.on_reset(id, code, size)?,
            Frame::StopSending { id, code } => streams.on_stop_sending(id, code)?,
            Frame::MaxData(limit) => streams.on_max_data(limit),
            Frame::MaxStreamData { id, limit } => streams.on_max_stream_data(id, limit)?,
            Frame::MaxStreams { bidi, limit } => streams.on_max_streams(bidi, limit)?,
            Frame::DataBlocked(limit) => streams.on_data_blocked(limit),
            Frame::StreamDataBlocked { id, limit } => streams.on_stream_data_blocked(id, limit)?,
            Frame::StreamsBlocked { bidi, limit } => streams.on_streams_blocked(bidi, limit)?,
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}

pub(super) fn acked(streams: &mut Streams, sent: &Sent) {
    sent.chunks.iter().for_each(|chunk| streams.on_acked(chunk));
    sent.items
        .iter()
        .for_each(|item| streams.on_item_acked(item));
}

pub(super) fn lost(streams: &mut Streams, sent: &Sent) {
    sent.chunks.iter().for_each(|chunk| streams.on_lost(chunk));
    sent.items
        .iter()
        .for_each(|item| streams.on_item_lost(item));
}

/// Exchanges packets and acknowledgements until neither end has more to send.
pub(super) fn exchange(ends: &mut [Streams; 2]) {
    let [one, other] = ends;
    loop {
        let is_quiet = !run(one, other) & !run(other, one);
        if is_quiet {
            return;
        }
    }
}

/// Carries packets one way. Returns whether anything was sent.
fn run(from: &mut Streams, to: &mut Streams) -> bool {
    let mut any = false;
    while let Some(sent) = send(from, 300) {
        any = true;
        deliver(to, &sent.payload).unwrap();
        acked(from, &sent);
    }
    any
}

/// Reads everything that is there, and returns whether the end followed.
pub(super) fn read_all(streams: &mut Streams, id: StreamId) -> Result<(Vec<u8>, bool), ReadError> {
    let mut all = Vec::new();
    loop {
        let count = match streams.peek(id)? {
            Peek::Bytes(bytes) => {
                all.extend_from_slice(bytes);
                bytes.len()
            }
            Peek::Blocked => return Ok((all, false)),
            Peek::End => return Ok((all, true)),
        };
        streams.consume(id, count);
    }
}

pub(super) fn events(streams: &mut Streams) -> Vec<StreamEvent> {
    std::iter::from_fn(|| streams.poll()).collect()
}

/// The `index`th stream that the client opens.
pub(super) fn client(dir: Dir, index: u64) -> StreamId {
    StreamId::new(Side::Client, dir, index)
}

pub(super) fn server(dir: Dir, index: u64) -> StreamId {
    StreamId::new(Side::Server, dir, index)
}
