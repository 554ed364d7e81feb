//! Points: written, read, counted and listed by the engine.

use std::pin::Pin;
use std::sync::Arc;

use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::points_server::Points;
use qdrant_client::qdrant::with_payload_selector::SelectorOptions;
use qdrant_client::qdrant::{self as api, WithPayloadSelector};
use qdrant_edge::{
    ConditionalInsertOperation, CountRequest, CreateIndex, FieldIndexOperations,
    Filter as EngineFilter, PayloadFieldSchema, PointInsertOperations, PointOperations,
    ScrollRequest, UpdateMode, UpdateOperation, WithPayloadInterface,
};
use serde_json::json;
use tonic::{Request, Response, Status};

use crate::collections::{Store, not_here};
use crate::convert;
use crate::faults::Faults;
use crate::shard::refusal;

/// The most points of one scroll page that is asked for without a number.
const PAGE: usize = 10;

pub struct Service {
    store: Arc<Store>,
    faults: Arc<Faults>,
}

impl Service {
    pub fn new(store: Arc<Store>, faults: Arc<Faults>) -> Self {
        Self { store, faults }
    }

    async fn write(
        &self,
        method: &str,
        collection: &str,
        operation: UpdateOperation,
    ) -> Result<Response<api::PointsOperationResponse>, Status> {
        let shard = self.store.shard(collection);
        self.faults
            .around(method, async {
                let shard = shard?;
                tokio::task::block_in_place(|| shard.update(operation))
            })
            .await?;
        // As the real server answers, whether or not a condition held.
        Ok(Response::new(api::PointsOperationResponse {
            result: Some(api::UpdateResult {
                operation_id: Some(0),
                status: api::UpdateStatus::Completed as i32,
            }),
            time: 0.0,
            usage: None,
        }))
    }

    fn upsert_of(&self, request: api::UpsertPoints) -> Result<PointOperations, Status> {
        let points = request.points.into_iter().map(convert::point);
        let points = points.collect::<Result<Vec<_>, _>>()?;
        let points = PointInsertOperations::PointsList(points);
        let mode = match request.update_mode.map(api::UpdateMode::try_from) {
            None | Some(Ok(api::UpdateMode::Upsert)) => None,
            Some(Ok(api::UpdateMode::InsertOnly)) => Some(UpdateMode::InsertOnly),
            Some(Ok(api::UpdateMode::UpdateOnly)) => Some(UpdateMode::UpdateOnly),
            Some(Err(_)) => return Err(Status::invalid_argument("unknown update mode")),
        };
        let mode = mode.filter(|_| self.store.knows_modes);
        let condition = request.update_filter.filter(|_| self.store.knows_filters);
        if mode.is_none() && condition.is_none() {
            return Ok(PointOperations::UpsertPoints(points));
        }
        let condition = condition.map(convert::filter).transpose()?;
        Ok(PointOperations::UpsertPointsConditional(
            ConditionalInsertOperation {
                points_op: points,
                condition: condition.unwrap_or_else(EngineFilter::default),
                update_mode: mode,
            },
        ))
    }
}

fn wants_payload(selector: Option<WithPayloadSelector>) -> bool {
    let options = selector.and_then(|selector| selector.selector_options);
    matches!(options, Some(SelectorOptions::Enable(true)))
}

#[tonic::async_trait]
impl Points for Service {
    async fn upsert(
        &self,
        request: Request<api::UpsertPoints>,
    ) -> Result<Response<api::PointsOperationResponse>, Status> {
        let request = request.into_inner();
        let collection = request.collection_name.clone();
        let operation = self.upsert_of(request)?;
        self.write(
            "upsert",
            &collection,
            UpdateOperation::PointOperation(operation),
        )
        .await
    }

    async fn delete(
        &self,
        request: Request<api::DeletePoints>,
    ) -> Result<Response<api::PointsOperationResponse>, Status> {
        let request = request.into_inner();
        let selected = request
            .points
            .and_then(|points| points.points_selector_one_of);
        let operation = match selected {
            Some(PointsSelectorOneOf::Points(list)) => {
                let ids = list.ids.into_iter().map(|id| convert::id(Some(id)));
                let ids = ids.collect::<Result<Vec<_>, _>>()?;
                PointOperations::DeletePoints { ids }
            }
            Some(PointsSelectorOneOf::Filter(filter)) => {
                PointOperations::DeletePointsByFilter(convert::filter(filter)?)
            }
            None => return Err(Status::invalid_argument("No PointsSelector provided")),
        };
        let operation = UpdateOperation::PointOperation(operation);
        self.write("delete", &request.collection_name, operation)
            .await
    }

    async fn get(
        &self,
        request: Request<api::GetPoints>,
    ) -> Result<Response<api::GetResponse>, Status> {
        let request = request.into_inner();
        let got = self.faults.around("get", async {
            let shard = self.store.shard(&request.collection_name)?;
            let ids = request.ids.into_iter().map(|id| convert::id(Some(id)));
            let ids = ids.collect::<Result<Vec<_>, _>>()?;
            let with_payload = wants_payload(request.with_payload);
            let asked = Some(WithPayloadInterface::Bool(with_payload));
            let found = tokio::task::block_in_place(|| shard.engine().retrieve(&ids, asked, None));
            let found = found.map_err(|error| refusal(&error))?;
            let found = found.into_iter();
            Ok(found
                .map(|record| convert::record(record, with_payload))
                .collect())
        });
        Ok(Response::new(api::GetResponse {
            result: got.await?,
            time: 0.0,
            usage: None,
        }))
    }

    async fn scroll(
        &self,
        request: Request<api::ScrollPoints>,
    ) -> Result<Response<api::ScrollResponse>, Status> {
        let request = request.into_inner();
        let scrolled = self.faults.around("scroll", async {
            let shard = self.store.shard(&request.collection_name)?;
            if request.order_by.is_some() {
                return Err(Status::unimplemented("order_by"));
            }
            let with_payload = wants_payload(request.with_payload);
            let offset = request.offset.map(|from| convert::id(Some(from)));
            let asked = ScrollRequest {
                offset: offset.transpose()?,
                limit: Some(request.limit.map_or(PAGE, |limit| limit as usize)),
                filter: request.filter.map(convert::filter).transpose()?,
                with_payload: Some(WithPayloadInterface::Bool(with_payload)),
                ..ScrollRequest::default()
            };
            let page = tokio::task::block_in_place(|| shard.engine().scroll(asked));
            let (records, next) = page.map_err(|error| refusal(&error))?;
            let records = records.into_iter();
            Ok(api::ScrollResponse {
                next_page_offset: next.map(convert::id_back),
                result: records
                    .map(|record| convert::record(record, with_payload))
                    .collect(),
                time: 0.0,
                usage: None,
            })
        });
        Ok(Response::new(scrolled.await?))
    }

    async fn count(
        &self,
        request: Request<api::CountPoints>,
    ) -> Result<Response<api::CountResponse>, Status> {
        let request = request.into_inner();
        let counted = self.faults.around("count", async {
            let shard = self.store.shard(&request.collection_name)?;
            let asked = CountRequest {
                filter: request.filter.map(convert::filter).transpose()?,
                exact: request.exact.unwrap_or(true),
            };
            let count = tokio::task::block_in_place(|| shard.engine().count(asked));
            count.map_err(|error| refusal(&error))
        });
        let count = counted.await? as u64;
        Ok(Response::new(api::CountResponse {
            result: Some(api::CountResult { count }),
            time: 0.0,
            usage: None,
        }))
    }

    async fn create_field_index(
        &self,
        request: Request<api::CreateFieldIndexCollection>,
    ) -> Result<Response<api::PointsOperationResponse>, Status> {
        let request = request.into_inner();
        let kind = json!(convert::field_type(request.field_type)?);
        let schema: PayloadFieldSchema = serde_json::from_value(kind)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let field = request.field_name.parse();
        let field_name = field.map_err(|()| Status::invalid_argument("no path of a field"))?;
        let create = CreateIndex {
            field_name,
            field_schema: Some(schema),
        };
        let operation =
            UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(create));
        self.write("index", &request.collection_name, operation)
            .await
    }

    not_here! {
        update_vectors(api::UpdatePointVectors) -> api::PointsOperationResponse;
        delete_vectors(api::DeletePointVectors) -> api::PointsOperationResponse;
        set_payload(api::SetPayloadPoints) -> api::PointsOperationResponse;
        overwrite_payload(api::SetPayloadPoints) -> api::PointsOperationResponse;
        delete_payload(api::DeletePayloadPoints) -> api::PointsOperationResponse;
        clear_payload(api::ClearPayloadPoints) -> api::PointsOperationResponse;
        delete_field_index(api::DeleteFieldIndexCollection) -> api::PointsOperationResponse;
        create_vector_name(api::CreateVectorNameRequest) -> api::PointsOperationResponse;
        delete_vector_name(api::DeleteVectorNameRequest) -> api::PointsOperationResponse;
        search(api::SearchPoints) -> api::SearchResponse;
        search_batch(api::SearchBatchPoints) -> api::SearchBatchResponse;
        search_groups(api::SearchPointGroups) -> api::SearchGroupsResponse;
        recommend(api::RecommendPoints) -> api::RecommendResponse;
        recommend_batch(api::RecommendBatchPoints) -> api::RecommendBatchResponse;
        recommend_groups(api::RecommendPointGroups) -> api::RecommendGroupsResponse;
        discover(api::DiscoverPoints) -> api::DiscoverResponse;
        discover_batch(api::DiscoverBatchPoints) -> api::DiscoverBatchResponse;
        update_batch(api::UpdateBatchPoints) -> api::UpdateBatchResponse;
        query(api::QueryPoints) -> api::QueryResponse;
        query_batch(api::QueryBatchPoints) -> api::QueryBatchResponse;
        query_groups(api::QueryPointGroups) -> api::QueryGroupsResponse;
        facet(api::FacetCounts) -> api::FacetResponse;
        search_matrix_pairs(api::SearchMatrixPoints) -> api::SearchMatrixPairsResponse;
        search_matrix_offsets(api::SearchMatrixPoints) -> api::SearchMatrixOffsetsResponse;
    }
}
