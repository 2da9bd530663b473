//! curl's flags: each changes what arrives at the other side, and that is where it is looked at.

mod connection;
mod doh;
mod proxy;
mod request;
mod trust;
mod unix;
