//! A whole collection of events, read in parts by time: much faster than a listing.

use std::collections::HashMap;

use recall_store::Error;
use recall_store_rows::{Fields, Row, observed_ms};
use serde_json::{Value, json};

use crate::db::{Db, MAX_HITS};

/// A collection up to this size is listed; a larger one is read in parts by time.
const LISTED: u64 = 3000;
/// Events of one such part, about. Half of what the store answers at most.
const PART: u64 = 5000;

impl Db {
    /// Every event of a collection.
    pub(crate) async fn everything_quickly(&self, collection: &str) -> Result<Vec<Row>, Error> {
        let (sample, total) = self.page(collection, None, 0).await?;
        if total <= sample.len() as u64 {
            return Ok(sample);
        }
        if total > LISTED
            && let Some(rows) = self.in_parts(collection, &sample, total).await?
        {
            return Ok(rows);
        }
        self.list(collection, None).await
    }

    /// Reads by time of observation. `None` if that does not find as many as there are.
    async fn in_parts(
        &self,
        collection: &str,
        sample: &[Row],
        total: u64,
    ) -> Result<Option<Vec<Row>>, Error> {
        let filters = parts(sample, total);
        let mut rows: HashMap<String, Fields> = HashMap::new();
        for two in filters.chunks(2) {
            let two = two.iter().map(|filter| self.query(collection, filter));
            for part in futures_util::future::try_join_all(two).await? {
                if part.len() >= MAX_HITS {
                    return Ok(None);
                }
                rows.extend(part.into_iter().map(|row| (row.id, row.metadata)));
            }
        }
        let whole = rows.len() as u64 >= total;
        Ok(whole.then(|| {
            rows.into_iter()
                .map(|(id, metadata)| Row { id, metadata })
                .collect()
        }))
    }
}

/// Cuts all time into parts of about [`PART`] events, by the times of a sample; and one part for
/// events that tell no time.
fn parts(sample: &[Row], total: u64) -> Vec<Value> {
    let mut times: Vec<i64> = sample
        .iter()
        .filter_map(|row| observed_ms(&row.metadata))
        .collect();
    times.sort_unstable();
    let count = usize::try_from(total.div_ceil(PART)).unwrap_or(usize::MAX);
    let mut cuts: Vec<i64> = (1..count)
        .filter_map(|part| times.get(part * times.len() / count).copied())
        .collect();
    cuts.dedup();
    let mut filters = vec![json!({ "observed_ms": { "$exists": false } })];
    let mut from = None;
    for to in cuts.into_iter().map(Some).chain([None]) {
        let mut range = serde_json::Map::new();
        if let Some(from) = from {
            range.insert("$gte".to_owned(), Value::from(from));
        }
        if let Some(to) = to {
            range.insert("$lt".to_owned(), Value::from(to));
        }
        if range.is_empty() {
            range.insert("$gte".to_owned(), Value::from(i64::MIN / 2));
        }
        filters.push(json!({ "observed_ms": range }));
        from = to;
    }
    filters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ms: i64) -> Row {
        Row {
            id: format!("m-{ms}"),
            metadata: Fields::from_iter([("observed_ms".to_owned(), ms.into())]),
        }
    }

    #[track_caller]
    fn check(times: &[i64], total: u64, expected: &[Value]) {
        let sample: Vec<Row> = times.iter().map(|ms| row(*ms)).collect();
        let found = parts(&sample, total);
        assert_eq!(
            found.first(),
            Some(&json!({ "observed_ms": { "$exists": false } }))
        );
        assert_eq!(found.get(1..), Some(expected));
    }

    #[test]
    fn parts_cover_all_time_without_overlap() {
        let of = |range: Value| json!({ "observed_ms": range });
        check(
            &[1, 2, 3, 4],
            10_000,
            &[of(json!({"$lt": 3})), of(json!({"$gte": 3}))],
        );
        check(
            &[1, 2, 3, 4, 5, 6],
            15_000,
            &[
                of(json!({"$lt": 3})),
                of(json!({"$gte": 3, "$lt": 5})),
                of(json!({"$gte": 5})),
            ],
        );
        check(
            &[7, 7, 7, 7],
            15_000,
            &[of(json!({"$lt": 7})), of(json!({"$gte": 7}))],
        );
    }
}
