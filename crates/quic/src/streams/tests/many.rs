//! Thousands of streams: finished streams are forgotten and use no more memory.

use bytes::Bytes;
use roundtrip_wire::quic::Side;

use super::super::{Dir, StreamEvent, Streams};
use super::peer;
use crate::Transport;

#[test]
fn thousands_of_streams_leave_nothing_behind() {
    let transport = Transport {
        bidi_streams: 64,
        ..Transport::default()
    };
    let mut ends = peer::pair(&transport);
    // One stays open while the others come and go.
    let old = ends[0].open(Dir::Bidi).unwrap();
    ends[0].write(old, Bytes::from_static(b"first")).unwrap();
    let mut done = 0;
    while done < 10_000 {
        while let Some(id) = ends[0].open(Dir::Bidi) {
            ends[0]
                .write(id, peer::bytes(Side::Client, id, 0, 50))
                .unwrap();
            ends[0].finish(id).unwrap();
        }
        peer::exchange(&mut ends);
        while let Some(id) = ends[1].accept(Dir::Bidi) {
            if id != old {
                let asked = peer::bytes(Side::Client, id, 0, 50).to_vec();
                assert_eq!(peer::read_all(&mut ends[1], id), Ok((asked, true)));
                ends[1].write(id, Bytes::from_static(b"answer")).unwrap();
                ends[1].finish(id).unwrap();
            }
        }
        peer::exchange(&mut ends);
        for event in peer::events(&mut ends[0]) {
            if let StreamEvent::Readable(id) = event {
                let answer = (b"answer".to_vec(), true);
                assert_eq!(peer::read_all(&mut ends[0], id), Ok(answer));
                done += 1;
            }
        }
        peer::events(&mut ends[1]);
        ends.iter().for_each(Streams::check);
    }
    assert!(ends[0].counters().opened > 10_000);
    for end in &ends {
        assert_eq!((end.count(), end.held), (1, 0));
        assert!(end.slab.slots() <= 64 + 65, "{}", end.slab.slots());
    }
    assert_eq!(
        peer::read_all(&mut ends[1], old),
        Ok((b"first".to_vec(), false))
    );
}

#[test]
fn late_acknowledgements_find_no_other_stream() {
    let mut ends = peer::pair(&Transport::default());
    let id = ends[0].open(Dir::Bidi).unwrap();
    ends[0].write(id, Bytes::from(vec![0; 100])).unwrap();
    let late = peer::send(&mut ends[0], 300).unwrap();
    let mut slots = std::collections::BTreeSet::new();
    ends[0].reset(id, 0).unwrap();
    ends[0].stop(id, 0).unwrap();
    ends[0].on_reset(id.0, 0, 0).unwrap();
    peer::exchange(&mut ends);
    assert_eq!(ends[0].count(), 0);
    for _ in 0..200 {
        let Some(id) = ends[0].open(Dir::Uni) else {
            break;
        };
        ends[0].write(id, Bytes::from(vec![0; 100])).unwrap();
        ends[0].finish(id).unwrap();
        let sent = peer::send(&mut ends[0], 300).unwrap();
        slots.insert(sent.chunks[0].slot & 0xf_ffff);
        assert_ne!(sent.chunks[0].slot, late.chunks[0].slot);
        peer::acked(&mut ends[0], &late);
        peer::lost(&mut ends[0], &late);
        assert!(!ends[0].wants_to_send());
        assert_eq!(ends[0].held, 100 + 64);
        peer::acked(&mut ends[0], &sent);
        assert_eq!(ends[0].held, 0);
        let own = &ends[0].own.uni;
        let (limit, count) = (own.limit, own.table.count());
        if count == limit {
            ends[0].on_max_streams(false, limit + 50).unwrap();
        }
    }
    // Slots were reused.
    assert!(slots.len() < 200 && slots.contains(&0));
}

#[test]
fn streams_cut_off_before_their_turn_do_not_pile_up() {
    let mut ends = peer::pair(&Transport {
        window: 0,
        ..Transport::default()
    });
    for _ in 0..2000 {
        let id = ends[0].open(Dir::Uni).unwrap();
        ends[0]
            .write(id, Bytes::from_static(b"never sent"))
            .unwrap();
        ends[0].on_stop_sending(id.0, 1).unwrap();
        let sent = peer::send(&mut ends[0], 300).unwrap();
        peer::acked(&mut ends[0], &sent);
        ends[0].check();
        let count = ends[0].own.uni.table.count();
        ends[0].on_max_streams(false, count + 1).unwrap();
    }
    assert_eq!(
        (ends[0].count(), peer::events(&mut ends[0]).len()),
        (0, 2000)
    );
    assert!(ends[0].ready.entries() <= 65 && ends[0].control.entries() <= 65);
}

#[test]
fn a_bulk_stream_uses_one_ring_again_and_again() {
    let mut ends = peer::pair(&Transport::default());
    let id = ends[0].open(Dir::Uni).unwrap();
    let mut offset = 0;
    let mut capacity = 0;
    for round in 0..200 {
        let written = ends[0].write(id, peer::bytes(Side::Client, id, offset, 40_000));
        assert_eq!(written, Ok(40_000));
        peer::exchange(&mut ends);
        if round == 0 {
            capacity = ends[1].ring_bytes();
        }
        assert_eq!(ends[1].ring_bytes(), capacity);
        let (data, _) = peer::read_all(&mut ends[1], id).unwrap();
        assert_eq!(data, peer::bytes(Side::Client, id, offset, 40_000));
        assert_eq!(ends[1].ring_bytes(), 0);
        offset += 40_000;
    }
    assert_eq!(capacity, 65_536);
    ends[1].rest();
}
