//! polign_db as a store of rows.

use std::collections::HashMap;
use std::time::Duration;

use recall_store::{BoxFuture, Error};
use recall_store_rows::{Fields, ID_OF_OURS, NewRow, Row, Rows};
use serde_json::{Value, json};

use crate::db::{Db, MAX_HITS, Taken};

impl Rows for Db {
    fn name(&self) -> &'static str {
        "polign_db"
    }

    fn ready(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(Self::ready(self))
    }

    fn get<'a>(
        &'a self,
        collection: &'a str,
        ids: Vec<String>,
    ) -> BoxFuture<'a, Result<HashMap<String, Fields>, Error>> {
        Box::pin(Self::get(self, collection, ids))
    }

    fn put<'a>(
        &'a self,
        collection: &'a str,
        rows: Vec<NewRow>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(Self::put(self, collection, rows))
    }

    fn delete<'a>(
        &'a self,
        collection: &'a str,
        ids: Vec<String>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(Self::delete(self, collection, ids))
    }

    fn count<'a>(&'a self, collection: &'a str) -> BoxFuture<'a, Result<u64, Error>> {
        Box::pin(async move { Ok(self.page(collection, None, 0).await?.1) })
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        equal: &'a Fields,
    ) -> BoxFuture<'a, Result<Vec<Row>, Error>> {
        Box::pin(async move {
            let filter = (!equal.is_empty()).then(|| Value::Object(equal.clone()));
            Self::list(self, collection, filter.as_ref()).await
        })
    }

    fn everything<'a>(&'a self, collection: &'a str) -> BoxFuture<'a, Result<Vec<Row>, Error>> {
        Box::pin(self.everything_quickly(collection))
    }

    fn strangers<'a>(
        &'a self,
        collection: &'a str,
        since_ms: i64,
    ) -> BoxFuture<'a, Result<Vec<Row>, Error>> {
        Box::pin(async move {
            let filter = json!({ "$and": [
                { ID_OF_OURS: { "$exists": false } },
                { "observed_ms": { "$gte": since_ms } },
            ] });
            let rows = self.query(collection, &filter).await?;
            match rows.len() < MAX_HITS {
                true => Ok(rows),
                false => Self::list(self, collection, Some(&filter)).await,
            }
        })
    }

    fn lock<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Option<u64>, Error>> {
        Box::pin(async move {
            let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
            Ok(
                match self.acquire(collection, name, holder, ttl_ms).await? {
                    Taken::Granted(lease) => Some(lease.epoch),
                    Taken::Held(_) => None,
                },
            )
        })
    }

    fn unlock<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
        holder: &'a str,
        number: u64,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.release(collection, name, holder, number))
    }
}
