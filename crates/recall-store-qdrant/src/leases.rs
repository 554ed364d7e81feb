//! Leases: one point each, changed by compare-and-set.
//!
//! Qdrant judges a condition when it applies a write, one write of a shard at a time. So a lease is
//! a point that is written only while it is as it was read, and whoever reads its own token back
//! has it. The point says until when its holder may rely on it, by the clock of the server that
//! wrote it; whoever wants it waits [`MAX_SKEW`] longer, for clocks differ. Whose clock is late has
//! watched it unchanged for its whole time: that counts too.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use qdrant_client::qdrant::{Condition, Filter};
use recall_store::{Acquired, BoxFuture, Clock, Epoch, Error, Fence, Grant, LeaseState};
use recall_store_rows::{self as rows, Fields, Moment, NewRow};
use serde_json::{Value, json};

use crate::db::{Agreement, Db, Replace};
use crate::points;

/// By how much the clocks of two servers may differ.
const MAX_SKEW: Duration = Duration::from_secs(2);
/// What a look at a lease told is acted on at most this long after it was asked.
const LOOK_AGE: Duration = Duration::from_secs(4);
/// Several servers may change one lease at the same moment.
const RACES: u32 = 16;
/// Leases that are watched. Beyond it all are watched anew.
const MAX_WATCHED: usize = 20_000;
/// The shortest and longest time of a lease.
const MIN_TTL: Duration = Duration::from_millis(100);
const MAX_TTL: Duration = Duration::from_secs(3600);

/// The leases of one store.
#[derive(Debug)]
pub(crate) struct Leases {
    db: Arc<Db>,
    /// Where their points are: apart from all memory.
    collection: String,
    clock: Arc<dyn Clock>,
    /// Since when each lease was seen as it is, by id: its token, and when that was first read.
    watched: Mutex<HashMap<String, (String, Moment)>>,
}

/// A lease as its point tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lease {
    holder: String,
    /// Changes with every write.
    token: String,
    epoch: u64,
    expires_ms: i64,
    ttl_ms: u64,
    released: bool,
}

impl Lease {
    fn fields(&self, of: &str, name: &str) -> Fields {
        let fields = json!({
            "of": of, "lease": name, "holder": self.holder, "token": self.token,
            "epoch": self.epoch, "expires_ms": self.expires_ms, "ttl_ms": self.ttl_ms,
            "released": self.released,
        });
        match fields {
            Value::Object(fields) => fields,
            _ => Fields::new(),
        }
    }

    fn read(id: &str, fields: &Fields) -> Result<Self, Error> {
        let text = |name: &str| fields.get(name)?.as_str().map(str::to_owned);
        let lease = || {
            Some(Self {
                holder: text("holder")?,
                token: text("token")?,
                epoch: fields.get("epoch")?.as_u64()?,
                expires_ms: fields.get("expires_ms")?.as_i64()?,
                ttl_ms: fields.get("ttl_ms")?.as_u64()?,
                released: fields.get("released")?.as_bool()?,
            })
        };
        lease().ok_or_else(|| Error::Damaged(format!("the lease {id} does not decode")))
    }

    fn grant(&self, name: &str) -> Grant {
        let expires_at = Timestamp::from_millisecond(self.expires_ms);
        Grant {
            name: name.to_owned(),
            holder: self.holder.clone(),
            epoch: Epoch(self.epoch),
            expires_at: expires_at.unwrap_or(Timestamp::MAX),
        }
    }
}

impl Leases {
    pub(crate) fn new(db: Arc<Db>, prefix: &str, clock: Arc<dyn Clock>) -> Self {
        Self {
            db,
            collection: format!("{prefix}__recall_leases"),
            clock,
            watched: Mutex::default(),
        }
    }

    fn now_ms(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    async fn look(&self, id: &str) -> Result<Option<Lease>, Error> {
        let ids = [id.to_owned()];
        let found = self.db.get(&self.collection, &ids, Agreement::All).await?;
        let lease = found.get(id).map(|fields| Lease::read(id, fields));
        let lease = lease.transpose()?;
        if let Some(lease) = &lease {
            self.watch(id, &lease.token);
        }
        Ok(lease)
    }

    fn watch(&self, id: &str, token: &str) {
        let mut watched = self.watched.lock();
        match watched.get(id) {
            Some((known, _)) if known == token => return,
            _ => {}
        }
        if watched.len() >= MAX_WATCHED {
            watched.clear();
        }
        watched.insert(id.to_owned(), (token.to_owned(), Moment::now()));
    }

    /// Whether nobody may take it.
    fn is_held(&self, id: &str, lease: &Lease) -> bool {
        if lease.released {
            return false;
        }
        let skew = i64::try_from(MAX_SKEW.as_millis()).unwrap_or(i64::MAX);
        let over = self.now_ms() > lease.expires_ms.saturating_add(skew);
        let ttl = Duration::from_millis(lease.ttl_ms);
        let watched = self.watched.lock();
        let outwatched = watched
            .get(id)
            .is_some_and(|(token, since)| *token == lease.token && since.age() > ttl + MAX_SKEW);
        !over && !outwatched
    }

    /// Whether its holder may still rely on it.
    fn is_sure(&self, lease: &Lease) -> bool {
        !lease.released && self.now_ms() < lease.expires_ms
    }

    /// Writes a lease if it is still as it was read. Whether it did is told by the next look.
    async fn write(
        &self,
        (of, name): (&str, &str),
        lease: &Lease,
        was: Option<&Lease>,
    ) -> Result<(), Error> {
        let replace = match was {
            None => Replace::Matching(points::none()),
            Some(was) => Replace::OnlyMatching(Filter::must([Condition::matches(
                "token",
                was.token.clone(),
            )])),
        };
        let row = NewRow {
            id: id(of, name),
            values: vec![1.0],
            metadata: lease.fields(of, name),
        };
        self.db.put(&self.collection, vec![row], &replace).await
    }

    fn until(&self, ttl: Duration) -> (i64, u64) {
        let ttl_ms = u64::try_from(ttl.clamp(MIN_TTL, MAX_TTL).as_millis()).unwrap_or(u64::MAX);
        let expires = self.now_ms().saturating_add_unsigned(ttl_ms);
        (expires, ttl_ms)
    }

    /// Takes a lock, which is a lease that leaves nothing behind. Answers a number by which to give
    /// it back, unless another holds it.
    pub(crate) async fn lock(
        &self,
        of: &str,
        name: &str,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<u64>, Error> {
        // No lock of this name has had this number: the point may be gone and with it the last one.
        let first = u64::try_from(self.clock.now().as_microsecond()).unwrap_or(1);
        match self.take(of, name, holder, ttl, first).await? {
            Acquired::Granted(grant) => Ok(Some(grant.epoch.0)),
            Acquired::Held(_) => Ok(None),
        }
    }

    /// Removes a lock if it still has this number.
    pub(crate) async fn unlock(&self, of: &str, name: &str, number: u64) -> Result<(), Error> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let mine = Condition::matches("epoch", number);
        let ids = [id(of, name)];
        self.db.delete(&self.collection, &ids, Some(mine)).await
    }

    /// Takes a lease; one that never was has the epoch `first`.
    async fn take(
        &self,
        of: &str,
        name: &str,
        holder: &str,
        ttl: Duration,
        first: u64,
    ) -> Result<Acquired, Error> {
        let id = id(of, name);
        for _ in 0..RACES {
            let was = self.look(&id).await?;
            if let Some(was) = was.as_ref().filter(|was| self.is_held(&id, was)) {
                return Ok(Acquired::Held(was.grant(name)));
            }
            let (expires_ms, ttl_ms) = self.until(ttl);
            let mine = Lease {
                holder: holder.to_owned(),
                token: crate::token()?,
                epoch: was.as_ref().map_or(first, |was| was.epoch + 1),
                expires_ms,
                ttl_ms,
                released: false,
            };
            self.write((of, name), &mine, was.as_ref()).await?;
            let now = self.look(&id).await?;
            if now.as_ref() == Some(&mine) {
                return Ok(Acquired::Granted(mine.grant(name)));
            }
        }
        Err(Error::unavailable("a lease kept being fought over"))
    }

    async fn renew(&self, of: &str, grant: &Grant, ttl: Duration) -> Result<Grant, Error> {
        let id = id(of, &grant.name);
        for _ in 0..RACES {
            let was = self.mine(&id, grant.epoch).await?;
            let (expires_ms, ttl_ms) = self.until(ttl);
            let longer = Lease {
                token: crate::token()?,
                expires_ms,
                ttl_ms,
                ..was.clone()
            };
            self.write((of, &grant.name), &longer, Some(&was)).await?;
            let now = self.mine(&id, grant.epoch).await?;
            // It may be another of our servers that made it longer.
            if now.token != was.token {
                return Ok(now.grant(&grant.name));
            }
        }
        Err(Error::unavailable(
            "a lease kept changing while it was renewed",
        ))
    }

    async fn release(&self, of: &str, name: &str, epoch: Epoch) -> Result<bool, Error> {
        let id = id(of, name);
        let mut ours = false;
        for _ in 0..RACES {
            let was = self.look(&id).await?;
            let Some(was) = was.filter(|was| was.epoch == epoch.0 && !was.released) else {
                return Ok(ours);
            };
            ours = true;
            let released = Lease {
                token: crate::token()?,
                released: true,
                ..was.clone()
            };
            self.write((of, name), &released, Some(&was)).await?;
            // A renewal may have come first; then it is still held.
        }
        Err(Error::unavailable(
            "a lease kept being renewed while it was given back",
        ))
    }

    /// The lease, if its holder may rely on it under this epoch.
    async fn mine(&self, id: &str, epoch: Epoch) -> Result<Lease, Error> {
        let lease = self.look(id).await?;
        let current = Epoch(lease.as_ref().map_or(0, |lease| lease.epoch));
        lease
            .filter(|lease| lease.epoch == epoch.0 && self.is_sure(lease))
            .ok_or(Error::Fenced {
                held: epoch,
                current,
            })
    }
}

/// The id of a lease's point.
fn id(of: &str, name: &str) -> String {
    format!("{of}\0{name}")
}

impl rows::Leases for Leases {
    fn acquire<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Acquired, Error>> {
        Box::pin(self.take(collection, name, holder, ttl, 1))
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
        Box::pin(async move {
            let id = id(collection, name);
            Ok(self.look(&id).await?.map(|lease| LeaseState {
                grant: lease.grant(name),
                live: self.is_held(&id, &lease),
            }))
        })
    }

    fn check<'a>(
        &'a self,
        collection: &'a str,
        fence: &'a Fence,
    ) -> BoxFuture<'a, Result<Moment, Error>> {
        Box::pin(async move {
            let asked = Moment::now();
            let id = id(collection, &fence.lease);
            self.mine(&id, fence.epoch).await?;
            Ok(asked)
        })
    }

    fn stands(&self, asked: Moment) -> bool {
        asked.age() < LOOK_AGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_survives_the_store() {
        let lease = Lease {
            holder: "host:12:é".to_owned(),
            token: "t".to_owned(),
            epoch: 7,
            expires_ms: 1_700_000_000_000,
            ttl_ms: 60_000,
            released: false,
        };
        let fields = lease.fields("c", "coder");
        assert_eq!(Lease::read("x", &fields).expect("a lease"), lease);
        let error = Lease::read("x", &Fields::new()).expect_err("no lease");
        assert_eq!(error.code(), "store_damaged");
    }
}
