//! What resident views take, for those who choose `--view-memory`.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::{Registry, Unit};
use recall_memory::Memory;

use crate::told;

/// Shows the views of `memory`.
pub(crate) fn register(memory: &Memory, registry: &mut Registry) {
    registry.register_collector(Box::new(Views(memory.clone())));
}

#[derive(Debug)]
struct Views(Memory);

impl Collector for Views {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let stats = self.0.stats();
        for (name, help, unit, now) in [
            (
                "recall_views",
                "Namespaces whose memory is resident",
                None,
                stats.views,
            ),
            (
                "recall_views_size",
                "What resident views take, about",
                Some(&Unit::Bytes),
                stats.bytes,
            ),
            (
                "recall_views_statements",
                "Statements in the search indexes of resident views",
                None,
                stats.items,
            ),
        ] {
            told::gauge(&mut encoder, (name, help, unit), now)?;
        }
        for (name, help, so_far) in [
            (
                "recall_view_loads",
                "Views that were built from their log",
                stats.loads,
            ),
            (
                "recall_view_evictions",
                "Views that were let go to keep within --view-memory",
                stats.evictions,
            ),
        ] {
            told::counter(&mut encoder, (name, help), so_far)?;
        }
        Ok(())
    }
}
