//! Who asks: Basic, Digest and client certificates (RFC 7481), each for one origin alone.
