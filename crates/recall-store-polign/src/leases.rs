//! Leases that keep their promise over a store whose renewals do not check much.
//!
//! polign_db grants a renewal to whoever names the right epoch, and after some renewals even to one
//! who names a long past one. So a lease here says by itself under which epoch it was taken: the
//! epoch stands behind the holder's words. Whoever wants to renew or write first asks for the lease
//! and is refused with the words of who holds it; only (me, my epoch) is still the holder. The
//! store's own epoch, which grows at each renewal, is nobody's business but that of this module.

use std::sync::Arc;
use std::time::Duration;

use recall_store::{Acquired, BoxFuture, Epoch, Error, Fence, Grant, LeaseState};
use recall_store_rows::{self as rows, Moment};

use crate::db::{Db, Lease, Taken};

/// The longest holder that the store takes, in characters.
const MAX_HOLDER: usize = 200;
/// Room for the epoch behind it.
const MAX_SUFFIX: usize = 24;
/// Who asks for a lease only to learn who holds it.
const PROBE: &str = "recall probe";
/// The shortest lease of the store. A probe that was granted one gives it back at once.
const PROBE_TTL_MS: u64 = 5000;
const MIN_TTL_MS: u64 = 5000;
const MAX_TTL_MS: u64 = 3_600_000;
/// How often a lease that only a probe holds is asked for again, and the wait between.
const PROBE_TRIES: u32 = 60;
const PROBE_PAUSE: Duration = Duration::from_millis(100);
/// What a probe told is acted on at most this long after it was asked.
const PROBE_AGE: Duration = Duration::from_secs(4);
/// Renewals by several replicas of one holder may meet.
const RENEWALS: u32 = 4;

/// The leases of one store.
#[derive(Debug)]
pub(crate) struct Leases {
    db: Arc<Db>,
}

/// What a probe found.
enum Probed {
    /// Somebody holds it.
    Live(Lease),
    /// Nobody does. `after` is the last epoch of the store before the probe; 0 if it was never held.
    Free { after: u64 },
}

impl Leases {
    pub(crate) fn new(db: Arc<Db>) -> Self {
        Self { db }
    }

    async fn acquire(
        &self,
        collection: &str,
        name: &str,
        holder: &str,
        ttl: Duration,
    ) -> Result<Acquired, Error> {
        let holder = cut(holder);
        let ttl = millis(ttl);
        for _ in 0..PROBE_TRIES {
            match self.db.acquire(collection, name, holder, ttl).await? {
                Taken::Held(lease) if lease.holder == PROBE => {
                    tokio::time::sleep(PROBE_PAUSE).await
                }
                Taken::Held(lease) => return Ok(Acquired::Held(grant(name, &lease))),
                Taken::Granted(lease) => {
                    // From here on the lease itself tells its epoch.
                    let signed = sign(holder, lease.epoch);
                    let marked = self
                        .db
                        .renew(collection, name, &signed, lease.epoch, ttl)
                        .await?;
                    if let Some(marked) = marked {
                        return Ok(Acquired::Granted(grant(
                            name,
                            &Lease {
                                holder: signed,
                                ..marked
                            },
                        )));
                    }
                }
            }
        }
        Err(Error::unavailable("a lease kept being asked about"))
    }

    async fn renew(&self, collection: &str, grant: &Grant, ttl: Duration) -> Result<Grant, Error> {
        for _ in 0..RENEWALS {
            let asked = Moment::now();
            let lease = self.mine(collection, &grant.name, grant.epoch).await?;
            // A pause since then may have outlasted the lease and more.
            if asked.age() > PROBE_AGE {
                continue;
            }
            let (holder, epoch) = (lease.holder.as_str(), lease.epoch);
            self.db
                .renew(collection, &grant.name, holder, epoch, millis(ttl))
                .await?;
            // Granted or not, who holds it now is what counts.
            let now = self.mine(collection, &grant.name, grant.epoch).await?;
            if now.epoch > epoch {
                return Ok(self::grant(&grant.name, &now));
            }
        }
        Err(Error::unavailable(
            "a lease kept changing while it was renewed",
        ))
    }

    /// Gives a lease back if it still has this epoch.
    async fn release(&self, collection: &str, name: &str, epoch: Epoch) -> Result<bool, Error> {
        let mut ours = false;
        for _ in 0..RENEWALS {
            match self.probe(collection, name).await? {
                Probed::Live(lease) if epoch_of(&lease) == epoch => {
                    ours = true;
                    self.db
                        .release(collection, name, &lease.holder, lease.epoch)
                        .await?;
                    // A renewal may have come first; then it is still held.
                }
                Probed::Live(_) | Probed::Free { .. } => return Ok(ours),
            }
        }
        Err(Error::unavailable(
            "a lease kept being renewed while it was given back",
        ))
    }

    async fn inspect(&self, collection: &str, name: &str) -> Result<Option<LeaseState>, Error> {
        Ok(match self.probe(collection, name).await? {
            Probed::Live(lease) => Some(LeaseState {
                grant: grant(name, &lease),
                live: true,
            }),
            Probed::Free { after: 0 } => None,
            Probed::Free { after } => {
                let holder = String::new();
                let expires_at = jiff::Timestamp::UNIX_EPOCH;
                let past = Lease {
                    holder,
                    epoch: after,
                    expires_at,
                };
                Some(LeaseState {
                    grant: grant(name, &past),
                    live: false,
                })
            }
        })
    }

    /// Refuses unless the lease is held under this epoch. Answers when that was asked.
    async fn check(&self, collection: &str, fence: &Fence) -> Result<Moment, Error> {
        let asked = Moment::now();
        self.mine(collection, &fence.lease, fence.epoch).await?;
        Ok(asked)
    }

    async fn mine(&self, collection: &str, name: &str, epoch: Epoch) -> Result<Lease, Error> {
        let lost = |current| Error::Fenced {
            held: epoch,
            current,
        };
        match self.probe(collection, name).await? {
            Probed::Live(lease) if epoch_of(&lease) == epoch => Ok(lease),
            Probed::Live(lease) => Err(lost(epoch_of(&lease))),
            Probed::Free { after } => Err(lost(Epoch(after))),
        }
    }

    /// Asks for a lease to learn who holds it. One that is granted is given back; that costs two of
    /// the store's epochs and makes whoever comes meanwhile wait.
    async fn probe(&self, collection: &str, name: &str) -> Result<Probed, Error> {
        match self
            .db
            .acquire(collection, name, PROBE, PROBE_TTL_MS)
            .await?
        {
            Taken::Held(lease) if lease.holder == PROBE => Ok(Probed::Free {
                after: lease.epoch.saturating_sub(1),
            }),
            Taken::Held(lease) => Ok(Probed::Live(lease)),
            Taken::Granted(lease) => {
                self.db
                    .release(collection, name, PROBE, lease.epoch)
                    .await?;
                Ok(Probed::Free {
                    after: lease.epoch.saturating_sub(1),
                })
            }
        }
    }
}

impl rows::Leases for Leases {
    fn acquire<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Acquired, Error>> {
        Box::pin(Self::acquire(self, collection, name, holder, ttl))
    }

    fn renew<'a>(
        &'a self,
        collection: &'a str,
        grant: &'a Grant,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Grant, Error>> {
        Box::pin(Self::renew(self, collection, grant, ttl))
    }

    fn release<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(Self::release(self, collection, name, epoch))
    }

    fn inspect<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<LeaseState>, Error>> {
        Box::pin(Self::inspect(self, collection, name))
    }

    fn check<'a>(
        &'a self,
        collection: &'a str,
        fence: &'a Fence,
    ) -> BoxFuture<'a, Result<Moment, Error>> {
        Box::pin(Self::check(self, collection, fence))
    }

    fn stands(&self, asked: Moment) -> bool {
        asked.age() < PROBE_AGE
    }
}

fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis())
        .unwrap_or(MAX_TTL_MS)
        .clamp(MIN_TTL_MS, MAX_TTL_MS)
}

/// As much of a holder's words as leaves room for the epoch.
fn cut(holder: &str) -> &str {
    let end = holder
        .char_indices()
        .nth(MAX_HOLDER - MAX_SUFFIX)
        .map_or(holder.len(), |(at, _)| at);
    holder.get(..end).unwrap_or(holder)
}

fn sign(holder: &str, epoch: u64) -> String {
    format!("{holder} @{epoch}")
}

/// The holder's words and the epoch at which it took the lease. A lease of the published server has
/// none; its epoch is the store's.
fn read(lease: &Lease) -> (&str, Epoch) {
    let signed = lease.holder.rsplit_once(" @").and_then(|(words, epoch)| {
        let plain = !epoch.is_empty() && epoch.bytes().all(|byte| byte.is_ascii_digit());
        Some((
            words,
            Epoch(
                epoch
                    .parse()
                    .ok()
                    .filter(|epoch| plain && *epoch <= lease.epoch)?,
            ),
        ))
    });
    signed.unwrap_or((&lease.holder, Epoch(lease.epoch)))
}

fn epoch_of(lease: &Lease) -> Epoch {
    read(lease).1
}

fn grant(name: &str, lease: &Lease) -> Grant {
    let (holder, epoch) = read(lease);
    Grant {
        name: name.to_owned(),
        holder: holder.to_owned(),
        epoch,
        expires_at: lease.expires_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(holder: &str, epoch: u64, expected: (&str, u64)) {
        let lease = Lease {
            holder: holder.to_owned(),
            epoch,
            expires_at: jiff::Timestamp::UNIX_EPOCH,
        };
        assert_eq!(read(&lease), (expected.0, Epoch(expected.1)));
    }

    #[test]
    fn a_lease_tells_its_epoch() {
        check(&sign("me", 7), 9, ("me", 7));
        check(&sign("me @5", 7), 9, ("me @5", 7));
        check("host:12:ab", 9, ("host:12:ab", 9));
        check("me @x", 9, ("me @x", 9));
        // Nobody took a lease in the future: these are a stranger's own words.
        check("me @99", 9, ("me @99", 9));
    }

    #[test]
    fn long_holders_leave_room() {
        let holder = "é".repeat(300);
        assert!(sign(cut(&holder), u64::MAX).chars().count() <= MAX_HOLDER);
        assert_eq!(cut("me"), "me");
    }
}
