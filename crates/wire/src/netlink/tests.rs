//! Requests can be parsed as they were written, and no answer misleads a parser.

use proptest::prelude::*;

use super::*;

const EPERM: i32 = 1;

fn request(kind: u16, payload: &[u8]) -> Vec<u8> {
    NetlinkRequest::query(kind).with(payload).finish()
}

#[test]
fn attributes_tell_their_length_and_are_padded() {
    let mut request = NetlinkRequest::change(16);
    request.attribute(3, b"eth0\0");
    let bytes = request.finish();
    assert_eq!(bytes.len(), HEADER + 12);
    assert_eq!(bytes[..4], 28_u32.to_ne_bytes());
    assert_eq!(bytes[HEADER..HEADER + 2], 9_u16.to_ne_bytes());
    assert_eq!(bytes[HEADER + 4..], *b"eth0\0\0\0\0");
}

#[test]
fn a_nest_counts_what_is_in_it() {
    let mut request = NetlinkRequest::change(16);
    request.nest(1, |inner| {
        inner.attribute(2, &[1]);
        inner.attribute(3, &[2; 4]);
    });
    let bytes = request.finish();
    assert_eq!(bytes[HEADER..HEADER + 2], 20_u16.to_ne_bytes());
}

#[test]
fn only_a_route_of_type_local_is_local() {
    let is_local = |kind, rtmsg: &[u8; 12]| {
        let answer = request(kind, rtmsg);
        messages(&answer).all(|message| message.is_local_route())
    };
    let mut rtmsg = [0; 12];
    assert!(!is_local(RTM_NEWROUTE, &rtmsg));
    rtmsg[7] = RTN_LOCAL;
    assert!(is_local(RTM_NEWROUTE, &rtmsg));
    assert!(!is_local(NLMSG_ERROR, &rtmsg));
}

#[test]
fn a_refusal_is_the_error_it_names() {
    assert!(acknowledged(&request(NLMSG_ERROR, &[0; 4])).is_ok());
    let answer = request(NLMSG_ERROR, &(-EPERM).to_ne_bytes());
    let refused = acknowledged(&answer).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(EPERM));
    assert!(acknowledged(&answer[..6]).is_err());
    assert!(acknowledged(&request(NLMSG_ERROR, &i32::MIN.to_ne_bytes())).is_err());
    assert!(acknowledged(&request(NLMSG_ERROR, b"")).is_err());
    assert!(acknowledged(&request(RTM_NEWROUTE, &[0; 4])).is_err());
}

#[test]
fn written_messages_are_read_back() {
    let mut bytes = request(24, b"four");
    bytes.extend(request(25, b"eightbyt"));
    let read: Vec<_> = messages(&bytes).map(|m| (m.kind, m.payload)).collect();
    assert_eq!(read, [(24, &b"four"[..]), (25, &b"eightbyt"[..])]);
}

#[test]
fn answers_to_somebody_else_are_passed_over() {
    let mut other = request(24, b"");
    other[8..12].copy_from_slice(&7_u32.to_ne_bytes());
    other.extend(request(25, b""));
    assert_eq!(messages(&other).map(|m| m.kind).collect::<Vec<_>>(), [25]);
}

#[test]
fn absurd_lengths_end_the_walk() {
    let mut bytes = request(24, b"four");
    for length in [0_u32, 1, 15, 21, u32::MAX] {
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        assert_eq!(messages(&bytes).count(), 0, "{length}");
    }
    for length in [0_u16, 3, 9, u16::MAX] {
        let mut request = NetlinkRequest::query(1);
        request.attribute(1, b"four");
        let mut bytes = request.finish().split_off(HEADER);
        bytes[..2].copy_from_slice(&length.to_ne_bytes());
        assert_eq!(attributes(&bytes).count(), 0, "{length}");
    }
}

proptest! {
    #[test]
    fn any_attributes_are_read_back(
        written in prop::collection::vec((0_u16..0x4000, prop::collection::vec(any::<u8>(), 0..40)), 0..8),
    ) {
        let mut request = NetlinkRequest::dump(1);
        for (kind, value) in &written {
            request.attribute(*kind, value);
        }
        let bytes = request.finish();
        let read: Vec<_> = messages(&bytes).collect();
        prop_assert_eq!(read.len(), 1);
        let read: Vec<_> = attributes(read[0].payload).map(|(kind, value)| (kind, value.to_vec())).collect();
        prop_assert_eq!(read, written);
    }

    #[test]
    fn any_bytes_are_walked_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = acknowledged(&bytes);
        for message in messages(&bytes) {
            prop_assert!(message.payload.len() < bytes.len());
        }
        prop_assert!(attributes(&bytes).count() <= bytes.len() / 4);
    }
}
