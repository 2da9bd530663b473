//! Fetches over persistent connections, for clients that ask many servers, often, and politely.
//!
//! A [`pool::Pool`] sends a request over an existing connection, or opens one in a single flight;
//! [`memory::Memory`] stores data for the next run: tickets, limits, answers and their validators;
//! a [`rate_limiter::RateLimiter`] limits how often a server is asked, together with all other
//! processes of the user; [`flights::Flights`] lets equal requests share one answer. All of them
//! are independent of what is fetched.
//!
//! ```no_run
//! use roundtrip_fetch::pool::{Pool, PoolRequest, Settings};
//! use roundtrip_model::Target;
//!
//! # async fn client() -> Result<(), Box<dyn std::error::Error>> {
//! let pool = Pool::new(Settings::default())?;
//! let request = PoolRequest::new(Target::parse("https://server.example/")?);
//! let first = pool.fetch(&request).await?;
//! let second = pool.fetch(&request).await?; // over the same connection
//! println!("{} bytes, then {}", first.body.len(), second.body.len());
//! # Ok(())
//! # }
//! ```

pub mod flights;
pub mod memory;
pub mod pool;
pub mod rate_limiter;
