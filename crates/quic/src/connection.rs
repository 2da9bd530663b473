//! One connection: datagrams in, bursts out.
