//! Which stream's data is sent next, and which streams may write when the buffer is full.

use bytes::Bytes;
use roundtrip_wire::quic::{Parameters, Side};

use super::super::{Dir, RESERVE, StreamEvent, Streams};
use super::peer;
use crate::Transport;

fn open_handed() -> Streams {
    let mut client = Streams::new(Side::Client, &Transport::default());
    client.set_peer(&Parameters {
        initial_max_data: 1 << 30,
        initial_max_stream_data_bidi_remote: 1 << 30,
        initial_max_streams_bidi: 1 << 20,
        ..Parameters::default()
    });
    // A fast path.
    client.on_window(1 << 30);
    client
}

#[test]
fn streams_take_turns_of_a_few_packets() {
    let mut client = open_handed();
    let ids = [0; 5].map(|_| client.open(Dir::Bidi).unwrap());
    for id in ids {
        client.write(id, Bytes::from(vec![0; 1 << 20])).unwrap();
    }
    let mut sent = [0; 5];
    let mut recent = (u32::MAX, 0);
    for _ in 0..1000 {
        let packet = peer::send(&mut client, 1400).unwrap();
        let [chunk] = packet.chunks[..] else {
            panic!("{packet:?}")
        };
        sent[chunk.slot as usize] += chunk.length;
        let run = if chunk.slot == recent.0 {
            recent.1 + 1
        } else {
            1
        };
        recent = (chunk.slot, run);
        assert!(run <= 18);
    }
    let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
    assert!(most - least <= 26 << 10, "{sent:?}");
}

#[test]
fn lost_data_is_sent_before_new_data() {
    let mut client = open_handed();
    let ids = [0; 2].map(|_| client.open(Dir::Bidi).unwrap());
    for id in ids {
        client.write(id, Bytes::from(vec![0; 100_000])).unwrap();
    }
    let packets: Vec<_> = (0..30)
        .map(|_| peer::send(&mut client, 1400).unwrap())
        .collect();
    peer::lost(&mut client, &packets[2]);
    peer::lost(&mut client, &packets[29]);
    peer::lost(&mut client, &packets[3]);
    let (first, second) = (packets[2].chunks[0], packets[3].chunks[0]);
    let total = first.length + second.length + packets[29].chunks[0].length;
    let mut resent = 0;
    while resent < total {
        let packet = peer::send(&mut client, 1400).unwrap();
        for chunk in &packet.chunks {
            resent += chunk.length;
        }
    }
    assert!(client.counters().bytes_resent == u64::from(total));
}

#[test]
fn a_stream_that_nobody_reads_does_not_hold_the_others() {
    let mut client = open_handed();
    let stuck = client.open(Dir::Bidi).unwrap();
    // Beyond the limit a stream gets its reserve of the buffer, and no more.
    client.write(stuck, Bytes::from(vec![0; 1000])).unwrap();
    let mut ends = [client, Streams::new(Side::Server, &Transport::default())];
    ends[0].initial.bidi_remote = 1000;
    let narrow = ends[0].open(Dir::Bidi).unwrap();
    let taken = ends[0]
        .write(narrow, Bytes::from(vec![0; 1 << 20]))
        .unwrap();
    assert_eq!(taken as u64, 1000 + RESERVE);
    assert_eq!(ends[0].write(narrow, Bytes::from(vec![0; 9])), Ok(0));
    assert_eq!(peer::events(&mut ends[0]), []);
    ends[0]
        .on_max_stream_data(narrow.0, 1000 + RESERVE / 2)
        .unwrap();
    assert_eq!(peer::events(&mut ends[0]), [StreamEvent::Writable(narrow)]);
    ends[0].check();
}

#[test]
fn a_full_buffer_leaves_each_stream_its_reserve() {
    let mut client = open_handed();
    let [greedy, other, third] = [0; 3].map(|_| client.open(Dir::Bidi).unwrap());
    let all = Bytes::from(vec![0; 16 << 20]);
    let taken = client.write(greedy, all.clone()).unwrap();
    assert!(taken as u64 > (8 << 20) - 1000 && taken <= 8 << 20);
    assert_eq!(client.write(greedy, all.clone()), Ok(0));
    for id in [other, third] {
        let taken = client.write(id, all.clone()).unwrap() as u64;
        assert!(taken > RESERVE - 1000 && taken <= RESERVE);
    }
    client.check();
    assert_eq!(peer::events(&mut client), []);
    // The other stream's data is acknowledged: it may continue, but the greedy stream may not.
    let mut events = Vec::new();
    let mut greedy_acked = 0;
    while greedy_acked < 200_000 {
        let packet = peer::send(&mut client, 1400).unwrap();
        peer::acked(&mut client, &packet);
        client.check();
        greedy_acked += packet
            .chunks
            .iter()
            .filter(|c| c.slot == 0)
            .map(|c| c.length)
            .sum::<u32>();
        for event in peer::events(&mut client) {
            events.push((event, greedy_acked));
        }
    }
    let of = |id| {
        events
            .iter()
            .filter(|(e, _)| *e == StreamEvent::Writable(id))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (of(other).len(), of(third).len(), of(greedy).len()),
        (1, 1, 1),
        "{events:?}"
    );
    assert!(of(greedy)[0].1 >= 64 << 10);
}

#[test]
fn many_small_pieces_fill_the_buffer_too() {
    let mut client = open_handed();
    let id = client.open(Dir::Bidi).unwrap();
    let mut pieces = 0;
    while client.write(id, Bytes::from_static(b"x")).unwrap() == 1 {
        pieces += 1;
    }
    assert!(pieces < (8 << 20) / 60, "{pieces}");
    let packet = peer::send(&mut client, 1400).unwrap();
    assert!(packet.chunks[0].length > 1380);
    peer::acked(&mut client, &packet);
    client.check();
}
