//! Frames that no honest peer sends: each ends the connection with the code that its RFC
//! prescribes.

use std::time::Duration;

use roundtrip_wire::quic::{ConnectionId, Frame, Parameters, Pen, PreferredAddress};

use super::super::frame_owners::FrameOwners;
use super::super::receiving::Datagram;
use super::pair::{End, Pair};
use crate::crypto::Level;
use crate::sent::SentFrame;
use crate::{CloseReason, Code, Event, RecvMeta, Transport};

/// The result of receiving a packet with these frames.
fn judge(end: End, level: Level, frames: &[Frame<'_>]) -> Result<(), Code> {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    let mut payload = vec![0; 1500];
    let mut pen = Pen::new(&mut payload);
    for frame in frames {
        assert!(frame.write(&mut pen));
    }
    let length = pen.position();
    payload.truncate(length);
    judge_bytes(&mut pair, end, level, &payload)
}

fn judge_bytes(pair: &mut Pair, end: End, level: Level, payload: &[u8]) -> Result<(), Code> {
    let now = pair.now;
    let connection = pair.connection(end);
    let way = RecvMeta {
        remote: connection.remote(),
        local: None,
        ecn: 0,
    };
    let datagram = Datagram { now, way: &way };
    let result = connection.on_payload(&datagram, level, payload);
    result.map(|_| ()).map_err(|error| error.code)
}

#[test]
fn frames_of_servers_do_not_come_from_clients() {
    let done = [Frame::HandshakeDone];
    let token = [Frame::NewToken(b"x")];
    let violation = Err(Code::PROTOCOL_VIOLATION);
    assert_eq!(judge(End::Server, Level::OneRtt, &done), violation);
    assert_eq!(judge(End::Server, Level::OneRtt, &token), violation);
    assert_eq!(judge(End::Client, Level::OneRtt, &done), Ok(()));
    assert_eq!(judge(End::Client, Level::OneRtt, &token), Ok(()));
}

#[test]
fn each_kind_of_packet_carries_its_own_frames() {
    let crypto = Frame::Crypto {
        offset: 0,
        data: b"x",
    };
    let stream = Frame::Stream {
        id: 0,
        offset: 0,
        data: b"x",
        fin: false,
    };
    let violation = Err(Code::PROTOCOL_VIOLATION);
    assert_eq!(judge(End::Server, Level::Early, &[crypto]), violation);
    assert_eq!(
        judge(End::Server, Level::Initial, std::slice::from_ref(&stream)),
        violation
    );
    assert_eq!(
        judge(End::Server, Level::Handshake, &[Frame::MaxData(9)]),
        violation
    );
    assert_eq!(
        judge(End::Server, Level::Early, std::slice::from_ref(&stream)),
        Ok(())
    );
    assert_eq!(judge(End::Server, Level::OneRtt, &[stream]), Ok(()));
}

#[test]
fn what_cannot_be_read_is_told_from_what_may_not_be_said() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    let end = End::Client;
    let encoding = Err(Code::FRAME_ENCODING_ERROR);
    let violation = Err(Code::PROTOCOL_VIOLATION);
    let id =
        |sequence, retires, length| [&[0x18, sequence, retires, length][..], &[7; 40]].concat();
    // An unknown type, a frame that ends early, packets below 0, an id that retires itself, ids of
    // 0 and 21 bytes; a PING whose type takes two bytes or eight, also after another frame; and no
    // frame at all.
    for (payload, expected) in [
        (&[0x40, 0xff][..], encoding),
        (&[0x10][..], encoding),
        (&[0x02, 5, 0, 0, 6][..], encoding),
        (&id(9, 10, 8), encoding),
        (&id(9, 0, 0), encoding),
        (&id(9, 0, 21), encoding),
        (&[0x40, 0x01][..], violation),
        (&[0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0x01][..], violation),
        (&[][..], violation),
    ] {
        let found = judge_bytes(&mut pair, end, Level::OneRtt, payload);
        assert_eq!(found, expected, "{payload:?}");
    }
    let datagram = [Frame::Datagram(b"x")];
    assert_eq!(judge(end, Level::OneRtt, &datagram), violation);
}

#[test]
fn connection_ids_are_issued_before_they_are_retired_and_not_beyond_what_is_kept() {
    let end = End::Server;
    let retired = [Frame::RetireConnectionId(99)];
    assert_eq!(
        judge(end, Level::OneRtt, &retired),
        Err(Code::PROTOCOL_VIOLATION)
    );
    let id = |sequence: u64, byte: u8| Frame::NewConnectionId {
        sequence,
        retire_prior_to: 0,
        id: ConnectionId::new(&[byte; 8]).unwrap(),
        reset_token: [byte; 16],
    };
    // The client has issued that one itself, with different bytes.
    assert_eq!(
        judge(end, Level::OneRtt, &[id(1, 2)]),
        Err(Code::PROTOCOL_VIOLATION)
    );
    let many: Vec<_> = (50..58).map(|sequence| id(sequence, 7)).collect();
    assert_eq!(
        judge(end, Level::OneRtt, &many),
        Err(Code::CONNECTION_ID_LIMIT_ERROR)
    );
}

#[test]
fn who_retires_ids_that_were_made_and_not_sent_is_closed_upon() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    let home = pair.client_address;
    // Nothing leaves the server between these.
    for sequence in 0..100 {
        pair.forge(home, &[Frame::RetireConnectionId(sequence)]);
    }
    pair.run_for(Duration::from_millis(50));
    assert!(pair.server_events.iter().any(|event| matches!(
        event,
        Event::Closed(CloseReason::Violated { code, .. }) if *code == Code::PROTOCOL_VIOLATION
    )));
}

#[test]
fn acknowledgements_are_not_asked_for_sooner_than_they_can_be_sent() {
    let ask = |max_delay_us| {
        [Frame::AckFrequency {
            sequence: 0,
            threshold: 4,
            max_delay_us,
            reordering: 1,
        }]
    };
    let end = End::Server;
    assert_eq!(
        judge(end, Level::OneRtt, &ask(999)),
        Err(Code::PROTOCOL_VIOLATION)
    );
    assert_eq!(judge(end, Level::OneRtt, &ask(1000)), Ok(()));
}

#[test]
fn tokens_that_nobody_fetches_do_not_pile_up() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    while pair.client.poll().is_some() {}
    let mut payload = vec![0; 3];
    assert!(Frame::NewToken(b"x").write(&mut Pen::new(&mut payload)));
    for _ in 0..1000 {
        assert_eq!(
            judge_bytes(&mut pair, End::Client, Level::OneRtt, &payload),
            Ok(())
        );
    }
    let mut events = 0;
    while pair.client.poll().is_some() {
        events += 1;
    }
    assert!(events > 0 && events <= 64, "{events}");
}

/// RFC 9000 §5.1.1 and §5.1.2: the id of a preferred address has the sequence number 1, and is
/// retired like any other.
#[test]
fn the_id_of_a_preferred_address_is_one_of_the_peers() {
    let mut pair = Pair::new(&Transport::default());
    let id = |byte| ConnectionId::new(&[byte; 8]).unwrap();
    let parameters = Parameters {
        preferred_address: Some(PreferredAddress {
            id: id(7),
            reset_token: [7; 16],
        }),
        ..Parameters::default()
    };
    FrameOwners::new(&mut pair.client)
        .set_peer(&parameters)
        .unwrap();
    let ids = &mut pair.client.remote_ids;
    assert!(ids.has_spare());
    ids.add(2, 2, id(8), [8; 16]).unwrap();
    assert_eq!(*ids.current(), id(8));
    let (mut payload, mut items) = ([0; 200], Vec::new());
    ids.write(&mut Pen::new(&mut payload), &mut items);
    for sequence in [0, 1] {
        assert!(items.contains(&SentFrame::RetireConnectionId(sequence)));
    }
}
