//! How often a server is asked: a bucket of tokens for each origin, halved when it complains, shared between processes.
