//! One lookup with all its parts, with the origin's registry on the loopback: the text for people,
//! the requests to servers, and the requests that were not made. No test leaves the machine.

mod broken;
mod busy;
mod cache;
mod classes;
mod clear;
mod credentials;
mod flights;
mod others;
mod outage;
mod ranges;
mod redirects;
mod registrar;
mod registries;
mod scene;
mod scripted;
mod searches;
mod servers;
mod sizes;
