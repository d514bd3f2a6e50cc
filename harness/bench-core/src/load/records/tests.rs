//! The sample of a window is worked out from its records.

use super::*;
use crate::load::bombardier;

pub(in crate::load) fn load(rate: u32, duration_ms: u64) -> Load {
    Load { rate: Some(rate), connections: 10, duration_ms, timeout_ms: 1_000, ..Load::default() }
}

pub(in crate::load) fn answered(intended_us: u64, lag_us: u64, took_us: u64) -> Record {
    let sent_us = intended_us + lag_us;
    let times = (Some(sent_us), Some(sent_us + took_us));
    Record { intended_us, sent_us: times.0, ended_us: times.1, own_lag_us: None, bytes_in: 40, failure: None }
}

#[test]
fn the_probabilities_are_those_of_the_template() {
    let list = bombardier::TEMPLATE.split("FloatsToArray").nth(1).unwrap().split(')').next().unwrap();
    let theirs: Vec<f64> = list.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert_eq!(theirs, PROBABILITIES);
}

#[test]
fn quantiles_are_exact() {
    let thousand = Sorted::new((1..=1_000).rev());
    let of = |probability| thousand.quantile(probability).unwrap();
    assert_eq!((of(0.0), of(0.001), of(0.5), of(0.99)), (1.0, 1.0, 500.0, 990.0));
    assert_eq!((of(0.999), of(0.9991), of(1.0)), (999.0, 1_000.0, 1_000.0));
    assert_eq!(Sorted::new([7].into_iter()).quantile(0.5), Some(7.0));
    assert_eq!(Sorted::new(std::iter::empty()).quantile(0.5), None);
}

#[test]
fn a_wait_before_the_send_counts_from_when_a_request_was_due() {
    // A hundred a second for a second; the server takes 1 ms, and from the 50th to the 70th nothing could be sent.
    let records: Vec<Record> = (0..100)
        .map(|i| {
            let lag_us = if (50..70).contains(&i) { 10_000 * (70 - i) } else { 100 };
            answered(10_000 * i, lag_us, 1_000)
        })
        .collect();
    let sample = sample(&records, &load(100, 1_000)).unwrap();
    let open = sample.open.unwrap();
    assert_eq!((sample.succeeded, sample.failures(), open.intended, open.sent), (100, 0, 100, 100));
    assert_eq!((sample.latency_us.p50, sample.latency_us.max), (1_100.0, 201_000.0));
    assert_eq!((sample.latency_us.p90, open.from_send_us.max), (101_000.0, 1_000.0));
    assert_eq!(open.send_lag_us.unwrap().max, 200_000.0);
    assert_eq!(sample.quantiles.len(), PROBABILITIES.len());
    assert_eq!((sample.bytes_read, sample.time_taken_s), (4_000, 1.0));
    // The last was due at 990 ms and sent 0.1 ms late.
    assert!((open.achieved_rate - 100.0 / (0.9901 + 0.01)).abs() < 1e-9, "{}", open.achieved_rate);
}

#[test]
fn what_was_not_sent_is_a_failure_and_no_latency() {
    let not_sent: Arc<str> = NOT_SENT.into();
    let refused: Arc<str> = "refused".into();
    let mut records: Vec<Record> = (0..60).map(|i| answered(10_000 * i, 0, 500)).collect();
    records[3].failure = Some(refused.clone());
    records.extend((60..62).map(|i| Record::failed(10_000 * i, &refused)));
    records.extend((62..100).map(|i| Record::failed(10_000 * i, &not_sent)));
    let sample = sample(&records, &load(100, 1_000)).unwrap();
    assert_eq!((sample.succeeded, sample.failures()), (59, 41));
    assert_eq!(sample.failed, BTreeMap::from([(TOOL_LATE.to_owned(), 38), ("refused".to_owned(), 3)]));
    assert_eq!(sample.open.unwrap().sent, 62);
    assert_eq!(sample.latency_us.max, 500.0);
}

#[test]
fn without_a_known_time_there_is_no_sample() {
    let records: Vec<Record> = (0..10).map(|i| Record::failed(i, &"refused".into())).collect();
    let error = sample(&records, &load(10, 1_000)).unwrap_err().to_string();
    assert!(error.ends_with("failed: 10 x refused"), "{error}");
    assert!(sample(&records, &load(11, 1_000)).unwrap_err().to_string().contains("10 records of 11"));
}
