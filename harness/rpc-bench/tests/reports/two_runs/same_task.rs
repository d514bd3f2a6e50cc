//! Which runs did the same, so that their figures can be compared.

use super::*;
use bench_core::config::Percent;
use bench_report::compare;

fn longer(traffic: &mut Traffic) {
    let Traffic::One { body, .. } = traffic else { return };
    body.push(' ');
}

/// Each kind of run that can't be compared, and what the one line must name.
#[test]
fn what_is_not_the_same_task_is_refused() {
    type Change = fn(&mut Measured);
    let cases: [(Change, &str); 5] = [
        (|run| run.plan.campaign.connections = vec![126], "no cell in common"),
        (|run| longer(&mut run.plan.workloads[0].traffic), "getBalance sends other requests"),
        (
            |run| run.plan.threads = 4,
            "the number of threads is 2 workers in the first and 4 workers in the second",
        ),
        (|run| run.plan.campaign.window_ms += 1, "the window"),
        (|run| run.plan.campaign.timeout_ms += 1, "the timeout"),
    ];
    for (change, named) in cases {
        let mut after = usual("b", 16);
        change(&mut after);
        let (code, said, complaint) = called(&usual("a", 15), &after);
        assert!(code == 2 && complaint.contains(named), "{named}: {code} {complaint}");
        assert_eq!((said.as_str(), complaint.lines().count()), ("", 1), "{complaint}");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = save(dir.path(), &usual("a", 15));
    let mut call = Command::new(env!("CARGO_BIN_EXE_rpc-bench"));
    let output = call.arg("compare").arg(&path).arg(dir.path().join("nothing")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("no results folder"), "{said}");
}

/// All fields are named, so that a new one has its value here too.
fn other_environment() -> Environment {
    Environment {
        tuning: Tuning::Shipped,
        threads: Some(7),
        accounts: 7,
        slots: 7,
        ledger_seed: 7,
        global_queue_interval: Some(7),
        walk_ns_per_slot: Some(7),
        transport: Some(Transport::WebSocket),
        in_flight: Some(7),
        batch: Some(7),
        keep_alive: Some(false),
        network: Some(serde_json::from_str(r#"{"delay_ms": 0.0}"#).unwrap()),
        cpu_quota: Some(serde_json::from_str("0.5").unwrap()),
        memory_max: Some(serde_json::from_str(r#""64MiB""#).unwrap()),
        placement: Placement::OneCore,
        max_foreign_cpu: Percent(0.07),
        max_steal: Some(Percent(0.07)),
    }
}

#[test]
fn each_setting_of_the_environment_is_part_of_the_task() {
    let (before, usual) = (usual("a", 15), usual("b", 16));
    let other = serde_json::to_value(other_environment()).unwrap();
    let mut compared_all_the_same = Vec::new();
    for (name, value) in other.as_object().unwrap() {
        let mut after = usual.clone();
        let mut environment = serde_json::to_value(&after.plan.campaign.environment).unwrap();
        environment[name] = value.clone();
        after.plan.campaign.environment = serde_json::from_value(environment).unwrap();
        for runs in [Both { before: &before, after: &after }, Both { before: &after, after: &before }] {
            match between(runs) {
                // Requests in flight are a part of the load, so that such runs share no cell.
                Err(error) => {
                    let said = error.to_string();
                    assert!(said.contains("can't be compared") || said.contains("no cell"), "{name}: {said}");
                }
                Ok(_) => compared_all_the_same.push(name.as_str()),
            }
        }
    }
    compared_all_the_same.dedup();
    let only_count = ["max_foreign_cpu", "max_steal"];
    assert_eq!(compared_all_the_same, only_count, "these decide only which trials count");
    let mut after = usual;
    after.plan.campaign.environment.max_foreign_cpu = Percent(0.07);
    after.plan.campaign.environment.max_steal = Some(Percent(0.07));
    let text =
        compare::markdown(Both { before: &before, after: &after }, &compared(&before, &after)).unwrap();
    assert!(text.contains("the CPU time that other processes may use"), "{text}");
    assert!(text.contains("the CPU time that the hypervisor may take"), "{text}");
}

#[test]
fn what_is_left_out_is_the_same_as_its_value() {
    let (before, mut after) = (usual("a", 15), usual("b", 16));
    let environment = &mut after.plan.campaign.environment;
    environment.threads = Some(2);
    (environment.global_queue_interval, environment.walk_ns_per_slot) = (Some(0), Some(0));
    (environment.in_flight, environment.batch) = (Some(1), Some(1));
    environment.transport = Some(Transport::Http);
    assert!(between(Both { before: &before, after: &after }).is_ok());
}
