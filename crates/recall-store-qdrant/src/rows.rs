//! Qdrant as a store of rows.
//!
//! A write on a condition answers alike whether the condition held. So such a write carries a token
//! that is read back; and because another may have written on top meanwhile, a row keeps the tokens
//! of its last writes. A server too old for conditions still serves one replica, which needs none.

use std::collections::HashMap;
use std::time::Duration;

use qdrant_client::qdrant::Filter;
use recall_store::{BoxFuture, Error};
use recall_store_rows::{Fields, ID_OF_OURS, NewRow, Row, Rows, WRITES};
use serde_json::Value;

use crate::Parts;
use crate::client::Failure;
use crate::db::{Agreement, Replace};
use crate::points;

/// The writes that a row remembers. A writer that is slower than this many others to read back takes
/// its write for lost.
const REMEMBERED: usize = 16;

impl Rows for Parts {
    fn name(&self) -> &'static str {
        "Qdrant"
    }

    fn ready(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let greeted = self.db.client.greet().await;
            greeted.map(drop).map_err(Failure::error)
        })
    }

    fn get<'a>(
        &'a self,
        collection: &'a str,
        ids: Vec<String>,
    ) -> BoxFuture<'a, Result<HashMap<String, Fields>, Error>> {
        Box::pin(async move { self.db.get(collection, &ids, Agreement::Usual).await })
    }

    fn put<'a>(
        &'a self,
        collection: &'a str,
        rows: Vec<NewRow>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { self.db.put(collection, rows, &Replace::All).await })
    }

    fn add<'a>(
        &'a self,
        collection: &'a str,
        rows: Vec<NewRow>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let replace = match self.conditional() {
                true => Replace::Matching(points::none()),
                false => Replace::All,
            };
            self.db.put(collection, rows, &replace).await
        })
    }

    fn put_newer<'a>(
        &'a self,
        collection: &'a str,
        rows: Vec<NewRow>,
        version: u64,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let replace = match self.conditional() {
                true => Replace::Matching(Filter::must([points::older(version)])),
                false => Replace::All,
            };
            self.db.put(collection, rows, &replace).await
        })
    }

    fn delete_older<'a>(
        &'a self,
        collection: &'a str,
        ids: Vec<String>,
        version: u64,
    ) -> BoxFuture<'a, Result<(), Error>> {
        let only = Some(points::older(version));
        Box::pin(async move { self.db.delete(collection, &ids, only).await })
    }

    fn conditional(&self) -> bool {
        self.db.client.conditional()
    }

    fn put_if<'a>(
        &'a self,
        collection: &'a str,
        row: NewRow,
        was: Option<Fields>,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(self.put_on_condition(collection, row, was))
    }

    fn delete_if<'a>(
        &'a self,
        collection: &'a str,
        id: String,
        was: Fields,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let ids = [id];
            let only = Some(points::unchanged(&was));
            self.db.delete(collection, &ids, only).await?;
            let left = self.db.get(collection, &ids, Agreement::All).await?;
            Ok(left.is_empty())
        })
    }

    fn delete<'a>(
        &'a self,
        collection: &'a str,
        ids: Vec<String>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { self.db.delete(collection, &ids, None).await })
    }

    fn count<'a>(&'a self, collection: &'a str) -> BoxFuture<'a, Result<u64, Error>> {
        Box::pin(self.db.count(collection))
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        equal: &'a Fields,
    ) -> BoxFuture<'a, Result<Vec<Row>, Error>> {
        Box::pin(self.db.list(collection, points::equal(equal)))
    }

    fn everything<'a>(&'a self, collection: &'a str) -> BoxFuture<'a, Result<Vec<Row>, Error>> {
        Box::pin(self.db.list(collection, None))
    }

    fn strangers<'a>(
        &'a self,
        collection: &'a str,
        since_ms: i64,
    ) -> BoxFuture<'a, Result<Vec<Row>, Error>> {
        let filter = points::since(ID_OF_OURS, "observed_ms", since_ms);
        Box::pin(self.db.list(collection, Some(filter)))
    }

    fn lock<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Option<u64>, Error>> {
        Box::pin(async move {
            let use_ = "for several servers on one store";
            self.db.client.needs_conditions(use_).await?;
            self.leases.lock(collection, name, holder, ttl).await
        })
    }

    fn unlock<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
        _holder: &'a str,
        number: u64,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.leases.unlock(collection, name, number))
    }
}

impl Parts {
    async fn put_on_condition(
        &self,
        collection: &str,
        mut row: NewRow,
        was: Option<Fields>,
    ) -> Result<bool, Error> {
        let token = crate::token()?;
        let earlier = was.as_ref().and_then(|was| was.get(WRITES));
        let writes = remember(earlier.and_then(Value::as_str), &token);
        row.metadata.insert(WRITES.to_owned(), writes.into());
        let replace = match &was {
            None => Replace::Matching(points::none()),
            Some(was) => Replace::OnlyMatching(Filter::must([points::unchanged(was)])),
        };
        let ids = [row.id.clone()];
        self.db.put(collection, vec![row], &replace).await?;
        let found = self.db.get(collection, &ids, Agreement::All).await?;
        let writes = found.get(&ids[0]).and_then(|fields| fields.get(WRITES));
        Ok(writes
            .and_then(Value::as_str)
            .is_some_and(|writes| writes.split(' ').any(|write| write == token)))
    }
}

/// The tokens of a row's last writes, the newest last.
fn remember(earlier: Option<&str>, token: &str) -> String {
    let earlier: Vec<&str> = earlier.unwrap_or_default().split(' ').collect();
    let surplus = earlier.len().saturating_sub(REMEMBERED - 1);
    let kept = earlier
        .iter()
        .skip(surplus)
        .filter(|write| !write.is_empty());
    let mut writes: Vec<&str> = kept.copied().collect();
    writes.push(token);
    writes.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_remembers_its_last_writes() {
        assert_eq!(remember(None, "a"), "a");
        assert_eq!(remember(Some("a b"), "c"), "a b c");
        let mut writes = String::new();
        for write in 0..100 {
            writes = remember(Some(&writes), &write.to_string());
        }
        let kept: Vec<String> = (84..100).map(|write| write.to_string()).collect();
        assert_eq!(writes, kept.join(" "));
    }
}
