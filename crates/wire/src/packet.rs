//! IP packets with TCP, UDP or ICMP inside: parsed, rewritten with correct checksums, answered, and
//! fragmented.
//!
//! A view is parsed once, borrows the packet and never allocates: every packet of an emulated path
//! goes through it. Middleboxes decide which packets to change and why; connections are not tracked
//! here.

mod answer;
mod checksum;
mod compose;
mod echo;
mod flags;
mod fragment;
mod icmp;
mod layout;
mod option;
mod rewrite;
mod tcp;
mod udp;
mod view;

pub use answer::{reset, too_big};
pub use checksum::sum as ones_complement_sum;
pub use compose::{IpHeader, compose};
pub use echo::Echo;
pub use flags::Flags;
pub use fragment::{Fragments, fragments};
pub use icmp::Icmp;
pub use layout::{Fragment, IpVersion};
pub use option::{OptionValue, Options, TcpOption};
pub use rewrite::PacketMut;
pub use tcp::Tcp;
pub use udp::Udp;
pub use view::{Ecn, Packet};

/// Protocol numbers, as assigned by IANA.
pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMPV6: u8 = 58;

/// Reads a field. The layout has checked its position, so it is within the bytes; otherwise the
/// result would be zeros.
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .unwrap_or([0; N])
}
