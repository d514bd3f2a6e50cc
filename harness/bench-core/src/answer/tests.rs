//! Tests of the module above.

use super::*;

const CPU: Topic = Topic::Figure(Figure::CpuUsPerRequest);
const RATE: Topic = Topic::Figure(Figure::RequestsPerSecond);

fn value(value: f64, spread: f64) -> Option<Value> {
    let estimate = Estimate { value, interval: Some((value - spread, value + spread)) };
    Some(Value { estimate, at_least: false })
}

fn answer(rows: &[(Topic, &str, [Option<Value>; 3])]) -> Answer {
    let row = |(topic, request, values): &(Topic, &str, [Option<Value>; 3])| AnswerRow {
        topic: *topic,
        request: (*request).to_owned(),
        at: String::new(),
        one: Some(1.0),
        values: values.to_vec(),
        direct: Vec::new(),
    };
    let servers = ["a", "b", "c"].map(str::to_owned).to_vec();
    let rows = rows.iter().map(row).collect();
    Answer { servers, baseline: 0, margin: 0.02, of_duets: Vec::new(), rows }
}

#[test]
fn the_best_are_those_that_nothing_is_shown_better_than() {
    let best = |topic, values| answer(&[(topic, "", values)]).rows[0].best();
    let apart = [value(1.0, 0.01), value(0.9, 0.01), value(0.7, 0.01)];
    assert_eq!(best(CPU, apart), [2], "less CPU is better");
    assert_eq!(best(RATE, apart), [0], "a higher rate is better");
    assert_eq!(best(CPU, [value(1.0, 0.01), value(0.71, 0.02), value(0.7, 0.01)]), [1, 2]);
    assert!(best(CPU, [value(1.0, 0.2), value(0.9, 0.2), value(0.8, 0.2)]).is_empty());
    assert!(best(CPU, [None, None, None]).is_empty());
}

#[test]
fn a_direct_comparison_decides_between_two_servers() {
    let best = |ratio: Option<(f64, f64)>| {
        let values = [value(1.0, 0.01), value(0.71, 0.02), value(0.7, 0.02)];
        let mut row = answer(&[(CPU, "", values)]).rows.remove(0);
        row.direct.push(Direct { server: 2, over: 1, ratio: Estimate { value: 0.97, interval: ratio } });
        row.best()
    };
    assert_eq!(best(Some((0.96, 0.98))), [2], "closer than the intervals to the baseline show");
    assert_eq!(best(Some((1.02, 1.04))), [1]);
    assert_eq!(best(Some((0.96, 1.01))), [1, 2]);
    assert_eq!(best(None), [1, 2]);
}

#[test]
fn a_difference_is_resolved_where_the_intervals_are_apart() {
    let answer = answer(&[(CPU, "x", [value(1.0, 0.0), value(0.99, 0.02), value(0.7, 0.01)])]);
    let resolved = [0, 1, 2].map(|server| answer.rows[0].is_resolved(server, 0));
    assert_eq!(resolved, [true, false, true]);
}

#[test]
fn servers_are_equal_where_every_interval_lies_within_the_margin() {
    let equal = |b, c| answer(&[(CPU, "x", [value(1.0, 0.0), b, c])]).rows[0].is_equal_within(0.02);
    assert!(equal(value(1.005, 0.01), value(0.99, 0.005)));
    assert!(!equal(value(1.005, 0.03), value(0.99, 0.005)), "one is not known so well");
    assert!(!equal(value(1.005, 0.01), value(0.9, 0.005)));
    assert!(!equal(
        value(1.005, 0.01),
        Some(Value { estimate: Estimate { value: 1.0, interval: None }, at_least: false })
    ));
}
