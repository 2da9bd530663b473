//! Why gate gave its own answer or broke off, and which limit was reached: constants without
//! personal data.

use super::label_value::words;

words! {
    Reason {
        // The request is refused.
        NotHttp = "not_http",
        BareLineFeed = "bare_line_feed",
        Malformed = "malformed",
        TooManyFields = "too_many_fields",
        HeadTooLarge = "head_too_large",
        Host = "host",
        HostDiffers = "host_differs",
        HostNumber = "host_number",
        Target = "target",
        DotSegments = "dot_segments",
        TwoWays = "two_ways",
        Characters = "characters",
        Method = "method",
        TwoLengths = "two_lengths",
        Length = "length",
        Coding = "coding",
        ConnectionField = "connection_field",
        Expectation = "expectation",
        BodyTooLarge = "body_too_large",
        Chunk = "chunk",
        Protocol = "protocol",
        NoRoute = "no_route",
        TooMany = "too_many",
        BufferFull = "buffer_full",
        Upgrade = "upgrade",
        Slow = "slow",
        // The client is not authorized.
        NoToken = "no_token",
        BadToken = "bad_token",
        Expired = "expired",
        TooEarly = "too_early",
        NotForUs = "not_for_us",
        UnknownSession = "unknown_session",
        Credentials = "credentials",
        StoreDown = "store_down",
        StoreUnreadable = "store_unreadable",
        NoKeys = "no_keys",
        Origin = "origin",
        /// The session's claims are not those that the route requires.
        Claims = "claims",
        /// A login or logout that cannot be completed as it was asked for.
        LoginFailed = "login_failed",
        /// The provider does not let this person log in.
        LoginDenied = "login_denied",
        /// The provider or the store does not answer.
        LoginDown = "login_down",
        // A proxy asks that may not ask, or that does not say which request it asks about.
        Asker = "asker",
        Undescribed = "undescribed",
        /// The described request has a field that only a proxy may set.
        IdentityField = "identity_field",
        // No backend answers.
        NoServer = "no_server",
        PoolFull = "pool_full",
        /// The backend said that it has not processed the request.
        BackendRefused = "backend_refused",
        Unreachable = "unreachable",
        BackendClosed = "backend_closed",
        BackendSlow = "backend_slow",
        BadAnswer = "bad_answer",
        // No backend was needed.
        Preflight = "preflight",
        /// The browser is sent to the provider, comes back from it, or is logged out.
        LogIn = "log_in",
        LoggedIn = "logged_in",
        LoggedOut = "logged_out",
        /// A CA validates a name.
        AcmeChallenge = "acme_challenge",
        /// A proxy asked, and the request may pass.
        Allowed = "allowed",
    }
}

/// The party that caused the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReasonKind {
    Refused,
    Denied,
    Backend,
    Answer,
}

impl ReasonKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Denied => "denied",
            Self::Backend => "backend",
            Self::Answer => "answered",
        }
    }
}

impl Reason {
    pub(crate) fn kind(self) -> ReasonKind {
        let at = self as usize;
        if at < Self::NoToken as usize {
            ReasonKind::Refused
        } else if at < Self::NoServer as usize {
            ReasonKind::Denied
        } else if at < Self::Preflight as usize {
            ReasonKind::Backend
        } else {
            ReasonKind::Answer
        }
    }
}

words! {
    /// The limits of `[limits]`, by their names in the configuration, and the limits of
    /// `[upstream]` that affect clients.
    Limit {
        Connections = "connections",
        ConnectionsPerClient = "connections_per_client",
        HeadTime = "head_time",
        Head = "head",
        Fields = "fields",
        Body = "body",
        Buffered = "buffered",
        BufferedPerClient = "buffered_per_client",
        BodyRate = "body_rate",
        ReadRate = "read_rate",
        IdleTime = "idle_time",
        Requests = "requests",
        ExchangesPerClient = "exchanges_per_client",
        ExchangesPerSession = "exchanges_per_session",
        Streams = "streams",
        Resets = "resets",
        ControlFrames = "control_frames",
        /// QUIC clients that had to validate their address first (RFC 9000 §8.1.2).
        Unproved = "quic_unproved",
        /// QUIC clients that were refused because connections have used up the thread's budget.
        QuicMemory = "quic_memory",
        UpstreamConnections = "upstream_connections",
        Total = "total",
        RetryBudget = "retry_budget",
    }
}
