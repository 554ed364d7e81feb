//! Figures that are asked for when the metrics are read.

use std::fmt::Error;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// A figure that grows and shrinks.
pub(crate) fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, unit): (&str, &str, Option<&Unit>),
    now: usize,
) -> Result<(), Error> {
    let gauge = ConstGauge::new(i64::try_from(now).unwrap_or(i64::MAX));
    let kind = gauge.metric_type();
    gauge.encode(encoder.encode_descriptor(name, help, unit, kind)?)
}

/// A figure that only grows.
pub(crate) fn counter(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    so_far: u64,
) -> Result<(), Error> {
    let counter = ConstCounter::new(so_far);
    let kind = counter.metric_type();
    counter.encode(encoder.encode_descriptor(name, help, None, kind)?)
}
