//! How large datagrams may be: fixed, mirrored, or searched for. RFC 8899.
