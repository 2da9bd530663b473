//! What the pool's ways cost across an emulated path, in round trips: as counted, as the clock
//! says, as arithmetic has it.

mod pool;
mod scene;
mod silence;
