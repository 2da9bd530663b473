//! Strategies against servers that people run, across an emulated path, with tshark as the judge of
//! each fact.

mod apache;
mod capture;
mod nginx;
mod scene;
mod witness;
