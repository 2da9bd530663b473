//! The connections of one socket: who a datagram belongs to, and the answers to those that belong to nobody.
