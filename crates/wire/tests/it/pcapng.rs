//! Captures: read, written, and read by other programs.

mod older;
mod reading;
mod round_trip;
mod wireshark;
