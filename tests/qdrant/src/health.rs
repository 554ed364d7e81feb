//! Who answers. Needs no key, as on a real server.

use qdrant_client::qdrant::qdrant_server::Qdrant;
use qdrant_client::qdrant::{HealthCheckReply, HealthCheckRequest};
use tonic::{Request, Response, Status};

pub struct Health {
    pub version: String,
}

#[tonic::async_trait]
impl Qdrant for Health {
    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckReply>, Status> {
        Ok(Response::new(HealthCheckReply {
            title: "qdrant - vector search engine".to_owned(),
            version: self.version.clone(),
            commit: None,
        }))
    }
}
