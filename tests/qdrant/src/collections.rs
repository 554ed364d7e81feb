//! The collections there are, and the service that makes and describes them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use qdrant_client::qdrant::collections_server::Collections;
use qdrant_client::qdrant::vectors_config::Config as VectorsKind;
use qdrant_client::qdrant::{self as api, PayloadSchemaType};
use tonic::{Request, Response, Status};

use crate::faults::Faults;
use crate::shard::Shard;

/// Every collection, by name.
pub struct Store {
    dir: PathBuf,
    shards: Mutex<HashMap<String, Arc<Shard>>>,
    /// What an older server does not know it ignores.
    pub knows_filters: bool,
    pub knows_modes: bool,
}

impl Store {
    /// Replays what a folder holds.
    pub fn open(dir: &Path, version: &str) -> anyhow::Result<Self> {
        let dir = dir.join("collections");
        fs::create_dir_all(&dir)?;
        let mut shards = HashMap::new();
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            // Made half-way when the process ended: it was never answered.
            if !path.join("about.json").exists() {
                continue;
            }
            let (name, shard) = Shard::open(&path)?;
            shards.insert(name, Arc::new(shard));
        }
        let mut numbers = version.split('.').map(str::parse::<u32>);
        let major = numbers.next().context("a version")??;
        let minor = numbers.next().context("a version")??;
        Ok(Self {
            dir,
            shards: Mutex::new(shards),
            knows_filters: (major, minor) >= (1, 16),
            knows_modes: (major, minor) >= (1, 17),
        })
    }

    pub fn shard(&self, name: &str) -> Result<Arc<Shard>, Status> {
        let shards = self.shards.lock().expect("no call panics here");
        shards.get(name).cloned().ok_or_else(|| {
            Status::not_found(format!("Not found: Collection `{name}` doesn't exist!"))
        })
    }

    pub fn create(&self, name: &str, places: u64, distance: i32) -> Result<(), Status> {
        let plain = |c: char| !c.is_control() && !"<>:\"/\\|?*".contains(c);
        if name.is_empty() || name.len() > 255 || !name.chars().all(plain) {
            return Err(Status::invalid_argument(format!(
                "Wrong input: invalid collection name {name:?}"
            )));
        }
        let mut shards = self.shards.lock().expect("no call panics here");
        if shards.contains_key(name) {
            return Err(Status::already_exists(format!(
                "Wrong input: Collection `{name}` already exists!"
            )));
        }
        let shard = Shard::create(&self.dir.join(name), name, places, distance);
        let shard = shard.map_err(|error| Status::internal(format!("{error:#}")))?;
        shards.insert(name.to_owned(), Arc::new(shard));
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<bool, Status> {
        let mut shards = self.shards.lock().expect("no call panics here");
        if shards.remove(name).is_none() {
            return Ok(false);
        }
        let removed = fs::remove_dir_all(self.dir.join(name));
        removed.map_err(|error| Status::internal(error.to_string()))?;
        Ok(true)
    }
}

/// What a client asks about collections.
pub struct Service {
    store: Arc<Store>,
    faults: Arc<Faults>,
}

impl Service {
    pub fn new(store: Arc<Store>, faults: Arc<Faults>) -> Self {
        Self { store, faults }
    }

    fn describe(&self, name: &str) -> Result<api::CollectionInfo, Status> {
        let shard = self.store.shard(name)?;
        let info = shard.engine().info();
        let schema = info.payload_schema.into_iter().map(|(field, index)| {
            let kind = match serde_json::to_value(index.data_type) {
                Ok(kind) if kind == "keyword" => PayloadSchemaType::Keyword,
                Ok(kind) if kind == "integer" => PayloadSchemaType::Integer,
                Ok(kind) if kind == "float" => PayloadSchemaType::Float,
                Ok(kind) if kind == "bool" => PayloadSchemaType::Bool,
                _ => PayloadSchemaType::UnknownType,
            };
            let about = api::PayloadSchemaInfo {
                data_type: kind as i32,
                params: None,
                points: Some(index.points as u64),
            };
            (field.to_string(), about)
        });
        let vectors = api::VectorParams {
            size: shard.places,
            distance: shard.distance,
            ..api::VectorParams::default()
        };
        let params = api::CollectionParams {
            shard_number: 1,
            vectors_config: Some(api::VectorsConfig {
                config: Some(VectorsKind::Params(vectors)),
            }),
            ..api::CollectionParams::default()
        };
        Ok(api::CollectionInfo {
            status: api::CollectionStatus::Green as i32,
            segments_count: info.segments_count as u64,
            points_count: Some(info.points_count as u64),
            config: Some(api::CollectionConfig {
                params: Some(params),
                ..api::CollectionConfig::default()
            }),
            payload_schema: schema.collect(),
            ..api::CollectionInfo::default()
        })
    }
}

/// The calls that no adapter of ours makes.
macro_rules! not_here {
    ($($name:ident($request:ty) -> $answer:ty;)*) => {$(
        fn $name<'life, 'call>(
            &'life self,
            _: Request<$request>,
        ) -> Pin<Box<dyn Future<Output = Result<Response<$answer>, Status>> + Send + 'call>>
        where
            'life: 'call,
            Self: 'call,
        {
            Box::pin(async { Err(Status::unimplemented(stringify!($name))) })
        }
    )*};
}
pub(crate) use not_here;

#[tonic::async_trait]
impl Collections for Service {
    async fn get(
        &self,
        request: Request<api::GetCollectionInfoRequest>,
    ) -> Result<Response<api::GetCollectionInfoResponse>, Status> {
        let name = request.into_inner().collection_name;
        let described = self.faults.around("info", async { self.describe(&name) });
        let result = Some(described.await?);
        Ok(Response::new(api::GetCollectionInfoResponse {
            result,
            time: 0.0,
        }))
    }

    async fn list(
        &self,
        _: Request<api::ListCollectionsRequest>,
    ) -> Result<Response<api::ListCollectionsResponse>, Status> {
        let shards = self.store.shards.lock().expect("no call panics here");
        let collections = shards.keys().cloned();
        let collections = collections.map(|name| api::CollectionDescription { name });
        Ok(Response::new(api::ListCollectionsResponse {
            collections: collections.collect(),
            time: 0.0,
        }))
    }

    async fn create(
        &self,
        request: Request<api::CreateCollection>,
    ) -> Result<Response<api::CollectionOperationResponse>, Status> {
        let request = request.into_inner();
        let vectors = request.vectors_config.and_then(|vectors| vectors.config);
        let Some(VectorsKind::Params(params)) = vectors else {
            return Err(Status::unimplemented("named vectors"));
        };
        let (store, name) = (&self.store, request.collection_name);
        let created = async { store.create(&name, params.size, params.distance) };
        self.faults.around("create", created).await?;
        Ok(Response::new(api::CollectionOperationResponse {
            result: true,
            time: 0.0,
        }))
    }

    async fn delete(
        &self,
        request: Request<api::DeleteCollection>,
    ) -> Result<Response<api::CollectionOperationResponse>, Status> {
        let result = self.store.remove(&request.into_inner().collection_name)?;
        Ok(Response::new(api::CollectionOperationResponse {
            result,
            time: 0.0,
        }))
    }

    async fn collection_exists(
        &self,
        request: Request<api::CollectionExistsRequest>,
    ) -> Result<Response<api::CollectionExistsResponse>, Status> {
        let exists = self
            .store
            .shard(&request.into_inner().collection_name)
            .is_ok();
        let result = Some(api::CollectionExists { exists });
        Ok(Response::new(api::CollectionExistsResponse {
            result,
            time: 0.0,
        }))
    }

    not_here! {
        update(api::UpdateCollection) -> api::CollectionOperationResponse;
        update_aliases(api::ChangeAliases) -> api::CollectionOperationResponse;
        list_collection_aliases(api::ListCollectionAliasesRequest) -> api::ListAliasesResponse;
        list_aliases(api::ListAliasesRequest) -> api::ListAliasesResponse;
        collection_cluster_info(api::CollectionClusterInfoRequest) -> api::CollectionClusterInfoResponse;
        update_collection_cluster_setup(api::UpdateCollectionClusterSetupRequest) -> api::UpdateCollectionClusterSetupResponse;
        create_shard_key(api::CreateShardKeyRequest) -> api::CreateShardKeyResponse;
        delete_shard_key(api::DeleteShardKeyRequest) -> api::DeleteShardKeyResponse;
        list_shard_keys(api::ListShardKeysRequest) -> api::ListShardKeysResponse;
    }
}
