//! The cost of the pool's strategies across an emulated path, in round trips: counted, measured by
//! the clock, and according to the arithmetic.

mod pool;
mod scene;
mod silence;
