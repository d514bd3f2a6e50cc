//! Prometheus' protobuf format, the only one with native histograms: one `MetricFamily` after another, each behind its length.
//!
//! The messages are written by hand, so that no build needs protoc. Their numbers are those of `io/prometheus/client/metrics.proto`
//! of prometheus/client_model; fields that nothing here sets are left out, as the format allows.

use prost::{EncodeError, Message};

use crate::native::{Durations, Family, SCHEMA};

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
enum MetricType {
    Counter = 0,
    Gauge = 1,
    Untyped = 3,
    Histogram = 4,
}

/// Of a counter, a gauge and an untyped metric: they are written alike.
#[derive(Clone, Copy, PartialEq, Message)]
struct Number {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
struct BucketSpan {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Number>,
    #[prost(message, optional, tag = "5")]
    untyped: Option<Number>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    help: Option<String>,
    #[prost(enumeration = "MetricType", optional, tag = "3")]
    r#type: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

/// The metrics of Prometheus' older text, with those of `natives` in place of the text's of the same name.
///
/// # Errors
/// Memory for the answer has an end.
pub(crate) fn from_older(text: &str, natives: &[Family]) -> Result<Vec<u8>, EncodeError> {
    let mut families: Vec<MetricFamily> = Vec::new();
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            let family = MetricFamily {
                name: Some(name.to_owned()),
                help: Some(unescaped(help)),
                ..Default::default()
            };
            families.push(family);
        } else if let Some((_, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            families.iter_mut().last().into_iter().for_each(|family| family.set_type(kind_of(kind)));
        } else if let Some((family, sample)) = families.last_mut().zip(Sample::read(line)) {
            family.add(sample);
        }
    }
    let natives_only = |family: &MetricFamily| natives.iter().all(|native| native.name != family.name());
    families.retain(|family| natives_only(family) && !family.metric.is_empty());
    families.extend(natives.iter().filter(|native| !native.series.is_empty()).map(of_native));
    let mut bytes = Vec::new();
    families.iter().try_for_each(|family| family.encode_length_delimited(&mut bytes))?;
    Ok(bytes)
}

fn kind_of(kind: &str) -> MetricType {
    match kind {
        "counter" => MetricType::Counter,
        "gauge" => MetricType::Gauge,
        "histogram" => MetricType::Histogram,
        _ => MetricType::Untyped,
    }
}

/// A line with a value.
struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
}

impl<'a> Sample<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let end_of_name = line.find(['{', ' '])?;
        let (name, mut rest) = line.split_at_checked(end_of_name)?;
        let mut labels = Vec::new();
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner;
            while !rest.starts_with('}') {
                let (label, after) = rest.split_once("=\"")?;
                let (value, after) = after.split_at_checked(end_of_value(after)?)?;
                labels.push((label, unescaped(value)));
                let after = after.strip_prefix('"')?;
                rest = after.strip_prefix(',').unwrap_or(after);
            }
            rest = rest.strip_prefix('}')?;
        }
        Some(Self { name, labels, value: rest.split_whitespace().next()?.parse().ok()? })
    }
}

/// Where the quote is that ends a label's value.
fn end_of_value(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

fn unescaped(text: &str) -> String {
    let (mut plain, mut chars) = (String::with_capacity(text.len()), text.chars());
    while let Some(char) = chars.next() {
        match (char, char == '\\') {
            (_, true) => match chars.next() {
                Some('n') => plain.push('\n'),
                other => plain.extend(other),
            },
            (char, false) => plain.push(char),
        }
    }
    plain
}

fn labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<LabelPair> {
    let pair = |(name, value): (&str, &str)| LabelPair { name: Some(name.into()), value: Some(value.into()) };
    labels.into_iter().map(pair).collect()
}

impl MetricFamily {
    fn add(&mut self, sample: Sample<'_>) {
        let number = Some(Number { value: Some(sample.value) });
        let of = |labels_of: &[(&str, String)]| {
            labels(labels_of.iter().map(|(name, value)| (*name, value.as_str())))
        };
        let metric = match self.r#type() {
            MetricType::Counter => Metric { counter: number, ..Default::default() },
            MetricType::Gauge => Metric { gauge: number, ..Default::default() },
            MetricType::Untyped => Metric { untyped: number, ..Default::default() },
            MetricType::Histogram => {
                self.add_to_histogram(sample);
                return;
            }
        };
        self.metric.push(Metric { label: of(&sample.labels), ..metric });
    }

    /// A histogram has many lines for each set of labels.
    fn add_to_histogram(&mut self, sample: Sample<'_>) {
        let part = sample.name.strip_prefix(self.name()).unwrap_or_default().to_owned();
        let (bound, own): (Vec<_>, Vec<_>) = sample.labels.into_iter().partition(|(name, _)| *name == "le");
        let label = labels(own.iter().map(|(name, value)| (*name, value.as_str())));
        let place = self.metric.iter().position(|metric| metric.label == label).unwrap_or_else(|| {
            self.metric.push(Metric { label, histogram: Some(Histogram::default()), ..Default::default() });
            self.metric.len() - 1
        });
        let Some(histogram) = self.metric.get_mut(place).and_then(|metric| metric.histogram.as_mut()) else {
            return;
        };
        match part.as_str() {
            "_count" => histogram.sample_count = Some(sample.value as u64),
            "_sum" => histogram.sample_sum = Some(sample.value),
            _ => histogram.bucket.push(Bucket {
                cumulative_count: Some(sample.value as u64),
                upper_bound: bound.first().and_then(|(_, bound)| bound.parse().ok()),
            }),
        }
    }
}

fn of_native(family: &Family) -> MetricFamily {
    let metric = |series: &Durations| Metric {
        label: labels(series.labels.iter().copied()),
        histogram: Some(histogram(series)),
        ..Default::default()
    };
    MetricFamily {
        name: Some(family.name.to_owned()),
        help: Some(family.help.to_owned()),
        r#type: Some(MetricType::Histogram.into()),
        metric: family.series.iter().map(metric).collect(),
    }
}

fn histogram(series: &Durations) -> Histogram {
    let mut below = 0;
    let bucket = series.classic().into_iter().map(|(bound, count)| {
        below += count;
        Bucket { cumulative_count: Some(below), upper_bound: Some(bound) }
    });
    let ((zero_threshold, zero_count), spans) = (series.zero(), series.spans());
    let span_of = |span: &crate::native::Span| BucketSpan {
        offset: Some(span.offset),
        length: Some(u32::try_from(span.counts.len()).unwrap_or(u32::MAX)),
    };
    let mut before = 0;
    let deltas = spans.iter().flat_map(|span| &span.counts).map(|count| {
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        let delta = count - before;
        before = count;
        delta
    });
    Histogram {
        sample_count: Some(series.count()),
        sample_sum: Some(series.sum_s),
        bucket: bucket.collect(),
        schema: Some(SCHEMA),
        zero_threshold: Some(zero_threshold),
        zero_count: Some(zero_count),
        positive_span: spans.iter().map(span_of).collect(),
        positive_delta: deltas.collect(),
    }
}

#[cfg(test)]
mod tests {
    use crate::native::{BUCKETS, bucket};

    use super::*;

    fn read(mut bytes: &[u8]) -> Vec<MetricFamily> {
        let mut families = Vec::new();
        while !bytes.is_empty() {
            families.push(MetricFamily::decode_length_delimited(&mut bytes).unwrap());
        }
        families
    }

    #[test]
    fn every_kind_of_metric_keeps_its_name_labels_and_value() {
        let text = "# HELP calls_total Calls \\\\ all.\n# TYPE calls_total counter\ncalls_total 3\n\
                    # HELP open Open.\n# TYPE open gauge\nopen{a=\"x\\\"}, y\\n\",b=\"\"} -2.5\nopen{a=\"z\"} NaN\n\
                    # HELP odd Odd.\n# TYPE odd unknown\nodd 1\n\
                    # HELP took Took.\n# TYPE took histogram\ntook_sum{m=\"a\"} 1.5\ntook_count{m=\"a\"} 3\n\
                    took_bucket{le=\"0.5\",m=\"a\"} 2\ntook_bucket{le=\"+Inf\",m=\"a\"} 3\ntook_count{m=\"b\"} 9\n\
                    # HELP none None.\n# TYPE none gauge\n";
        let families = read(&from_older(text, &[]).unwrap());
        let names: Vec<_> = families.iter().map(MetricFamily::name).collect();
        assert_eq!(names, ["calls_total", "open", "odd", "took"], "none has no metric");
        assert_eq!(families[0].help(), "Calls \\ all.");
        assert_eq!(families[0].r#type(), MetricType::Counter);
        assert_eq!(families[0].metric[0].counter.unwrap().value(), 3.0);
        assert_eq!(families[1].metric[0].gauge.unwrap().value(), -2.5);
        assert_eq!(families[1].metric[0].label, labels([("a", "x\"}, y\n"), ("b", "")]));
        assert!(families[1].metric[1].gauge.unwrap().value().is_nan());
        assert_eq!(families[2].metric[0].untyped.unwrap().value(), 1.0);
        let [a, b] = families[3].metric.as_slice() else { panic!("{families:?}") };
        let buckets = [(0.5, 2), (f64::INFINITY, 3)];
        let buckets =
            buckets.map(|(bound, count)| Bucket { cumulative_count: Some(count), upper_bound: Some(bound) });
        let expected = Histogram {
            sample_count: Some(3),
            sample_sum: Some(1.5),
            bucket: buckets.to_vec(),
            ..Default::default()
        };
        assert_eq!(a.histogram, Some(expected));
        assert_eq!(
            (b.label.as_slice(), b.histogram.as_ref().unwrap().sample_count()),
            (&*labels([("m", "b")]), 9)
        );
    }

    #[test]
    fn a_native_histogram_has_both_kinds_of_buckets_and_takes_the_place_of_the_text() {
        let mut counts = [0; BUCKETS];
        for ns in [1, 1_000_000_000, 1_000_000_000, 1_000_000_001, 2_000_000_000] {
            counts[bucket(ns)] += 1;
        }
        let series = vec![Durations { labels: vec![("m", "a")], sum_s: 5.0, counts }];
        let native = Family { name: "took", help: "Took", series };
        let text = "# HELP took Took.\n# TYPE took histogram\ntook_count{m=\"a\"} 9\n";
        let families = read(&from_older(text, &[native]).unwrap());
        let [family] = families.as_slice() else { panic!("{families:?}") };
        let histogram = family.metric[0].histogram.clone().unwrap();
        assert_eq!((histogram.sample_count(), histogram.sample_sum(), histogram.schema()), (5, 5.0, 3));
        assert_eq!((histogram.zero_threshold(), histogram.zero_count()), (f64::from(-22).exp2(), 1));
        let spans: Vec<_> =
            histogram.positive_span.iter().map(|span| (span.offset(), span.length())).collect();
        assert_eq!(spans, [(0, 2), (6, 1)]);
        assert_eq!(histogram.positive_delta, [2, -1, 0]);
        let at = |bound: f64| histogram.bucket.iter().find(|bucket| bucket.upper_bound() == bound).unwrap();
        assert_eq!([0.5, 1.0, 2.0, f64::INFINITY].map(|bound| at(bound).cumulative_count()), [1, 3, 5, 5]);
    }

    /// As the format says, and not as this module reads itself.
    #[test]
    fn the_bytes_are_those_of_the_format() {
        let bytes = from_older("# HELP n H\n# TYPE n gauge\nn 1\n", &[]).unwrap();
        let expected = [
            21, // bytes that follow
            0x0a, 1, b'n', // name
            0x12, 1, b'H', // help
            0x18, 1, // type: gauge
            0x22, 11, // metric
            0x12, 9, // gauge
            0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, // value
        ];
        assert_eq!(bytes, expected);
    }
}
