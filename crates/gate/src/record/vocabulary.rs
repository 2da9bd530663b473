//! The label values by which exchanges and connections are counted.

use super::label_value::words;

words! {
    /// Of the client's connection.
    Protocol { H1 = "h1", H2 = "h2", H3 = "h3", }
}

words! {
    /// How an exchange ended.
    Outcome {
        /// The client has the whole answer, be it the backend's or ours.
        Whole = "whole",
        ClientGone = "client_gone",
        BackendGone = "backend_gone",
        /// The session was revoked or expired while the answer came.
        SessionOver = "session_over",
        TimedOut = "timed_out",
    }
}

words! {
    /// By its hundreds; of an answer that never began there is none.
    StatusClass {
        None = "none", Informational = "1xx", Success = "2xx", Redirection = "3xx", Client = "4xx", Server = "5xx",
    }
}

impl StatusClass {
    pub(crate) fn from_status(status: u16) -> Self {
        match status / 100 {
            1 => Self::Informational,
            2 => Self::Success,
            3 => Self::Redirection,
            4 => Self::Client,
            5 => Self::Server,
            _ => Self::None,
        }
    }
}

words! {
    /// What became of a request that came as early data (RFC 8446 §2.3).
    Early {
        Passed = "passed",
        /// It waited for the handshake's end.
        Held = "held",
        /// The backend answered 425 (RFC 8470 §5.2), and had it again after the handshake.
        Again = "again",
    }
}

words! {
    /// How a session is known.
    Known {
        /// From memory.
        Near = "near",
        /// The store was asked.
        Asked = "asked",
        /// From memory, while the store is down.
        Grace = "grace",
    }
}

words! {
    /// Of a client's connection over TLS, or QUIC.
    TlsHandshake { Full = "full", Resumed = "resumed", Early = "early", Failed = "failed", }
}

words! {
    /// A connection to a server.
    Link { Opened = "opened", Closed = "closed", Failed = "failed", }
}

words! {
    /// The connection that a request went over: had it carried another?
    Carried { Reused = "reused", New = "new", }
}

words! {
    /// What else the pools did.
    Pool {
        /// A request waited for a connection of others.
        Waited = "waited",
        /// A kept connection was gone, and the request went out anew.
        Retried = "retried",
        /// A server is left alone for a while.
        Ejected = "ejected",
    }
}

words! {
    /// What the near cache went through.
    Store { Outage = "outage", Invalidated = "invalidated", Flushed = "flushed", }
}

words! {
    /// Of TLS sessions that are good once (RFC 8446 §8.1), and that clients asked for.
    SingleUse {
        Taken = "taken",
        /// Taken before, expired, or never there: a full handshake.
        Absent = "absent",
        /// The store did not say in time: a full handshake.
        Failed = "failed",
    }
}

words! {
    /// Streams that were ended because their session was.
    Streams { Revoked = "revoked", }
}

words! {
    /// Of bodies.
    Bytes { Up = "up", Down = "down", }
}

words! {
    /// What saved a round trip.
    Remedy {
        /// TCP's round trip, and TLS's, to a backend.
        UpstreamReuse = "upstream_reuse",
        /// TLS 1.2: one of two. A resumed TLS 1.3 handshake takes as many as a full one.
        Resumption = "resumption",
        /// A request answered before the handshake's end.
        EarlyData = "early_data",
        FastOpen = "fast_open",
        /// The store was not asked.
        NearCache = "near_cache",
    }
}

words! {
    /// A handshake that did not take place.
    Avoided {
        UpstreamTcp = "upstream_tcp",
        UpstreamTls = "upstream_tls",
        /// A client's: certificate and signature were left out.
        ClientTls = "client_tls",
    }
}

words! {
    /// What is so now.
    Gauge {
        Connections = "connections",
        Exchanges = "exchanges",
        /// Sessions that are remembered.
        Sessions = "sessions",
        /// Connections to backends: lent, and waiting to be.
        Links = "links",
        IdleLinks = "idle_links",
        /// One for each thread that takes connections.
        Accepting = "accepting",
        /// One for each thread whose store does not answer.
        StoreDown = "store_down",
        /// Servers that each thread may ask, and those among them that it leaves alone.
        Servers = "servers",
        ServersDown = "servers_down",
    }
}

/// A client's handshake, once its connection may speak HTTP.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionStart {
    pub(crate) protocol: Protocol,
    pub(crate) security: Security,
    /// Data came in the SYN, and was taken.
    pub(crate) fast_open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Security {
    Clear,
    /// `two_trips`: a full handshake would have taken two (TLS 1.2).
    Tls {
        handshake: TlsHandshake,
        two_trips: bool,
    },
}
