//! What a connection has counted.
