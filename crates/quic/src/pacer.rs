//! When the next burst may leave, and how long it may be. RFC 9002 §7.7.
