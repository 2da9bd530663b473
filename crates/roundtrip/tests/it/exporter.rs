//! `roundtrip exporter` as Prometheus and people use it: beside blackbox_exporter with the same
//! file, scraped by a real Prometheus, and over paths with faults.

mod beside;
mod dns;
mod echoes;
mod faults;
mod health;
mod redirects;
mod requests;
pub(crate) mod scene;
mod served;
mod talks;
