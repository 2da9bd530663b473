//! Reseals with the first key all credentials that are stored in plain text, in AES-256-CBC, or
//! under an older key. No user has to sign in again. A page of sessions is stored at once.

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

/// What to do with a session.
enum Resealing {
    Seal(Box<Replacement>),
    Kept,
    Gone,
}

/// The present record of a session, and the one that replaces it.
struct Replacement {
    before: Record,
    after: Record,
}

/// Sessions of a page.
type Resealings = Vec<(String, Box<Replacement>)>;

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
            let mut sealings = Resealings::with_capacity(page.sids.len());
            for sid in page.sids {
                match self.resealing(&sid, key).await {
                    Ok(Resealing::Seal(replacement)) => sealings.push((sid, replacement)),
                    Ok(Resealing::Kept) => resealed.kept += 1,
                    Ok(Resealing::Gone) => resealed.gone += 1,
                    Err(error) => resealed.fail(&sid, &error, &mut told),
                }
                if resealed.stopped {
                    return Ok(resealed);
                }
            }
            self.replace_batch(&sealings, &mut resealed, &mut told)
                .await;
            after = page.next;
            if after.is_none() || resealed.stopped {
                return Ok(resealed);
            }
        }
    }

    /// Replaces all of them at once, because a store may wait for its disk each time. If that
    /// fails, replaces one after the other, to find the session that cannot be replaced.
    async fn replace_batch(
        &self,
        sealings: &Resealings,
        resealed: &mut Resealed,
        told: &mut impl FnMut(&str, &GateError),
    ) {
        let all = sealings.iter();
        let all = all.map(|(sid, r)| (&**sid, &*r.before.credentials, &r.after));
        if let Ok(replaced) = self.store.replace_all(&all.collect::<Vec<_>>()).await {
            return replaced.into_iter().for_each(|is| resealed.count(is));
        }
        for (sid, replacement) in sealings {
            let Replacement { before, after } = &**replacement;
            match self.store.replace(sid, &before.credentials, after).await {
                Ok(replaced) => resealed.count(replaced),
                Err(error) => resealed.fail(sid, &error.into(), told),
            }
            if resealed.stopped {
                return;
            }
        }
    }

    async fn resealing(&self, sid: &str, key: &str) -> Result<Resealing, GateError> {
        let Some(before) = self.store.get(sid).await? else {
            return Ok(Resealing::Gone);
        };
        let form = self.form(&before);
        // A login is sealed again when its tokens are refreshed, and ends soon.
        if form == CredentialForm::Login || form == CredentialForm::Sealed(key.to_owned()) {
            return Ok(Resealing::Kept);
        }
        let login = self.vault.open(sid, &before.credentials)?;
        let sealed = self.vault.seal(sid, &login)?;
        let mut after = Record::new(sealed, before.expires);
        after.others.clone_from(&before.others);
        Ok(Resealing::Seal(Box::new(Replacement { before, after })))
    }
}

impl Resealed {
    fn count(&mut self, replaced: bool) {
        let count = if replaced {
            &mut self.sealed
        } else {
            &mut self.gone
        };
        *count += 1;
    }

    fn fail(&mut self, sid: &str, error: &GateError, told: &mut impl FnMut(&str, &GateError)) {
        told(sid, error);
        self.failed += 1;
        self.stopped = ends_all(error);
    }
}
