//! Boxes that stand in the way and meddle: one file each.

mod strip_fast_open;

pub(crate) use strip_fast_open::StripFastOpen;

/// Something that sees each IP packet of one direction before the link does, and may rewrite it.
pub(crate) trait Middlebox: Send {
    fn pass(&mut self, packet: &mut [u8]);
}
