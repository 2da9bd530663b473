//! Early data that the peer refuses: all of it is sent again, under the peer's actual limits. RFC
//! 9001 §4.6, RFC 9000 §7.4.1.

use bytes::Bytes;
use roundtrip_wire::quic::{Parameters, Side};

use super::super::{Dir, StreamEvent, Streams};
use super::peer::{self, parameters, transport};
use crate::sent::SentFrame;

fn early() -> Streams {
    let mut client = Streams::new(Side::Client, &transport());
    assert_eq!(client.open(Dir::Bidi), None);
    client.set_peer(&parameters(&transport()));
    assert_eq!(
        peer::events(&mut client),
        [StreamEvent::Available(Dir::Bidi)]
    );
    client
}

#[test]
fn refused_data_goes_again_from_the_start() {
    let mut client = early();
    let id = client.open(Dir::Bidi).unwrap();
    let data = peer::bytes(Side::Client, id, 0, 700);
    assert_eq!(client.write(id, data.clone()), Ok(700));
    client.finish(id).unwrap();
    let sent: Vec<_> = std::iter::from_fn(|| peer::send(&mut client, 300)).collect();
    assert_eq!(sent.len(), 3);
    peer::lost(&mut client, &sent[1]);
    client.refuse_early();
    client.check();
    assert!(!client.wants_to_send() && !client.has_control());
    // It makes no difference whether they are reported lost before or after.
    for sent in &sent {
        peer::lost(&mut client, sent);
    }
    assert!(!client.wants_to_send());
    client.set_peer(&parameters(&transport()));
    let mut ends = [client, Streams::new(Side::Server, &transport())];
    peer::exchange(&mut ends);
    assert_eq!(peer::read_all(&mut ends[1], id), Ok((data.to_vec(), true)));
    assert_eq!(peer::events(&mut ends[0]), [StreamEvent::Finished(id)]);
    assert_eq!(ends[0].counters().bytes_resent, 0);
    ends[0].check();
}

#[test]
fn smaller_limits_hold_what_was_begun_under_larger_ones() {
    let mut client = early();
    let ids = [0; 3].map(|_| client.open(Dir::Bidi).unwrap());
    for id in ids {
        client
            .write(id, peer::bytes(Side::Client, id, 0, 400))
            .unwrap();
    }
    client.reset(ids[2], 7).unwrap();
    while peer::send(&mut client, 300).is_some() {}
    client.refuse_early();
    client.set_peer(&Parameters {
        initial_max_streams_bidi: 1,
        initial_max_stream_data_bidi_remote: 100,
        initial_max_data: 150,
        ..Parameters::default()
    });
    client.check();
    let sent: Vec<_> = std::iter::from_fn(|| peer::send(&mut client, 300)).collect();
    let chunks: Vec<_> = sent.iter().flat_map(|sent| &sent.chunks).collect();
    assert_eq!(
        (chunks.len(), chunks[0].offset, chunks[0].length),
        (1, 0, 100)
    );
    let items: Vec<_> = sent.iter().flat_map(|sent| &sent.items).collect();
    assert_eq!(items, [&SentFrame::StreamDataBlocked(ids[0].0)]);
    client.on_max_streams(true, 3).unwrap();
    client.check();
    let sent: Vec<_> = std::iter::from_fn(|| peer::send(&mut client, 300)).collect();
    let lengths: Vec<_> = sent
        .iter()
        .flat_map(|sent| &sent.chunks)
        .map(|c| c.length)
        .collect();
    assert_eq!(lengths, [50]);
    let items: Vec<_> = sent.iter().flat_map(|sent| &sent.items).copied().collect();
    assert_eq!(
        items,
        [SentFrame::ResetStream(ids[2].0), SentFrame::DataBlocked]
    );
    client.on_max_data(10_000);
    for id in &ids[..2] {
        client.on_max_stream_data(id.0, 1000).unwrap();
        client.finish(*id).unwrap();
    }
    // The server saw nothing of the first attempt.
    let server = Streams::new(Side::Server, &transport());
    let mut ends = [client, server];
    ends[0].refuse_early();
    ends[0].set_peer(&parameters(&transport()));
    peer::exchange(&mut ends);
    for id in &ids[..2] {
        let data = peer::bytes(Side::Client, *id, 0, 400);
        assert_eq!(peer::read_all(&mut ends[1], *id), Ok((data.to_vec(), true)));
    }
    assert!(peer::read_all(&mut ends[1], ids[2]).is_err());
}

#[test]
fn accepted_early_data_goes_on_under_larger_limits() {
    let mut client = early();
    let id = client.open(Dir::Bidi).unwrap();
    client.write(id, Bytes::from(vec![0; 1500])).unwrap();
    while peer::send(&mut client, 300).is_some() {}
    assert!(!client.wants_to_send());
    client.set_peer(&Parameters {
        initial_max_stream_data_bidi_remote: 1500,
        ..parameters(&transport())
    });
    let sent = peer::send(&mut client, 1300).unwrap();
    assert_eq!((sent.chunks[0].offset, sent.chunks[0].length), (1000, 500));
}
