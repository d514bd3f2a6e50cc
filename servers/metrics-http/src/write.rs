//! Metrics in one line each, for collectors that read their values when they are called.

use std::fmt::{Error, Result};

use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Writes the metrics of a collector. Names come without unit and without `_total`; both are added.
#[derive(Debug)]
pub struct Writer<'a>(DescriptorEncoder<'a>);

impl<'a> Writer<'a> {
    /// Writes to what a collector was given.
    pub const fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    /// A counter of whole numbers.
    ///
    /// # Errors
    /// The text takes no more.
    pub fn counter(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: u64) -> Result {
        ConstCounter::new(value).encode(self.0.encode_descriptor(name, help, unit, MetricType::Counter)?)
    }

    /// A counter of fractions, such as seconds.
    ///
    /// # Errors
    /// The text takes no more.
    pub fn counter_f64(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: f64) -> Result {
        ConstCounter::new(value).encode(self.0.encode_descriptor(name, help, unit, MetricType::Counter)?)
    }

    /// A value that goes up and down. One beyond the largest `i64` is an error.
    ///
    /// # Errors
    /// The text takes no more.
    pub fn gauge(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: u64) -> Result {
        let value = i64::try_from(value).map_err(|_| Error)?;
        ConstGauge::new(value).encode(self.0.encode_descriptor(name, help, unit, MetricType::Gauge)?)
    }

    /// A fraction that goes up and down.
    ///
    /// # Errors
    /// The text takes no more.
    pub fn gauge_f64(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: f64) -> Result {
        ConstGauge::new(value).encode(self.0.encode_descriptor(name, help, unit, MetricType::Gauge)?)
    }

    /// A metric with labels: `each` gets an encoder that takes one `encode_family` for each set of labels.
    ///
    /// # Errors
    /// The text takes no more.
    pub fn family(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        kind: MetricType,
        each: impl FnOnce(&mut MetricEncoder<'_>) -> Result,
    ) -> Result {
        each(&mut self.0.encode_descriptor(name, help, unit, kind)?)
    }

    /// A gauge for each set of labels.
    ///
    /// # Errors
    /// The text takes no more.
    pub fn gauges<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        values: impl IntoIterator<Item = (L, f64)>,
    ) -> Result {
        self.family(name, help, unit, MetricType::Gauge, |encoder| {
            values
                .into_iter()
                .try_for_each(|(labels, value)| encoder.encode_family(&labels)?.encode_gauge(&value))
        })
    }

    /// A counter for each set of labels.
    ///
    /// # Errors
    /// The text takes no more.
    pub fn counters<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        values: impl IntoIterator<Item = (L, f64)>,
    ) -> Result {
        self.family(name, help, unit, MetricType::Counter, |encoder| {
            values.into_iter().try_for_each(|(labels, value)| {
                encoder.encode_family(&labels)?.encode_counter::<[(&str, &str); 0], _, f64>(&value, None)
            })
        })
    }
}
