//! polign_db's calls, as far as they are made.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use recall_store::Error;
use recall_store_rows::{Fields, NewRow, PLACES, Row};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::http::{Answer, Http, Repeat};

/// Rows of one page of a listing: the most that the store gives.
const PAGE: usize = 1000;
/// Ids asked for in one call. The store takes 5,000; rows may be large.
const GET: usize = 1000;
/// Rows written in one call, and the bytes of metadata after which it is sent early.
const PUT: usize = 1000;
const PUT_BYTES: usize = 8 * 1024 * 1024;
/// The hits of one query: the most that the store gives.
pub(crate) const MAX_HITS: usize = 10_000;
/// How many clusters of a collection a query looks into. The store's default skips some; its
/// maximum skips none of a collection that fits our use.
const PROBES: u32 = 4096;
/// How often a listing is begun again because rows came or went while it was read.
const LISTINGS: u32 = 8;

/// How often a lease is asked for that another took at the same moment, and the wait between.
const RACES: u32 = 50;
const RACE_PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Deserialize)]
struct Page {
    vectors: Vec<Row>,
    #[serde(default)]
    total: u64,
}

#[derive(Debug, Deserialize)]
struct Hits {
    hits: Vec<Row>,
}

/// A lease as the store tells it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Lease {
    pub(crate) holder: String,
    pub(crate) epoch: u64,
    pub(crate) expires_at: jiff::Timestamp,
}

/// The answer to an attempt to take a lease.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Granted(Lease),
    Held(Lease),
}

/// The store.
#[derive(Debug)]
pub(crate) struct Db(pub(crate) Http);

impl Db {
    /// Whether it answers.
    pub(crate) async fn ready(&self) -> Result<(), Error> {
        let answer = self
            .0
            .call(Method::GET, "/readyz", Bytes::new(), Repeat::Harmless)
            .await?;
        match answer.status.is_success() {
            true => Ok(()),
            false => Err(Error::unavailable("polign_db is not ready")),
        }
    }

    /// The rows of these ids that exist, by id.
    pub(crate) async fn get(
        &self,
        collection: &str,
        ids: impl IntoIterator<Item = String>,
    ) -> Result<HashMap<String, Fields>, Error> {
        let mut ids = ids.into_iter().peekable();
        let mut found = HashMap::new();
        let path = format!("/v1/collections/{}/vectors:get", escape(collection));
        while ids.peek().is_some() {
            let some: Vec<String> = ids.by_ref().take(GET).collect();
            let body = json!({ "ids": some, "typed_metadata": true }).to_string();
            let answer = self.0.call(Method::POST, &path, body, Repeat::Load).await?;
            if let Some(rows) = read::<Page>(&answer)? {
                found.extend(rows.vectors.into_iter().map(|row| (row.id, row.metadata)));
            }
        }
        Ok(found)
    }

    /// Writes rows over whatever is there. The rows of one call become visible one by one.
    pub(crate) async fn put(&self, collection: &str, rows: Vec<NewRow>) -> Result<(), Error> {
        let mut rows = rows.into_iter().peekable();
        let base = format!("/v1/collections/{}/vectors", escape(collection));
        while let Some(first) = rows.next() {
            let mut weight = first.weight();
            let mut some = vec![first];
            while some.len() < PUT
                && let Some(next) = rows.next_if(|next| weight + next.weight() <= PUT_BYTES)
            {
                weight += next.weight();
                some.push(next);
            }
            let (method, path, body) = match some.as_slice() {
                [row] => {
                    let body = json!({ "values": Values(&row.values), "metadata": row.metadata });
                    (
                        Method::PUT,
                        format!("{base}/{}", escape(&row.id)),
                        body.to_string(),
                    )
                }
                rows => {
                    let vectors = rows.iter().map(|row| Vector {
                        id: &row.id,
                        values: Values(&row.values),
                        metadata: &row.metadata,
                    });
                    let vectors = vectors.collect();
                    let body = serde_json::to_string(&Batch { vectors });
                    let body = body.map_err(|error| Error::unavailable(error.to_string()))?;
                    (Method::POST, format!("{base}:batch"), body)
                }
            };
            let answer = self.0.call(method, &path, body, Repeat::Harmless).await?;
            if !answer.status.is_success() {
                return Err(unexpected(&answer));
            }
        }
        Ok(())
    }

    /// Removes rows; absent ones are removed already.
    pub(crate) async fn delete(&self, collection: &str, ids: Vec<String>) -> Result<(), Error> {
        let path = format!("/v1/collections/{}/vectors:delete", escape(collection));
        for some in ids.chunks(GET) {
            let body = json!({ "ids": some }).to_string();
            self.0
                .call(Method::POST, &path, body, Repeat::Harmless)
                .await?;
        }
        Ok(())
    }

    /// One page of a collection in the order of ids, and how many rows there are in all.
    pub(crate) async fn page(
        &self,
        collection: &str,
        filter: Option<&Value>,
        offset: usize,
    ) -> Result<(Vec<Row>, u64), Error> {
        let mut path = format!(
            "/v1/collections/{}/vectors?limit={PAGE}&offset={offset}&typed=true",
            escape(collection)
        );
        if let Some(filter) = filter {
            path.push_str("&filter=");
            path.push_str(&escape(&filter.to_string()));
        }
        let answer = self
            .0
            .call(Method::GET, &path, Bytes::new(), Repeat::Load)
            .await?;
        let rows = read::<Page>(&answer)?;
        Ok(rows.map_or((Vec::new(), 0), |rows| (rows.vectors, rows.total)))
    }

    /// Every row that matches. Rows written meanwhile may or may not be among them; none that was
    /// there all along is left out.
    pub(crate) async fn list(
        &self,
        collection: &str,
        filter: Option<&Value>,
    ) -> Result<Vec<Row>, Error> {
        for _ in 0..LISTINGS {
            if let Some(rows) = self.try_list(collection, filter).await? {
                return Ok(rows);
            }
        }
        Err(Error::unavailable(
            "polign_db: a collection kept changing while it was listed",
        ))
    }

    /// Rows that come only push others to later pages. Rows that go pull them forward, past the
    /// reader: a total that shrank says so.
    async fn try_list(
        &self,
        collection: &str,
        filter: Option<&Value>,
    ) -> Result<Option<Vec<Row>>, Error> {
        let mut rows: HashMap<String, Row> = HashMap::new();
        let (mut offset, mut before) = (0, 0);
        loop {
            let (page, total) = self.page(collection, filter, offset).await?;
            if total < before {
                return Ok(None);
            }
            before = total;
            let got = page.len();
            offset += got;
            rows.extend(page.into_iter().map(|row| (row.id.clone(), row)));
            if got == 0 || offset as u64 >= total {
                let whole = rows.len() as u64 >= total.min(offset as u64);
                return Ok(whole.then(|| rows.into_values().collect()));
            }
        }
    }

    /// Rows that match, without an order, at most [`MAX_HITS`]. Much quicker than a listing, but the
    /// store looks them up by vector: whoever needs all of them counts.
    pub(crate) async fn query(&self, collection: &str, filter: &Value) -> Result<Vec<Row>, Error> {
        let path = format!("/v1/collections/{}/query", escape(collection));
        let values = vec![0f32; PLACES];
        let body = json!({
            "values": Values(&values), "k": MAX_HITS, "nprobe": PROBES, "filter": filter, "typed_metadata": true,
        });
        let answer = self
            .0
            .call(Method::POST, &path, body.to_string(), Repeat::Load)
            .await?;
        Ok(read::<Hits>(&answer)?.map_or_else(Vec::new, |hits| hits.hits))
    }

    /// Takes a lease, or tells who holds it.
    pub(crate) async fn acquire(
        &self,
        collection: &str,
        name: &str,
        holder: &str,
        ttl_ms: u64,
    ) -> Result<Taken, Error> {
        let body = json!({ "holder": holder, "ttl_ms": ttl_ms }).to_string();
        for _ in 0..RACES {
            let answer = self
                .lease(collection, name, "acquire", body.clone())
                .await?;
            let lease: Option<Lease> = serde_json::from_slice(&answer.body).ok();
            match (answer.status, lease) {
                (StatusCode::OK, Some(lease)) => return Ok(Taken::Granted(lease)),
                (StatusCode::CONFLICT, Some(lease)) => return Ok(Taken::Held(lease)),
                // Of two that came at once it refuses one before it knows the other.
                (StatusCode::CONFLICT, None) => tokio::time::sleep(RACE_PAUSE).await,
                _ => return Err(unexpected(&answer)),
            }
        }
        Err(Error::unavailable("a lease kept being fought over"))
    }

    /// Extends a lease; `None` if its epoch is past.
    pub(crate) async fn renew(
        &self,
        collection: &str,
        name: &str,
        holder: &str,
        epoch: u64,
        ttl_ms: u64,
    ) -> Result<Option<Lease>, Error> {
        let body = json!({ "holder": holder, "epoch": epoch, "ttl_ms": ttl_ms }).to_string();
        let answer = self.lease(collection, name, "renew", body).await?;
        if answer.status == StatusCode::CONFLICT {
            return Ok(None);
        }
        serde_json::from_slice(&answer.body)
            .map(Some)
            .map_err(|_| unexpected(&answer))
    }

    /// Gives a lease back; without effect if its epoch is past.
    pub(crate) async fn release(
        &self,
        collection: &str,
        name: &str,
        holder: &str,
        epoch: u64,
    ) -> Result<(), Error> {
        let body = json!({ "holder": holder, "epoch": epoch }).to_string();
        self.lease(collection, name, "release", body)
            .await
            .map(drop)
    }

    async fn lease(
        &self,
        collection: &str,
        name: &str,
        act: &str,
        body: String,
    ) -> Result<Answer, Error> {
        let (collection, name) = (escape(collection), escape(name));
        let path = format!("/v1/collections/{collection}/leases/{name}/{act}");
        self.0.call(Method::POST, &path, body, Repeat::Never).await
    }
}

#[derive(Serialize)]
struct Batch<'a> {
    vectors: Vec<Vector<'a>>,
}

#[derive(Serialize)]
struct Vector<'a> {
    id: &'a str,
    values: Values<'a>,
    metadata: &'a Fields,
}

struct Values<'a>(&'a [f32]);

impl Serialize for Values<'_> {
    /// Most places of a hashed vector are empty: one byte for each of them.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(self.0.len()))?;
        for value in self.0 {
            match *value == 0.0 {
                true => list.serialize_element(&0u8)?,
                false => list.serialize_element(value)?,
            }
        }
        list.end()
    }
}

/// All but letters, digits and three signs. A dot is escaped too: `.` and `..` alone would name
/// another path.
const UNSAFE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');

/// Escapes a collection or id for a path.
fn escape(text: &str) -> String {
    utf8_percent_encode(text, UNSAFE).to_string()
}

/// Reads an answer; 404 is how the store says that nothing was written yet.
fn read<T: for<'de> Deserialize<'de>>(answer: &Answer) -> Result<Option<T>, Error> {
    if answer.status == StatusCode::NOT_FOUND {
        // A route that does not exist is another 404, of plain text: that is no polign_db.
        return match serde_json::from_slice::<Map<String, Value>>(&answer.body) {
            Ok(body) if body.contains_key("error") => Ok(None),
            _ => Err(unexpected(answer)),
        };
    }
    serde_json::from_slice(&answer.body)
        .map(Some)
        .map_err(|_| unexpected(answer))
}

fn unexpected(answer: &Answer) -> Error {
    let words = String::from_utf8_lossy(answer.body.get(..200).unwrap_or(&answer.body));
    Error::unavailable(format!(
        "--backend-url does not lead to a polign_db that is understood: HTTP {} {}",
        answer.status.as_u16(),
        words.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_leaves_no_path_to_climb() {
        assert_eq!(escape("../a b:é"), "%2E%2E%2Fa%20b%3A%C3%A9");
    }
}
