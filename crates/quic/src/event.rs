//! What an application is told.
