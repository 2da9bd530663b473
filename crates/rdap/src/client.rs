//! One lookup from query to outcome: servers in turn, redirects, the cache, the registrar that the registry names.
