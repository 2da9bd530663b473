//! The round-trip time as it is estimated. RFC 9002 §5.
