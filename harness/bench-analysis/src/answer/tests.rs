//! Tests of the module above.

use super::*;

fn value(value: f64, spread: f64) -> Option<Value> {
    Some(Value::of(Estimate { value, interval: Some((value - spread, value + spread)) }))
}

fn answer(rows: &[(Topic, &str, [Option<Value>; 3])]) -> Answer {
    let row = |(topic, request, values): &(Topic, &str, [Option<Value>; 3])| AnswerRow {
        topic: *topic,
        request: (*request).to_owned(),
        at: String::new(),
        values: values.to_vec(),
        direct: Vec::new(),
    };
    let servers = ["a", "b", "c"].map(str::to_owned).to_vec();
    Answer { servers, baseline: 0, rows: rows.iter().map(row).collect() }
}

#[test]
fn the_best_are_those_that_nothing_is_surely_better_than() {
    let best = |topic, values| answer(&[(topic, "", values)]).rows[0].best();
    let apart = [value(1.0, 0.01), value(0.9, 0.01), value(0.7, 0.01)];
    assert_eq!(best(Topic::Cpu, apart), [2], "less CPU is better");
    assert_eq!(best(Topic::Rate, apart), [0], "a higher rate is better");
    assert_eq!(best(Topic::Cpu, [value(1.0, 0.01), value(0.71, 0.02), value(0.7, 0.01)]), [1, 2]);
    assert!(best(Topic::Cpu, [value(1.0, 0.2), value(0.9, 0.2), value(0.8, 0.2)]).is_empty());
    assert!(best(Topic::Cpu, [None, None, None]).is_empty());
}

#[test]
fn a_direct_comparison_decides_between_two_servers() {
    let best = |ratio: Option<(f64, f64)>| {
        let values = [value(1.0, 0.01), value(0.71, 0.02), value(0.7, 0.02)];
        let mut row = answer(&[(Topic::Cpu, "", values)]).rows.remove(0);
        row.direct.push(Direct { server: 2, over: 1, ratio: Estimate { value: 0.97, interval: ratio } });
        row.best()
    };
    assert_eq!(best(Some((0.96, 0.98))), [2], "closer than the intervals to the baseline show");
    assert_eq!(best(Some((1.02, 1.04))), [1]);
    assert_eq!(best(Some((0.96, 1.01))), [1, 2]);
    assert_eq!(best(None), [1, 2]);
}

#[test]
fn a_server_that_is_best_in_all_rows_is_recommended_for_all() {
    let cpu = |b, c| [value(1.0, 0.0), value(b, 0.01), value(c, 0.01)];
    let best = |second| {
        let rows = [(Topic::Cpu, "x", cpu(0.9, 0.7)), (Topic::Cpu, "y", second)];
        answer(&rows).recommendations()[0].best.clone()
    };
    assert_eq!(best(cpu(0.9, 0.6)), [(vec![0, 1], vec![2])]);
    assert_eq!(best(cpu(0.61, 0.6)), [(vec![0, 1], vec![2])], "as good as another in one of them");
    assert_eq!(best(cpu(0.9, 1.6)), [(vec![0], vec![2]), (vec![1], vec![1])]);
}

#[test]
fn the_price_is_where_the_recommended_server_is_furthest_behind() {
    let cpu = (Topic::Cpu, "x", [value(1.0, 0.0), value(0.9, 0.01), value(0.7, 0.01)]);
    let p99 = (Topic::P99, "x", [value(5.0, 0.1), value(6.0, 0.1), value(5.8, 0.1)]);
    let memory = (Topic::ConnectionMemory, "", [value(10.0, 0.1), value(30.0, 0.1), value(20.0, 0.1)]);
    let paid = answer(&[cpu, p99, memory]);
    assert_eq!(paid.recommendations()[0].price, [2, 1], "twice the memory, then p99");
    let free = answer(&[cpu, (Topic::P99, "x", [value(5.0, 0.5), value(6.0, 0.5), value(5.0, 0.5)])]);
    assert!(free.recommendations()[0].price.is_empty());
}

#[test]
fn what_was_not_measured_is_not_decided() {
    let answer = answer(&[(Topic::P99, "x", [value(5.0, 0.1), value(6.0, 0.1), value(7.0, 0.1)])]);
    for recommendation in answer.recommendations() {
        assert!(recommendation.decided_by.is_none() && recommendation.best.is_empty());
    }
}

#[test]
fn a_difference_is_resolved_where_the_intervals_are_apart() {
    let answer = answer(&[(Topic::Cpu, "x", [value(1.0, 0.0), value(0.99, 0.02), value(0.7, 0.01)])]);
    let resolved = [0, 1, 2].map(|server| answer.rows[0].is_resolved(server, 0));
    assert_eq!(resolved, [true, false, true]);
}
