//! Certificates from a CA by ACME (RFC 8555), for all replicas together.
//!
//! [`AcmeHandle`] starts a service on its own thread. Account, certificates and the challenge under
//! way are in the session store, sealed (`documents`). Each replica reads them about once a second,
//! and publishes them in [`ActiveAcme`], which the listener asks for certificates and the judge for
//! the answers of HTTP-01. A replica that finds that a certificate is due claims the right to order
//! it (`service`), so that there is one order at a time in the fleet. `client` talks to the CA,
//! `order` has the steps of an order, and `schedule` says when the next one is due.

mod account_key;
mod active;
mod client;
mod documents;
mod error;
mod issued;
mod order;
mod schedule;
mod service;

pub(crate) use active::{ActiveAcme, CertificateView};
pub(crate) use client::AcmeClient;
pub(crate) use error::AcmeError;
pub(crate) use service::AcmeHandle;
