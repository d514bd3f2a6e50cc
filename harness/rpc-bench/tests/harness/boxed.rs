//! Connections in a box in small, on a real server and a real cgroup: few are held, and at many the kernel kills the
//! server. Skipped where this user may make no cgroups.

use bench_system::cgroup::{Cgroup, MemoryMax, Size};
use serde_json::Value;

use crate::bench::{Bench, program, stderr};

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn connections_are_held_until_the_kernel_kills_the_server() {
    let size = Size { memory_max: Some(MemoryMax(64 << 20)), ..Size::default() };
    if let Err(error) = Cgroup::create(&size) {
        eprintln!("SKIPPED: {error:#}");
        return;
    }
    let Some(bench) = Bench::new(1) else { return };
    bench.replace("servers.toml", "metrics = \"/metrics\"", "metrics = \"/metrics\", ws = \"/ws\"");
    // A window in which also a busy machine answers the last handshake: the harness counts open files, and a load tool
    // that still connects at the window's end gives no result.
    bench.write(
        "campaigns/small.toml",
        "why = \"a test\"\nservers = [\"actix\"]\nworkloads = [\"getBalance\"]\nconnections = [1, 100, 200, \
         3000]\nhold = true\n\
         tool = \"rpc-load\"\nmax_blocks = 1\nseed = 1\nwarmup_ms = 100\nwarmup_connections = 1\nwindow_ms = \
         3000\ntimeout_ms = 2000\n\
         [environment]\ntuning = \"equal\"\naccounts = 5\nslots = 50\nledger_seed = 1\nmax_foreign_cpu \
         = \"100%\"\nmax_steal = \"100%\"\n\
         transport = \"websocket\"\nmemory_max = \"32MiB\"\n",
    );
    let output = bench.command(&["run", "small"]).env("RPC_LOAD", program("rpc-load")).output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    bench.nothing_is_left_running();
    let summary = std::fs::read_to_string(bench.folder().join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let boxed = &summary["boxed"][0];
    assert_eq!(boxed["most_held"], 200, "{boxed} {said}");
    assert_eq!(boxed["least_killed"], 3_000, "{boxed} {said}");
    assert!(boxed["line"][1].as_f64().is_some_and(|each| each > 1_000.0), "bytes for a connection: {boxed}");
    let predicted = boxed["predicted"]["value"].as_f64().unwrap();
    assert!((200.0..3_000.0).contains(&predicted), "{boxed}");
    assert!(bench.report().contains("How many connections fit in a box"), "{}", bench.report());
}
