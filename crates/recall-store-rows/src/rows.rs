//! The port: what is asked of a store of rows.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use recall_store::{Acquired, BoxFuture, Epoch, Error, Fence, Grant, LeaseState};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::age::Moment;

/// The named values of a row: strings, numbers and booleans.
pub type Fields = Map<String, Value>;

/// A row as stored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Row {
    /// Its name in its collection.
    pub id: String,
    /// Its values.
    #[serde(default)]
    pub metadata: Fields,
}

/// A row to write.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRow {
    /// Its name in its collection.
    pub id: String,
    /// Its vector.
    pub values: Vec<f32>,
    /// Its values.
    pub metadata: Fields,
}

impl NewRow {
    /// About the bytes that the row takes on the wire.
    #[must_use]
    pub fn weight(&self) -> usize {
        let text = |value: &Value| value.as_str().map_or(16, str::len);
        self.id.len() + self.values.len() * 3 + self.metadata.values().map(text).sum::<usize>()
    }
}

/// A store of rows.
///
/// # Errors
///
/// All methods fail with [`Error::Unavailable`] when the store cannot be asked or is not understood.
/// All of them may be repeated: doing one twice is doing it once.
pub trait Rows: Send + Sync + fmt::Debug + 'static {
    /// The store's name, for messages.
    fn name(&self) -> &'static str;

    /// Whether it answers.
    fn ready(&self) -> BoxFuture<'_, Result<(), Error>>;

    /// The rows of these ids that exist, by id.
    fn get<'a>(
        &'a self,
        collection: &'a str,
        ids: Vec<String>,
    ) -> BoxFuture<'a, Result<HashMap<String, Fields>, Error>>;

    /// Writes rows over whatever is there. The rows of one call may become visible one by one.
    fn put<'a>(
        &'a self,
        collection: &'a str,
        rows: Vec<NewRow>,
    ) -> BoxFuture<'a, Result<(), Error>>;

    /// Writes rows except where one of the id is there already. A store that cannot tell writes them
    /// over what is there.
    fn add<'a>(
        &'a self,
        collection: &'a str,
        rows: Vec<NewRow>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        self.put(collection, rows)
    }

    /// Writes rows except where one is there whose [`VERSION`](crate::VERSION) is as high. A store
    /// that cannot tell writes them over what is there.
    fn put_newer<'a>(
        &'a self,
        collection: &'a str,
        rows: Vec<NewRow>,
        version: u64,
    ) -> BoxFuture<'a, Result<(), Error>> {
        let _ = version;
        self.put(collection, rows)
    }

    /// Removes rows except those whose [`VERSION`](crate::VERSION) is as high. A store that cannot
    /// tell removes them.
    fn delete_older<'a>(
        &'a self,
        collection: &'a str,
        ids: Vec<String>,
        version: u64,
    ) -> BoxFuture<'a, Result<(), Error>> {
        let _ = version;
        self.delete(collection, ids)
    }

    /// Whether [`put_if`](Self::put_if) and [`delete_if`](Self::delete_if) work.
    fn conditional(&self) -> bool {
        false
    }

    /// Writes a row if the one of its id is still as it was read: absent, or at the same
    /// [`VERSION`](crate::VERSION). In one step; answers whether it did.
    fn put_if<'a>(
        &'a self,
        collection: &'a str,
        row: NewRow,
        was: Option<Fields>,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        let _ = (collection, row, was);
        Box::pin(async { Err(Error::Unsupported("conditional writes")) })
    }

    /// Removes a row if it is still as it was read, in one step; answers whether it is gone.
    fn delete_if<'a>(
        &'a self,
        collection: &'a str,
        id: String,
        was: Fields,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        let _ = (collection, id, was);
        Box::pin(async { Err(Error::Unsupported("conditional writes")) })
    }

    /// Removes rows; absent ones are removed already.
    fn delete<'a>(
        &'a self,
        collection: &'a str,
        ids: Vec<String>,
    ) -> BoxFuture<'a, Result<(), Error>>;

    /// How many rows a collection has.
    fn count<'a>(&'a self, collection: &'a str) -> BoxFuture<'a, Result<u64, Error>>;

    /// Every row in which all these values are equal; all rows if there are none. Rows written
    /// meanwhile may or may not be among them; none that was there all along is left out.
    fn list<'a>(
        &'a self,
        collection: &'a str,
        equal: &'a Fields,
    ) -> BoxFuture<'a, Result<Vec<Row>, Error>>;

    /// Every row of a collection of events, by the quickest way there is.
    fn everything<'a>(&'a self, collection: &'a str) -> BoxFuture<'a, Result<Vec<Row>, Error>>;

    /// The events that none of our replicas wrote ([`ID_OF_OURS`](crate::ID_OF_OURS) is absent) and
    /// that were observed since, in Unix milliseconds.
    fn strangers<'a>(
        &'a self,
        collection: &'a str,
        since_ms: i64,
    ) -> BoxFuture<'a, Result<Vec<Row>, Error>>;

    /// Takes a lock that ends by itself after `ttl`; `None` while another holds it. Answers a number
    /// by which to give it back.
    fn lock<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Option<u64>, Error>>;

    /// Gives a lock back; without effect if it is another's by now.
    fn unlock<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
        holder: &'a str,
        number: u64,
    ) -> BoxFuture<'a, Result<(), Error>>;
}

/// The leases of a store, by collection and name. As the methods of
/// [`Store`](recall_store::Store) of the same names.
pub trait Leases: Send + Sync + fmt::Debug + 'static {
    /// Takes a lease that nobody holds.
    fn acquire<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Acquired, Error>>;

    /// Extends a lease that is still ours.
    fn renew<'a>(
        &'a self,
        collection: &'a str,
        grant: &'a Grant,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Grant, Error>>;

    /// Gives a lease back if it still has this epoch; answers whether it had.
    fn release<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<bool, Error>>;

    /// What is known of a lease.
    fn inspect<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<LeaseState>, Error>>;

    /// Refuses unless the lease is held under this epoch. Answers when that was asked.
    fn check<'a>(
        &'a self,
        collection: &'a str,
        fence: &'a Fence,
    ) -> BoxFuture<'a, Result<Moment, Error>>;

    /// Whether what a check told may still be acted on.
    fn stands(&self, asked: Moment) -> bool;
}
