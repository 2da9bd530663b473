//! curl's flags: each changes what arrives at the server, and the tests check it there.

mod connection;
mod doh;
mod proxy;
mod request;
mod trust;
mod unix;
