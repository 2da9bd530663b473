//! Handshakes between two of them without any network.
