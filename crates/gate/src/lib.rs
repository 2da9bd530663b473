//! The authenticating reverse proxy.

mod h1;
mod request;
