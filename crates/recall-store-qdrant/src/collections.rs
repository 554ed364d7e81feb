//! Collections: made on the first write, with the indexes that listings need.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    CollectionInfo, CreateCollectionBuilder, CreateFieldIndexCollectionBuilder, Distance,
    FieldType, VectorParamsBuilder,
};
use recall_store::Error;
use recall_store_rows::PLACES;

use crate::client::{Client, Failure, Patience};

/// Collections that are known to be as they must be. Beyond it all are looked at once more.
const MAX_KNOWN: usize = 50_000;

/// What is asked for by value in collections that the published server knows.
const SHARED: [(&str, FieldType); 6] = [
    ("subject", FieldType::Keyword),
    ("predicate", FieldType::Keyword),
    ("kind", FieldType::Keyword),
    ("recall_agent", FieldType::Keyword),
    ("record", FieldType::Keyword),
    ("observed_ms", FieldType::Float),
];
/// In collections that are ours alone `kind` is a number.
const OURS: [(&str, FieldType); 1] = [("kind", FieldType::Float)];

/// The collections of one store.
#[derive(Debug, Default)]
pub(crate) struct Collections {
    /// By name: how long vectors are.
    known: Mutex<HashMap<String, u64>>,
}

impl Collections {
    /// Makes sure that a collection can take vectors of this length.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] in words if it holds those of another model.
    pub(crate) async fn ready(
        &self,
        client: &Client,
        name: &str,
        places: usize,
    ) -> Result<(), Error> {
        let known = self.known.lock().get(name).copied();
        let length = match known {
            Some(length) => length,
            None => {
                let length = self.look(client, name, places).await?;
                let mut known = self.known.lock();
                if known.len() >= MAX_KNOWN {
                    known.clear();
                }
                known.insert(name.to_owned(), length);
                length
            }
        };
        match length == places as u64 {
            true => Ok(()),
            false => Err(Error::unavailable(format!(
                "the Qdrant collection {name} holds vectors of {length} places, from another \
                 embedding model, and this server writes {places}: choose another --collection, \
                 and move what is there by recall-server export and import"
            ))),
        }
    }

    /// What was known of a collection is not true any more.
    pub(crate) fn forget(&self, name: &str) {
        self.known.lock().remove(name);
    }

    async fn look(&self, client: &Client, name: &str, places: usize) -> Result<u64, Error> {
        let info = match info(client, name).await? {
            Some(info) => info,
            None => {
                create(client, name, places).await?;
                let made = info(client, name).await?;
                made.ok_or_else(|| {
                    Error::unavailable(format!("the Qdrant collection {name} was made and is gone"))
                })?
            }
        };
        let indexed: HashSet<&str> = info.payload_schema.keys().map(String::as_str).collect();
        let wanted: &[(&str, FieldType)] = match places {
            PLACES => &SHARED,
            _ => &OURS,
        };
        for (field, kind) in wanted {
            if !indexed.contains(field) {
                index(client, name, field, *kind).await?;
            }
        }
        length(&info).ok_or_else(|| {
            Error::unavailable(format!(
                "the Qdrant collection {name} was not made by Recall: it has no single unnamed \
                 vector; choose another --collection"
            ))
        })
    }
}

/// The length of a collection's vectors, if it has one unnamed vector.
fn length(info: &CollectionInfo) -> Option<u64> {
    let params = info.config.as_ref()?.params.as_ref()?;
    match params.vectors_config.as_ref()?.config.as_ref()? {
        Config::Params(params) => Some(params.size),
        Config::ParamsMap(_) => None,
    }
}

async fn info(client: &Client, name: &str) -> Result<Option<CollectionInfo>, Error> {
    let asked = client
        .call(Patience::Call, |qdrant| qdrant.collection_info(name))
        .await;
    match asked {
        Ok(answer) => answer
            .result
            .map(Some)
            .ok_or_else(|| Error::unavailable("Qdrant answered nothing about a collection")),
        Err(Failure::Missing) => Ok(None),
        Err(failure) => Err(failure.error()),
    }
}

async fn create(client: &Client, name: &str, places: usize) -> Result<(), Error> {
    let vectors = VectorParamsBuilder::new(places as u64, Distance::Cosine);
    let request = CreateCollectionBuilder::new(name).vectors_config(vectors);
    let created = client
        .call(Patience::Load, |qdrant| {
            qdrant.create_collection(request.clone())
        })
        .await;
    match created {
        // Another server made it at the same moment.
        Ok(_) | Err(Failure::Exists) => Ok(()),
        Err(failure) => Err(failure.error()),
    }
}

async fn index(client: &Client, name: &str, field: &str, kind: FieldType) -> Result<(), Error> {
    let request = CreateFieldIndexCollectionBuilder::new(name, field, kind).wait(true);
    client
        .call(Patience::Load, |qdrant| {
            qdrant.create_field_index(request.clone())
        })
        .await
        .map(drop)
        .map_err(Failure::error)
}
