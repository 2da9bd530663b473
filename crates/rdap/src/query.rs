//! What is asked: the kinds of RDAP query (RFC 9082, 9910, 9536), how each is recognised, and the path that asks it.
