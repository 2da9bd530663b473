//! The peers: servers that a test starts, and what it knows about them.

mod apache;
mod authority;
mod doh;
mod nginx;
mod one_answer;
mod port;
mod proxy;
mod site;

pub(crate) use apache::Apache;
pub(crate) use authority::Authority;
pub(crate) use doh::Doh;
pub(crate) use nginx::Nginx;
pub(crate) use one_answer::OneAnswer;
use port::{await_pid, await_port};

pub(crate) use port::free_port;
pub(crate) use proxy::Proxy;
pub(crate) use site::Site;
