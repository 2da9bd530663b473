//! One lookup through all that it is made of, against the origin's registry on the loopback: what
//! people are told, what the servers were asked, and what was not asked at all. No test leaves the
//! machine.

mod broken;
mod busy;
mod cache;
mod clear;
mod credentials;
mod flights;
mod ranges;
mod redirects;
mod registrar;
mod registries;
mod scene;
mod scripted;
mod searches;
mod servers;
