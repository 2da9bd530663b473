//! Who knows: the registries of IANA (RFC 9224), embedded, refreshed, overlaid; from a query to the URLs of its servers.
