//! Memory against requests in flight, on synthetic samples: each server's line.

use bench_measure::run;
use bench_model::config::ConfigDir;
use bench_system::probe::resources::ResourceSample;

use crate::observed::{folder, observe_planned, reported};
use crate::samples::{conditions, sample};

/// Bytes for each request in flight, and bytes without any.
fn memory(server: &str, workload: &str) -> (u64, u64) {
    let each = if workload == "getBlocks" { 8 << 10 } else { 1 << 10 };
    (if server.contains("websocket") { each * 2 } else { each }, 10 << 20)
}

#[test]
fn each_server_has_a_line() {
    let config = ConfigDir::of_repository();
    let (plan, _) = run::resolve(&config, "in-flight-memory").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let observed = observe_planned(&plan, |trial| {
        let (each, without) = memory(&trial.server, &trial.workload);
        // Blocks differ by what no load explains.
        let bytes = without + each * u64::from(trial.connections) + (u64::from(trial.block) << 12);
        let mut sample = sample(1_000.0, 20.0);
        sample.resources =
            vec![ResourceSample { t_ms: 500, memory_bytes: Some(bytes), ..ResourceSample::default() }];
        sample
    });
    let conditions = conditions("just bench-all in-flight-memory");
    let folder = folder(dir.path(), "in-flight-memory", &plan, &conditions, observed);
    let (run, report) = reported(&folder);
    let [shown] = &run.summary.views[..] else { panic!("one view: {:?}", run.summary.views) };
    let panels = shown.panels.iter();
    let found: Vec<_> =
        panels.flat_map(|panel| panel.series.iter().map(move |of| (&panel.name, of))).collect();
    assert_eq!(found.len(), 16, "four servers over two transports with two requests each");
    for (panel, of) in found {
        let point = &of.points[0];
        let (each, without) = memory(&point.server, &point.workload);
        let line = of.line.as_ref().unwrap();
        let slope = line.slope.unwrap();
        assert!((slope.value / each as f64 - 1.0).abs() < 1e-3, "{panel}, {}: {slope:?}", of.name);
        assert!(slope.interval.is_some(), "six blocks give an interval");
        assert!((line.intercept.unwrap().value / without as f64 - 1.0).abs() < 0.01, "{panel}, {}", of.name);
    }
    let section = report.split("## Memory for a request in flight").nth(1).unwrap();
    assert!(section.contains("getBlocks, 64 in flight on a connection, over WebSocket"), "{section}");
    assert!(section.contains("16.0 KiB ["), "{section}");
    assert!(std::fs::read_to_string(folder.0.join("view-1.svg")).unwrap().contains("requests in flight"));
}
