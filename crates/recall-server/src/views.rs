//! What resident views take, for those who choose `--view-memory`.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use recall_memory::Memory;

/// Shows the views of `memory`.
pub(crate) fn register(memory: &Memory, registry: &mut Registry) {
    registry.register_collector(Box::new(Views(memory.clone())));
}

#[derive(Debug)]
struct Views(Memory);

impl Collector for Views {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let stats = self.0.stats();
        let gauge = |count: usize| ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
        for (name, help, unit, now) in [
            (
                "recall_views",
                "Namespaces whose memory is resident",
                None,
                gauge(stats.views),
            ),
            (
                "recall_views_size",
                "What resident views take, about",
                Some(&Unit::Bytes),
                gauge(stats.bytes),
            ),
            (
                "recall_views_statements",
                "Statements in the search indexes of resident views",
                None,
                gauge(stats.items),
            ),
        ] {
            let kind = now.metric_type();
            now.encode(encoder.encode_descriptor(name, help, unit, kind)?)?;
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
            let so_far = ConstCounter::new(so_far);
            let kind = so_far.metric_type();
            so_far.encode(encoder.encode_descriptor(name, help, None, kind)?)?;
        }
        Ok(())
    }
}
