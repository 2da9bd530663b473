//! The TLS session of a connection, its keys, and the protection of packets. RFC 9001.
