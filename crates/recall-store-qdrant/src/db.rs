//! Qdrant's calls, as far as they are made.

use std::collections::HashMap;

use qdrant_client::qdrant::read_consistency::Value as Consistency;
use qdrant_client::qdrant::{
    Condition, CountPointsBuilder, DeletePointsBuilder, Filter, GetPointsBuilder, PointId,
    PointsIdsList, ReadConsistencyType, RetrievedPoint, ScrollPointsBuilder, UpdateMode,
    UpsertPoints, UpsertPointsBuilder, WriteOrdering, WriteOrderingType,
};
use recall_store::Error;
use recall_store_rows::{Fields, NewRow, Row};

use crate::client::{Client, Failure, Patience};
use crate::collections::Collections;
use crate::points;

/// Rows of one page of a listing. Each may be large.
const PAGE: u32 = 500;
/// A page this short is the last one if it says so: so many of its rows are not removed while it is
/// read, for no call removes more than [`REMOVE`].
const SURELY_LAST: usize = 200;
/// Ids removed in one call.
const REMOVE: usize = 100;
/// Ids asked for in one call.
const GET: usize = 500;
/// Rows written in one call, and the bytes of payload after which it is sent early. The server takes
/// 32 MiB.
const PUT: usize = 1000;
const PUT_BYTES: usize = 8 * 1024 * 1024;

/// The store.
#[derive(Debug)]
pub(crate) struct Db {
    pub(crate) client: Client,
    pub(crate) collections: Collections,
}

/// Which of the rows that are there a write replaces.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Replace {
    /// All of them.
    All,
    /// Those that match; rows that are not there are added.
    Matching(Filter),
    /// Those that match; nothing is added.
    OnlyMatching(Filter),
}

/// How many nodes of a cluster must agree on what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// As the store is set up.
    Usual,
    /// Every one that has the row.
    All,
}

impl Db {
    /// The rows of these ids that exist, by id.
    pub(crate) async fn get(
        &self,
        collection: &str,
        ids: &[String],
        agreement: Agreement,
    ) -> Result<HashMap<String, Fields>, Error> {
        let mut found = HashMap::new();
        for some in ids.chunks(GET) {
            let points: Vec<PointId> = some.iter().map(|id| points::id(id)).collect();
            let mut request = GetPointsBuilder::new(collection, points).with_payload(true);
            if agreement == Agreement::All {
                request =
                    request.read_consistency(Consistency::Type(ReadConsistencyType::All as i32));
            }
            let patience = match some.len() {
                0..=8 => Patience::Call,
                _ => Patience::Load,
            };
            let answer = self
                .client
                .call(patience, |qdrant| qdrant.get_points(request.clone()))
                .await;
            for point in read(answer, |answer| answer.result)? {
                let row = points::row(collection, point)?;
                found.insert(row.id, row.metadata);
            }
        }
        Ok(found)
    }

    /// Writes rows. Those of one call become visible one by one.
    pub(crate) async fn put(
        &self,
        collection: &str,
        rows: Vec<NewRow>,
        replace: &Replace,
    ) -> Result<(), Error> {
        let mut rows = rows.into_iter().peekable();
        while let Some(first) = rows.next() {
            let mut weight = first.weight();
            let mut some = vec![first];
            while some.len() < PUT
                && let Some(next) = rows.next_if(|next| weight + next.weight() <= PUT_BYTES)
            {
                weight += next.weight();
                some.push(next);
            }
            self.put_some(collection, some, replace).await?;
        }
        Ok(())
    }

    async fn put_some(
        &self,
        collection: &str,
        rows: Vec<NewRow>,
        replace: &Replace,
    ) -> Result<(), Error> {
        let places = rows.first().map_or(0, |row| row.values.len());
        let patience = match rows.len() {
            0..=64 => Patience::Call,
            _ => Patience::Load,
        };
        let request = upsert(collection, rows, replace);
        // A collection that was known may have been removed by hand.
        for known in [true, false] {
            self.collections
                .ready(&self.client, collection, places)
                .await?;
            let written = self
                .client
                .call(patience, |qdrant| qdrant.upsert_points(request.clone()))
                .await;
            match written {
                Ok(_) => return Ok(()),
                Err(Failure::Missing) if known => self.collections.forget(collection),
                Err(failure) => return Err(failure.error()),
            }
        }
        Err(Error::unavailable(format!(
            "the Qdrant collection {collection} keeps being removed"
        )))
    }

    /// Removes rows; absent ones are removed already.
    pub(crate) async fn delete(
        &self,
        collection: &str,
        ids: &[String],
        only: Option<Condition>,
    ) -> Result<(), Error> {
        for some in ids.chunks(REMOVE) {
            let points = some.iter().map(|id| points::id(id));
            let request = DeletePointsBuilder::new(collection)
                .wait(true)
                .ordering(strong());
            let request = match &only {
                None => request.points(PointsIdsList {
                    ids: points.collect(),
                }),
                Some(only) => request.points(Filter::must([
                    Condition::has_id(points.collect::<Vec<_>>()),
                    only.clone(),
                ])),
            };
            let deleted = self
                .client
                .call(Patience::Call, |qdrant| {
                    qdrant.delete_points(request.clone())
                })
                .await;
            match deleted {
                Ok(_) | Err(Failure::Missing) => {}
                Err(failure) => return Err(failure.error()),
            }
        }
        Ok(())
    }

    pub(crate) async fn count(&self, collection: &str) -> Result<u64, Error> {
        let request = CountPointsBuilder::new(collection).exact(true);
        let answer = self
            .client
            .call(Patience::Load, |qdrant| qdrant.count(request.clone()))
            .await;
        Ok(read(answer, |answer| answer.result)?.map_or(0, |result| result.count))
    }

    /// Every row that matches, in the order of points. Rows that come or go meanwhile move no other
    /// row to another page: a page begins at a point, not at a number.
    pub(crate) async fn list(
        &self,
        collection: &str,
        filter: Option<Filter>,
    ) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        let (mut from, mut last): (Option<PointId>, Option<PointId>) = (None, None);
        loop {
            let (page, next) = self.page(collection, filter.as_ref(), from).await?;
            let length = page.len();
            let before = last.clone();
            for point in page.into_iter().filter(|point| point.id != before) {
                last.clone_from(&point.id);
                rows.push(points::row(collection, point)?);
            }
            from = match next {
                Some(next) => Some(next),
                // The server picks the points of a page and then reads them. If one was removed in
                // between it takes the page for the last, although more may follow.
                None if length > SURELY_LAST => last.clone(),
                None => return Ok(rows),
            };
        }
    }

    async fn page(
        &self,
        collection: &str,
        filter: Option<&Filter>,
        from: Option<PointId>,
    ) -> Result<(Vec<RetrievedPoint>, Option<PointId>), Error> {
        let mut request = ScrollPointsBuilder::new(collection)
            .with_payload(true)
            .limit(PAGE);
        if let Some(filter) = filter {
            request = request.filter(filter.clone());
        }
        if let Some(from) = from {
            request = request.offset(from);
        }
        let answer = self
            .client
            .call(Patience::Load, |qdrant| qdrant.scroll(request.clone()))
            .await;
        read(answer, |answer| (answer.result, answer.next_page_offset))
    }
}

fn strong() -> WriteOrdering {
    WriteOrdering {
        r#type: WriteOrderingType::Strong as i32,
    }
}

fn upsert(collection: &str, rows: Vec<NewRow>, replace: &Replace) -> UpsertPoints {
    let points: Vec<_> = rows.into_iter().map(points::point).collect();
    let request = UpsertPointsBuilder::new(collection, points)
        .wait(true)
        .ordering(strong());
    match replace {
        Replace::All => request.build(),
        Replace::Matching(filter) => request.update_filter(filter.clone()).build(),
        Replace::OnlyMatching(filter) => request
            .update_filter(filter.clone())
            .update_mode(UpdateMode::UpdateOnly)
            .build(),
    }
}

/// A collection that does not exist is empty.
fn read<A, T: Default>(answer: Result<A, Failure>, take: impl FnOnce(A) -> T) -> Result<T, Error> {
    match answer {
        Ok(answer) => Ok(take(answer)),
        Err(Failure::Missing) => Ok(T::default()),
        Err(failure) => Err(failure.error()),
    }
}
