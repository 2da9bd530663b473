//! What was sent and not yet acknowledged: a flat ring of packets, 32 bytes each, and of bursts.
