//! Connections: one or a few for each origin, multiplexed, resumed, and asked again only where that is safe.
