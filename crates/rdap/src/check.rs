//! Conformance: what in an answer violates RFC 7480, RFC 9083 or a profile.
