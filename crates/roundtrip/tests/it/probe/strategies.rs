//! Strategies against widely used servers, across an emulated path; tshark checks each fact.

mod apache;
mod capture;
mod nginx;
mod scene;
mod witness;
