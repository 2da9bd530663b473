//! What holds for the whole project. These tests read the sources and run cargo, so they do not run
//! where a user has neither.

mod features;
mod help;
mod layers;
mod prose;
mod references;
mod releases;
mod sources;
