//! Fetches over persistent connections, for clients that ask many servers, often, and politely.
//!
//! A [`pool::Pool`] sends a request over an existing connection, or opens one in a single flight;
//! [`memory::Memory`] stores data for the next run: tickets, limits, answers and their validators;
//! a [`rate_limiter::RateLimiter`] limits how often a server is asked, together with all other
//! processes of the user; [`flights::Flights`] lets equal requests share one answer. All of them
//! are independent of what is fetched.

pub mod flights;
pub mod memory;
pub mod pool;
pub mod rate_limiter;
