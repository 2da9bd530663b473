//! Status words: the registered ones, their meaning in plain words, and EPP's names for them (RFC
//! 8056, section 2).

/// A registered status word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The word as RDAP writes it.
    pub word: &'static str,
    /// EPP's code for the status, if RFC 8056 maps one.
    pub epp: Option<&'static str>,
    /// The meaning, in plain words.
    pub meaning: &'static str,
}

/// Finds a word, ignoring case and surrounding white space. EPP's words are known too, for servers
/// that send them.
pub fn find(word: &str) -> Option<&'static Status> {
    let word = word.trim();
    STATUS
        .iter()
        .find(|s| s.word.eq_ignore_ascii_case(word))
        .or_else(|| {
            STATUS
                .iter()
                .find(|s| s.epp.is_some_and(|e| e.eq_ignore_ascii_case(word)))
        })
}

/// Whether the word `sent` means the registered `word`.
pub fn is(sent: &str, word: &str) -> bool {
    sent.trim().eq_ignore_ascii_case(word) || find(sent).is_some_and(|s| s.word == word)
}

const fn both(word: &'static str, epp: &'static str, meaning: &'static str) -> Status {
    Status {
        word,
        epp: Some(epp),
        meaning,
    }
}

const fn rdap(word: &'static str, meaning: &'static str) -> Status {
    Status {
        word,
        epp: None,
        meaning,
    }
}

/// IANA's registry "RDAP JSON Values", type "status".
pub const STATUS: [Status; 36] = [
    both("active", "ok", "in use, nothing pending, nothing barred"),
    both("associated", "linked", "other objects refer to it"),
    both(
        "add period",
        "addPeriod",
        "just registered, may be deleted for a refund",
    ),
    both(
        "auto renew period",
        "autoRenewPeriod",
        "just renewed by the registry",
    ),
    both(
        "renew period",
        "renewPeriod",
        "just renewed by the registrar",
    ),
    both(
        "transfer period",
        "transferPeriod",
        "just moved to another registrar",
    ),
    both("inactive", "inactive", "no name servers, so not in the DNS"),
    both(
        "client hold",
        "clientHold",
        "kept out of the DNS by the registrar",
    ),
    both(
        "server hold",
        "serverHold",
        "kept out of the DNS by the registry",
    ),
    both(
        "client delete prohibited",
        "clientDeleteProhibited",
        "registrar bars deletion",
    ),
    both(
        "client renew prohibited",
        "clientRenewProhibited",
        "registrar bars renewal",
    ),
    both(
        "client transfer prohibited",
        "clientTransferProhibited",
        "registrar bars transfer",
    ),
    both(
        "client update prohibited",
        "clientUpdateProhibited",
        "registrar bars changes",
    ),
    both(
        "server delete prohibited",
        "serverDeleteProhibited",
        "registry bars deletion",
    ),
    both(
        "server renew prohibited",
        "serverRenewProhibited",
        "registry bars renewal",
    ),
    both(
        "server transfer prohibited",
        "serverTransferProhibited",
        "registry bars transfer",
    ),
    both(
        "server update prohibited",
        "serverUpdateProhibited",
        "registry bars changes",
    ),
    both(
        "pending create",
        "pendingCreate",
        "registration waits to be completed",
    ),
    both("pending delete", "pendingDelete", "about to be deleted"),
    both(
        "pending renew",
        "pendingRenew",
        "renewal waits to be completed",
    ),
    both(
        "pending restore",
        "pendingRestore",
        "restoration waits to be completed",
    ),
    both(
        "pending transfer",
        "pendingTransfer",
        "transfer waits to be completed",
    ),
    both(
        "pending update",
        "pendingUpdate",
        "change waits to be completed",
    ),
    both(
        "redemption period",
        "redemptionPeriod",
        "deleted, can still be restored",
    ),
    rdap("delete prohibited", "must not be deleted"),
    rdap("renew prohibited", "must not be renewed"),
    rdap("transfer prohibited", "must not be transferred"),
    rdap("update prohibited", "must not be changed"),
    rdap("administrative", "kept for administrative reasons"),
    rdap("locked", "must not be changed"),
    rdap("obscured", "some of it was altered to hide information"),
    rdap("private", "its holder asked for privacy"),
    rdap("proxy", "registered by a proxy for another"),
    rdap("removed", "some of it was left out"),
    rdap("reserved", "set aside, cannot be registered"),
    rdap("validated", "its data were verified"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_spelling() {
        assert_eq!(find(" Client Hold ").unwrap().epp, Some("clientHold"));
        assert_eq!(
            find("clientTransferProhibited").unwrap().word,
            "client transfer prohibited"
        );
        assert!(is("ok", "active") && is("ACTIVE", "active") && !is("locked", "active"));
        assert_eq!(find("unheard of"), None);
    }

    #[test]
    fn each_word_is_listed_once() {
        for (i, status) in STATUS.iter().enumerate() {
            assert!(!STATUS[..i].iter().any(|s| s.word == status.word));
            assert_eq!(status.word, status.word.to_lowercase());
        }
    }
}
