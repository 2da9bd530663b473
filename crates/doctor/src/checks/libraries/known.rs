//! The known TLS libraries: how each is recognised, and which version supports what.
//!
//! The releases that introduced TLS 1.2 and 1.3 are listed with each library. If a library names
//! its groups in text, post-quantum support is judged by its bytes rather than by its version.

use std::fmt;

use crate::check::{Area, CheckSubject};
use crate::version::SoftwareVersion;

/// A kind of library, identified by its file name.
pub(super) struct LibraryKind {
    pub(super) subject: CheckSubject,
    /// The file name, with `*`.
    pub(super) file: &'static str,
    /// Texts to look for in the library's file.
    pub(super) markers: &'static [&'static str],
    /// Identifies the library by the text after each marker; `None` means that it is another
    /// library.
    pub(super) identify: fn(&[Vec<String>]) -> Option<Library>,
    /// The prefixes of the names of the library's packages.
    pub(super) packages: &'static [&'static str],
    /// Advice about an old version.
    pub(super) remedy: &'static str,
}

/// The library that a file was recognised as.
pub(super) struct Library {
    /// What the file should be called, if its name misleads: `LibreSSL` is called libcrypto too.
    pub(super) subject: Option<CheckSubject>,
    pub(super) version: Option<SoftwareVersion>,
    pub(super) tls: TlsSupport,
    pub(super) post_quantum: PostQuantum,
}

/// The highest supported version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TlsSupport {
    V1_0,
    V1_2,
    V1_3,
    Unknown,
}

/// Whether the library supports X25519MLKEM768.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostQuantum {
    /// Sent in the first `ClientHello` by default.
    Default,
    /// Supported, but a program has to ask for it.
    Possible,
    No,
    Unknown,
}

/// The name of the hybrid group in most libraries.
const HYBRID: &str = "X25519MLKEM768";

pub(super) const MAKES: [LibraryKind; 5] = [
    LibraryKind {
        subject: OPENSSL,
        file: "libcrypto*.so*",
        markers: &["OpenSSL ", "LibreSSL ", HYBRID, "BoringSSL", "AWS-LC "],
        identify: crypto,
        packages: &["libssl1", "libssl3", "libcrypto", "openssl-libs"],
        remedy: "a base image with OpenSSL 1.1.1 or later; 3.5 is supported until 2030",
    },
    LibraryKind {
        subject: CheckSubject::new("tls-gnutls", Area::Tls, "GnuTLS"),
        file: "libgnutls.so*",
        markers: &["GnuTLS ", HYBRID, "X25519-MLKEM768"],
        identify: gnutls,
        packages: &["libgnutls30", "gnutls"],
        remedy: "a base image with GnuTLS 3.6.5 or later",
    },
    LibraryKind {
        subject: CheckSubject::new("tls-nss", Area::Tls, "NSS"),
        file: "libnss3.so*",
        markers: &["NSS "],
        identify: nss,
        packages: &["libnss3", "nss"],
        remedy: "a base image with NSS 3.39 or later",
    },
    LibraryKind {
        subject: CheckSubject::new("tls-mbedtls", Area::Tls, "Mbed TLS"),
        file: "libmbedcrypto.so*",
        markers: &["bed TLS "],
        identify: mbedtls,
        packages: &["libmbedcrypto", "mbedtls"],
        remedy: "Mbed TLS 3.6 or later",
    },
    LibraryKind {
        subject: CheckSubject::new("tls-wolfssl", Area::Tls, "wolfSSL"),
        file: "libwolfssl.so*",
        markers: &["wolfSSL ", "TLSv1.3", "MLKEM768"],
        identify: wolfssl,
        packages: &["libwolfssl", "wolfssl"],
        remedy: "a build of wolfSSL with TLS 1.3",
    },
];

const OPENSSL: CheckSubject = CheckSubject::new("tls-openssl", Area::Tls, "OpenSSL");
const LIBRESSL: CheckSubject = CheckSubject::new("tls-libressl", Area::Tls, "LibreSSL");
const BORINGSSL: CheckSubject = CheckSubject::new("tls-boringssl", Area::Tls, "BoringSSL");
const AWS_LC: CheckSubject = CheckSubject::new("tls-aws-lc", Area::Tls, "AWS-LC");

/// Identifies `OpenSSL` and its forks, which all call the library libcrypto.
fn crypto(captures: &[Vec<String>]) -> Option<Library> {
    let [openssl, libressl, hybrid, boringssl, aws_lc, ..] = captures else {
        return None;
    };
    let hybrid = !hybrid.is_empty();
    // Forks claim compatibility with OpenSSL 1.1.1, so they are checked first.
    if !aws_lc.is_empty() {
        return Some(modern(AWS_LC, version(aws_lc), hybrid));
    }
    if !boringssl.is_empty() {
        return Some(modern(BORINGSSL, None, hybrid));
    }
    if let Some(version) = version(libressl) {
        return Some(Library {
            subject: Some(LIBRESSL),
            tls: since(&version, (3, 1, 0), (2, 1, 0)),
            post_quantum: if hybrid {
                PostQuantum::Possible
            } else {
                PostQuantum::No
            },
            version: Some(version),
        });
    }
    let version = version(openssl)?;
    Some(Library {
        subject: None,
        tls: since(&version, (1, 1, 1), (1, 0, 1)),
        post_quantum: match hybrid {
            true if version.at_least(3, 5, 0) => PostQuantum::Default,
            true => PostQuantum::Possible,
            false => PostQuantum::No,
        },
        version: Some(version),
    })
}

/// Libraries without old releases: TLS 1.3, and the hybrid group if its name is in them.
fn modern(subject: CheckSubject, version: Option<SoftwareVersion>, hybrid: bool) -> Library {
    Library {
        subject: Some(subject),
        version,
        tls: TlsSupport::V1_3,
        post_quantum: if hybrid {
            PostQuantum::Possible
        } else {
            PostQuantum::No
        },
    }
}

fn gnutls(captures: &[Vec<String>]) -> Option<Library> {
    let version = version(captures.first()?)?;
    let hybrid = captures.iter().skip(1).any(|found| !found.is_empty());
    Some(Library {
        subject: None,
        tls: since(&version, (3, 6, 5), (2, 0, 0)),
        post_quantum: if hybrid {
            PostQuantum::Possible
        } else {
            PostQuantum::No
        },
        version: Some(version),
    })
}

fn nss(captures: &[Vec<String>]) -> Option<Library> {
    let version = version(captures.first()?)?;
    let post_quantum = if version.at_least(3, 118, 0) {
        PostQuantum::Default
    } else if version.at_least(3, 105, 0) {
        PostQuantum::Possible
    } else {
        PostQuantum::No
    };
    Some(Library {
        subject: None,
        tls: since(&version, (3, 39, 0), (3, 15, 1)),
        post_quantum,
        version: Some(version),
    })
}

fn mbedtls(captures: &[Vec<String>]) -> Option<Library> {
    let version = version(captures.first()?)?;
    Some(Library {
        subject: None,
        tls: since(&version, (3, 6, 0), (1, 2, 0)),
        post_quantum: PostQuantum::No,
        version: Some(version),
    })
}

/// Identifies wolfSSL. Its protocols are chosen at build time, so its bytes decide.
fn wolfssl(captures: &[Vec<String>]) -> Option<Library> {
    let [name, tls_1_3, hybrid, ..] = captures else {
        return None;
    };
    Some(Library {
        subject: None,
        version: version(name),
        tls: if tls_1_3.is_empty() {
            TlsSupport::Unknown
        } else {
            TlsSupport::V1_3
        },
        post_quantum: if hybrid.is_empty() {
            PostQuantum::Unknown
        } else {
            PostQuantum::Possible
        },
    })
}

/// The version with the most parts among the captures, the first of several: prose in a library may
/// mention "OpenSSL 3.0".
fn version(captures: &[String]) -> Option<SoftwareVersion> {
    let mut versions: Vec<SoftwareVersion> = captures
        .iter()
        .filter_map(|t| SoftwareVersion::parse(t))
        .collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version.base().matches('.').count()));
    versions.into_iter().next()
}

/// The highest TLS version, given the releases that introduced 1.3 and 1.2.
fn since(version: &SoftwareVersion, v1_3: (u32, u32, u32), v1_2: (u32, u32, u32)) -> TlsSupport {
    let at_least = |(major, minor, patch)| version.at_least(major, minor, patch);
    match (at_least(v1_3), at_least(v1_2)) {
        (true, _) => TlsSupport::V1_3,
        (false, true) => TlsSupport::V1_2,
        (false, false) => TlsSupport::V1_0,
    }
}

impl fmt::Display for TlsSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1_0 => "TLS 1.0 at most",
            Self::V1_2 => "TLS 1.2 at most",
            Self::V1_3 => "TLS 1.3",
            Self::Unknown => "TLS versions unknown",
        })
    }
}

impl fmt::Display for PostQuantum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "post-quantum by default",
            Self::Possible => "post-quantum on request",
            Self::No => "no post-quantum",
            Self::Unknown => "post-quantum unknown",
        })
    }
}
