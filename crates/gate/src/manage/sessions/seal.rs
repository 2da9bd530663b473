//! Reseals with the first key all credentials that are stored in plain text, in AES-256-CBC, or
//! under an older key. No user has to sign in again.

use roundtrip_store::{Record, Store};
use serde::Serialize;

use super::{CredentialForm, SessionManager, ends_all};
use crate::GateError;

const PAGE_SIZE: usize = 500;

/// The number of sessions by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Resealed {
    pub sealed: u64,
    /// Already sealed under the first key.
    pub kept: u64,
    /// Sessions that were revoked, expired or rewritten meanwhile.
    pub gone: u64,
    pub failed: u64,
    /// The rest was not processed, because the last error would have repeated for every session.
    pub stopped: bool,
}

enum SealOutcome {
    Sealed,
    Kept,
    Gone,
}

impl SessionManager {
    /// Seals all sessions. `told` gets each session that failed; it stays as it was.
    pub async fn seal(
        &self,
        mut told: impl FnMut(&str, &GateError),
    ) -> Result<Resealed, GateError> {
        let Some(key) = self.vault.seals_with() else {
            return Err(GateError::NoSealingKey);
        };
        let (mut resealed, mut after) = (Resealed::default(), None);
        loop {
            let page = self.store.list(after.as_deref(), PAGE_SIZE).await?;
            for sid in &page.sids {
                match self.seal_one(sid, key).await {
                    Ok(SealOutcome::Sealed) => resealed.sealed += 1,
                    Ok(SealOutcome::Kept) => resealed.kept += 1,
                    Ok(SealOutcome::Gone) => resealed.gone += 1,
                    Err(error) => {
                        told(sid, &error);
                        resealed.failed += 1;
                        if ends_all(&error) {
                            resealed.stopped = true;
                            return Ok(resealed);
                        }
                    }
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(resealed);
            }
        }
    }

    async fn seal_one(&self, sid: &str, key: &str) -> Result<SealOutcome, GateError> {
        let Some(before) = self.store.get(sid).await? else {
            return Ok(SealOutcome::Gone);
        };
        let form = self.form(&before);
        // A login is sealed again when its tokens are refreshed, and ends soon.
        if form == CredentialForm::Login || form == CredentialForm::Sealed(key.to_owned()) {
            return Ok(SealOutcome::Kept);
        }
        let login = self.vault.open(sid, &before.credentials)?;
        let sealed = self.vault.seal(sid, &login)?;
        let mut after = Record::new(sealed, before.expires);
        after.others = before.others.clone();
        let replaced = self.store.replace(sid, &before.credentials, &after);
        Ok(if replaced.await? {
            SealOutcome::Sealed
        } else {
            SealOutcome::Gone
        })
    }
}
