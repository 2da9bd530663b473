//! What a packet is to TCP, as far as a link must know to pick it out.

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;

pub(crate) struct Segment<'a> {
    pub(crate) flags: u8,
    pub(crate) payload: &'a [u8],
}

pub(crate) fn tcp(ip: &[u8]) -> Option<Segment<'_>> {
    let start = match ip.first()? >> 4 {
        4 if *ip.get(9)? == 6 => usize::from(ip.first()? & 0x0f) * 4,
        6 if *ip.get(6)? == 6 => 40,
        _ => return None,
    };
    let header = usize::from(ip.get(start + 12)? >> 4) * 4;
    Some(Segment {
        flags: *ip.get(start + 13)?,
        payload: ip.get(start + header..)?,
    })
}
