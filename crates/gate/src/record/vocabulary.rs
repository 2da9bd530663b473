//! The label values by which exchanges and connections are counted.

use super::label_value::words;

words! {
    /// The protocol of the client's connection.
    Protocol { H1 = "h1", H2 = "h2", H3 = "h3", }
}

words! {
    /// How an exchange ended.
    Outcome {
        /// The client has the whole answer, from the backend or from gate.
        Whole = "whole",
        ClientGone = "client_gone",
        BackendGone = "backend_gone",
        /// All connections to the backend were in use.
        PoolFull = "pool_full",
        /// The backend said that it has not processed the request. RFC 9113 §8.7.
        BackendRefused = "backend_refused",
        /// The session was revoked or expired during the answer.
        SessionOver = "session_over",
        TimedOut = "timed_out",
    }
}

words! {
    /// The hundreds of the status. There is none if the answer never began.
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
    /// What happened to a request that arrived as early data (RFC 8446 §2.3).
    Early {
        Passed = "passed",
        /// The request waited for the end of the handshake.
        Held = "held",
        /// The backend answered 425 (RFC 8470 §5.2), and got it again after the handshake.
        Again = "again",
    }
}

words! {
    /// How a session was found.
    Known {
        /// The session was in memory.
        Near = "near",
        /// The store was asked.
        Asked = "asked",
        /// The session was in memory, and the store is down.
        Grace = "grace",
    }
}

words! {
    /// The handshake of a client's connection over TLS or QUIC.
    TlsHandshake { Full = "full", Resumed = "resumed", Early = "early", Failed = "failed", }
}

words! {
    /// A connection to a server.
    Link { Opened = "opened", Closed = "closed", Failed = "failed", }
}

words! {
    /// Whether the request's connection had been used before.
    Carried { Reused = "reused", New = "new", }
}

words! {
    /// Other events of the pools.
    Pool {
        /// A request waited for a connection.
        Waited = "waited",
        /// The request was sent again, over another connection.
        Retried = "retried",
        /// A server was ejected.
        Ejected = "ejected",
    }
}

words! {
    /// Events of the near cache.
    Store { Outage = "outage", Invalidated = "invalidated", Flushed = "flushed", }
}

words! {
    /// Events of logins.
    LoginEvent {
        /// A browser was sent to the provider.
        Begun = "begun",
        Completed = "completed",
        Failed = "failed",
        Refreshed = "refreshed",
        RefreshFailed = "refresh_failed",
        LoggedOut = "logged_out",
        /// The provider reported a logout.
        ProviderLogout = "provider_logout",
        /// Sessions that the provider's report ended.
        SessionsEnded = "sessions_ended",
    }
}

words! {
    /// Single-use TLS sessions (RFC 8446 §8.1) that clients asked for.
    SingleUse {
        Taken = "taken",
        /// Already taken, expired, or never stored: a full handshake.
        Absent = "absent",
        /// The store did not answer in time: a full handshake.
        Failed = "failed",
    }
}

words! {
    /// Datagrams that belonged to no QUIC connection of their thread and began none.
    QuicStray {
        /// The client had to validate its address first.
        Retried = "retried",
        OtherVersion = "other_version",
        BadToken = "bad_token",
        /// There was no room for another connection.
        Refused = "refused",
        /// The connection had been removed.
        Reset = "reset",
        /// The connection belongs to another thread.
        HandedOver = "handed_over",
        /// Early data arrived before the hello.
        Overtook = "overtook",
        Dropped = "dropped",
    }
}

words! {
    /// Streams that ended with their session.
    Streams { Revoked = "revoked", }
}

words! {
    /// Spans, by outcome.
    Spans {
        Sent = "sent",
        /// The collector did not accept the spans.
        Failed = "failed",
        /// The queue was full.
        Dropped = "dropped",
    }
}

words! {
    /// Bytes of bodies.
    Bytes { Up = "up", Down = "down", }
}

words! {
    /// What saved a round trip.
    Remedy {
        /// The round trips of TCP and TLS to a backend.
        UpstreamReuse = "upstream_reuse",
        /// TLS 1.2 saves one of two round trips. A resumed TLS 1.3 handshake takes as many as a
        /// full one.
        Resumption = "resumption",
        /// A request that was answered before the end of the handshake.
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
        /// A TLS handshake with a client, without certificate and signature.
        ClientTls = "client_tls",
    }
}

words! {
    /// Present values.
    Gauge {
        Connections = "connections",
        Exchanges = "exchanges",
        /// Cached sessions.
        Sessions = "sessions",
        /// Connections to backends: in use, and idle.
        Links = "links",
        IdleLinks = "idle_links",
        /// The number of threads that accept connections.
        Accepting = "accepting",
        /// The number of threads for which the store does not answer.
        StoreDown = "store_down",
        /// Servers of each thread, and those among them that it has ejected.
        Servers = "servers",
        ServersDown = "servers_down",
        /// What QUIC connections keep, in bytes.
        QuicMemory = "quic_memory_bytes",
    }
}

/// A client's handshake, once requests may arrive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionStart {
    pub(crate) protocol: Protocol,
    pub(crate) security: Security,
    /// The SYN brought data, and the kernel accepted it.
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
