//! Losses found, probes timed, bytes in flight counted. RFC 9002.
