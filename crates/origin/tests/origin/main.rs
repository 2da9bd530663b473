//! The origin seen by clients that are not ours: Debian's curl and openssl, plain sockets, and rustls, quinn and h3.

mod curl;
mod fast_open;
mod faults;
mod h3;
mod peers;
mod raw;
mod tls;
