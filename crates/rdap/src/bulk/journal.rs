//! Which queries of a list are finished, so that an interrupted run goes on.
