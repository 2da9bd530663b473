//! Which variables must be equal, and where `probe` differs from curl on purpose, with the reason.

pub(super) enum Rule {
    /// The same text.
    Same,
    /// A measurement: zero on both sides or on neither.
    Happened,
    /// The value differs from curl's for this reason, but it is empty on both sides or on neither.
    Ours { _reason: &'static str },
}

impl Rule {
    pub(super) fn holds(&self, curl: &str, probe: &str) -> bool {
        let zero = |text: &str| text.parse::<f64>().is_ok_and(|n| n == 0.0);
        match self {
            Self::Same => curl == probe,
            Self::Happened => zero(curl) == zero(probe),
            Self::Ours { .. } => curl.is_empty() == probe.is_empty(),
        }
    }
}

/// All variables of Debian's curl 7.88; the first 27 are those of the article.
pub(super) const VARIABLES: [(&str, Rule); 40] = [
    ("time_namelookup", Rule::Happened),
    ("time_connect", Rule::Happened),
    ("time_appconnect", Rule::Happened),
    ("time_pretransfer", Rule::Happened),
    ("time_redirect", Rule::Happened),
    ("time_starttransfer", Rule::Happened),
    ("time_total", Rule::Happened),
    ("content_type", Rule::Same),
    ("filename_effective", Rule::Same),
    ("http_code", Rule::Same),
    ("ftp_entry_path", Rule::Same),
    ("http_connect", Rule::Same),
    ("local_ip", Rule::Same),
    ("local_port", Rule::Happened),
    ("num_connects", Rule::Same),
    ("num_redirects", Rule::Same),
    ("redirect_url", Rule::Same),
    ("remote_ip", Rule::Same),
    ("remote_port", Rule::Same),
    ("size_download", Rule::Same),
    ("size_header", Rule::Same),
    ("size_request", Rule::Same),
    ("size_upload", Rule::Same),
    ("speed_download", Rule::Happened),
    ("speed_upload", Rule::Happened),
    ("ssl_verify_result", Rule::Same),
    ("url_effective", Rule::Same),
    (
        "certs",
        Rule::Ours {
            _reason: "curl prints every field as OpenSSL words it; ours are the names and the PEM",
        },
    ),
    (
        "errormsg",
        Rule::Ours {
            _reason: "curl's words say what failed; ours also what to do about it",
        },
    ),
    ("exitcode", Rule::Same),
    ("http_version", Rule::Same),
    ("method", Rule::Same),
    ("num_certs", Rule::Same),
    ("num_headers", Rule::Same),
    ("proxy_ssl_verify_result", Rule::Same),
    ("referer", Rule::Same),
    ("response_code", Rule::Same),
    ("scheme", Rule::Same),
    ("url", Rule::Same),
    ("urlnum", Rule::Same),
];

/// An intended difference: a variable, curl's exit codes with which it occurs, curl's value and
/// ours (`*` for any), and the reason.
pub(super) struct Difference {
    pub(super) variable: &'static str,
    exit_codes: &'static [&'static str],
    curl: &'static str,
    probe: &'static str,
    _reason: &'static str,
}

impl Difference {
    pub(super) fn explains(&self, exit_code: &str, curl: &str, probe: &str) -> bool {
        let fits = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        self.exit_codes.contains(&exit_code) && fits(self.curl, curl) && fits(self.probe, probe)
    }
}

const fn shown_though_refused(variable: &'static str, none: &'static str) -> Difference {
    Difference {
        variable,
        exit_codes: &["60"],
        curl: none,
        probe: "*",
        _reason: "curl has a chain only once the handshake is over; the one that was refused is what one wants to see",
    }
}

pub(super) const ON_PURPOSE: [Difference; 7] = [
    Difference {
        variable: "time_total",
        exit_codes: &["6"],
        curl: "0.000000",
        probe: "*",
        _reason: "a name that is refused without a question takes curl less than its clock shows",
    },
    shown_though_refused("certs", ""),
    shown_though_refused("num_certs", "0"),
    Difference {
        variable: "time_connect",
        exit_codes: &["35", "60"],
        curl: "0.000000",
        probe: "*",
        _reason: "curl 7.88 notes when TCP was connected only once TLS is done as well",
    },
    Difference {
        variable: "time_starttransfer",
        exit_codes: &["52", "56"],
        curl: "*",
        probe: "0.000000",
        _reason: "curl takes the end of the connection for the first byte of an answer; none came",
    },
    Difference {
        variable: "ssl_verify_result",
        exit_codes: &["35"],
        curl: "1",
        probe: "0",
        _reason: "curl leaves its initial value; no certificate came, so nothing was found wrong with one",
    },
    Difference {
        variable: "ssl_verify_result",
        exit_codes: &["60"],
        curl: "1",
        probe: "62",
        _reason: "curl leaves its initial value; 62 is OpenSSL's number for a name that does not fit",
    },
];
