//! What one trial measures, seen with the real server and the real load tool.

use std::fs;

use bench_core::load::LoadTool;
use serde_json::Value;

use crate::bench::Bench;

#[test]
fn a_short_trial_on_one_core_measures_all_that_there_is() {
    let Some(bench) = Bench::new(1) else { return };
    bench.replace("campaigns/tiny.toml", "[environment]", "[environment]\nplacement = \"one-core\"");
    bench.succeeds(&["run", "tiny"]);
    assert_eq!(bench.outcomes(), ["completed", "completed"]);

    let folder = bench.folder();
    let kept = fs::read_to_string(folder.join("tool-output/bombardier.template")).unwrap();
    assert_eq!(kept, LoadTool::Bombardier.about().template.unwrap().1);
    let conditions: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("environment.json")).unwrap()).unwrap();
    assert!(conditions["host"]["one_core"].is_u64(), "{conditions}");
    for program in conditions["programs"].as_object().unwrap().values() {
        assert_eq!(program["sha256"].as_str().unwrap().len(), 64, "{conditions}");
    }
    assert!(conditions["programs"].get("actix").is_some(), "{conditions}");
    for observation in bench.observations() {
        check(&observation["outcome"]);
    }
}

#[test]
fn a_duet_measures_two_servers_at_the_same_time() {
    let Some(bench) = Bench::new(2) else { return };
    bench.replace("campaigns/tiny.toml", "[environment]", "[environment]\nplacement = \"duet\"");
    bench.succeeds(&["run", "tiny"]);
    assert_eq!(bench.outcomes(), ["completed"; 4]);
    let observations = bench.observations();
    for two in observations.chunks(2) {
        assert_eq!(two[0]["beside"], two[1]["server"]);
        assert_eq!(two[1]["beside"], two[0]["server"]);
        two.iter().for_each(|observation| check(&observation["outcome"]));
        // On one core, all four processes have no more than its time.
        let number = |pointer: &str, of: &Value| of.pointer(pointer).and_then(Value::as_f64).unwrap();
        let used: f64 =
            ["/outcome/server_cpu/user_s", "/outcome/server_cpu/system_s", "/outcome/client_cpu/user_s"]
                .iter()
                .flat_map(|pointer| two.iter().map(|of| number(pointer, of)))
                .sum();
        let window_s = two.iter().map(|of| number("/outcome/window_s", of)).fold(0.0, f64::max);
        assert!(used < 1.1 * window_s, "{used} s of CPU in {window_s} s");
    }
    assert!(bench.report().contains("CPU per request, side by side"), "{}", bench.report());
}

fn check(sample: &Value) {
    let count = |pointer: &str| sample.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let number = |pointer: &str| sample.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
    // It was started for 5 s, and ended by an interrupt.
    assert!(number("/load/time_taken_s") < 4.0, "{sample}");
    assert!(count("/load/succeeded") > 0);

    let quantiles = sample["load"]["quantiles"].as_array().unwrap();
    assert!(quantiles.len() >= 50, "{}", quantiles.len());
    assert_eq!(quantiles.last().unwrap()[1], sample["load"]["latency_us"]["max"]);
    assert!(number("/load/latency_us/p999") >= number("/load/latency_us/p99"));

    // Three connections are held; the harness's own question to the metrics may be seen as one more.
    assert!((3..=4).contains(&count("/established")), "{sample}");
    assert_eq!(sample["server_errors"], 0);
    assert!(count("/memory_before_bytes") > 0 && number("/sampler_cpu_s") > 0.0, "{sample}");
    let (first, all) = (count("/first_half/requests"), count("/server_requests"));
    assert!(0 < first && first < all, "{first} of {all}");
    assert!(number("/first_half/wall_s") < number("/window_s"));

    let resources = sample["resources"].as_array().unwrap();
    assert!(resources.len() >= 2, "{sample}");
    let last = resources.last().unwrap();
    for field in ["t_ms", "memory_bytes", "threads"] {
        assert!(last[field].as_u64().unwrap() > 0, "{field}: {last}");
    }
    // The window's CPU time is known exactly. A reading well within it has no more, though on a busy machine readings count
    // from a little after its start. The last one, which comes after it, has no less, however long the server went on in
    // between.
    let cpu_s = |reading: &Value| {
        (reading["user_us"].as_f64().unwrap() + reading["system_us"].as_f64().unwrap()) / 1e6
    };
    let window_ms = number("/window_s") * 1e3;
    let within: Vec<f64> =
        resources.iter().filter(|at| at["t_ms"].as_f64().unwrap() < 0.75 * window_ms).map(cpu_s).collect();
    let exact_s = number("/server_cpu/user_s") + number("/server_cpu/system_s");
    assert!(
        !within.is_empty() && within.iter().all(|cpu_s| *cpu_s < 1.25 * exact_s),
        "{within:?}, {exact_s}"
    );
    assert!(cpu_s(last) > 0.8 * exact_s, "{last} against {exact_s}");
}
