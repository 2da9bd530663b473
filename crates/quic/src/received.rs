//! Which packets came, and when that has to be acknowledged. RFC 9000 §13.2.
