//! Captures: read, written, and read by others.

mod older;
mod reading;
mod round_trip;
mod wireshark;
