//! Samples for tests that need no server.

use bench_core::load::{Latency, LoadSample};
use bench_core::machine::CpuTime;
use bench_core::observation::Sample;

/// A window of one second in which a server answered `rate` requests for `cpu_us` each.
pub fn sample(rate: f64, cpu_us: f64) -> Sample {
    let latency_us = Latency { mean: 125.0 / rate * 1e6, p50: 1.0, p90: 1.0, p99: 1.0, p999: None, max: 1.0 };
    let load = LoadSample {
        succeeded: rate as u64,
        time_taken_s: 1.0,
        bytes_read: 1,
        latency_us,
        ..LoadSample::default()
    };
    let used = rate * cpu_us / 1e6;
    Sample {
        load,
        server_cpu: Some(CpuTime { user_s: used / 2.0, system_s: used / 2.0 }),
        server_requests: Some(rate as u64),
        server_peak_memory_bytes: Some(1),
        client_cpu: CpuTime { user_s: 0.01, system_s: 0.01 },
        window_s: 1.0,
        answer_bytes: 100,
        server_errors: Some(0),
        ..Sample::default()
    }
}

/// The `environment.json` of a run on no real machine.
#[allow(dead_code, reason = "not every program that has these samples writes a run")]
pub fn conditions(command: &str) -> String {
    serde_json::json!({
        "started_at": "2026-01-01T00:00:00Z",
        "host": { "cpu": "a processor", "cores": 2, "open_files": 20_000 },
        "tool": { "name": "bombardier", "version": "v1.2.6", "source": "pinned", "sha256": "00" },
        "servers": {},
        "command": command,
    })
    .to_string()
}
