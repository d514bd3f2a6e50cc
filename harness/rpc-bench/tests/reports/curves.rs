//! CPU and memory against rate, on synthetic samples: which rates are held, what is drawn, and that runs with few rates
//! have none of it.

use std::path::Path;

use bench_measure::run;
use bench_model::config::{Campaign, ConfigDir};
use bench_model::figure::Figure;
use bench_model::load::{LoadTool, OpenWindow};
use bench_model::observation::Sample;
use bench_model::plan::{self, Plan, Trial};
use bench_report::Run;
use bench_system::probe::resources::ResourceSample;

use crate::observed::{self, all, cells, folder, observe_planned};
use crate::samples::{conditions, sample};

/// What legacy answers in a second at most; the others answer all.
const MOST: u32 = 20_000;

fn cpu_us(server: &str) -> f64 {
    match server {
        "legacy" => 40.0,
        "jsonrpsee" => 30.0,
        _ => 15.0,
    }
}

/// A window of one second. Memory is 10 MiB and one for each thousand requests a second.
fn at_rate(trial: &Trial) -> Sample {
    let rate = trial.rate.unwrap();
    let most = if trial.server == "legacy" { MOST } else { u32::MAX };
    let answered = rate.min(most);
    let lag = all(if rate > most { 900_000.0 } else { 1.0 });
    let mut sample = sample(answered.into(), cpu_us(&trial.server) * (0.9 + 0.1 * f64::from(trial.block)));
    sample.load.latency_us = all(if rate > most { 900_000.0 } else { 200.0 });
    sample.load.failed.insert("not sent".to_owned(), u64::from(rate - answered));
    sample.load.open = Some(OpenWindow {
        achieved_rate: answered.into(),
        sent: answered.into(),
        send_lag_us: Some(lag),
        ..observed::at_rate(rate, 1.0, 200.0)
    });
    let memory_bytes = (10 << 20) + (u64::from(rate) << 20) / 1_000;
    sample.resources =
        vec![ResourceSample { t_ms: 500, memory_bytes: Some(memory_bytes), ..ResourceSample::default() }];
    sample
}

/// A run of the shipped campaign with these rates, if not its own, and its report.
fn reported(dir: &Path, rates: Option<&[u32]>) -> (Run, String) {
    let config = ConfigDir::of_repository();
    let (plan, _) = run::resolve(&config, "curves").unwrap();
    let mut campaign = Campaign { window_ms: 1_000, max_extra_blocks: Some(0), ..plan.campaign };
    let open = campaign.open.as_mut().unwrap();
    open.rates = rates.map_or_else(|| open.rates.clone(), <[u32]>::to_vec);
    let rates = open.levels(|_| Some(LoadTool::RpcLoad));
    let trials = plan::trials_at(&campaign, &rates);
    let plan = Plan { trials, rates, campaign, ..plan };
    let (conditions, observed) = (conditions("just bench-all curves"), observe_planned(&plan, at_rate));
    observed::reported(&folder(dir, "curves", &plan, &conditions, observed))
}

/// The cells of a server's row at a rate in the section.
fn row(report: &str, server: &str, rate: &str) -> Vec<String> {
    let section =
        report.split("## CPU time for a request, by rate").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows =
        section.lines().map(cells).filter(|row| row.len() > 3 && row[1].contains(server) && row[2] == rate);
    let mut rows: Vec<Vec<String>> = rows.collect();
    assert_eq!(rows.len(), 1, "{server} at {rate} in {section}");
    rows.remove(0)
}

#[test]
fn a_rate_that_is_not_held_shows_what_was_answered_and_is_hollow() {
    let dir = tempfile::tempdir().unwrap();
    let (run, report) = reported(dir.path(), None);
    let [panel] = run.summary.views[0].panels.as_slice() else { panic!("{:?}", run.summary.views) };
    assert_eq!(panel.series.len(), 4, "control shows what the load tool can send, and is no server");
    for of in &panel.series {
        assert_eq!(of.points.len(), 10, "{}", of.name);
        for point in &of.points {
            let is_held = of.name != "legacy" || point.amount <= MOST;
            assert_eq!(point.held, Some(if is_held { 3 } else { 0 }), "{} at {}", of.name, point.amount);
            let cpu = point.figures[&Figure::CpuUsPerRequest].value;
            assert!((cpu / (cpu_us(&of.name) * 1.1) - 1.0).abs() < 1e-6, "{} {cpu}", of.name);
        }
    }
    let held = row(&report, "jsonrpc-core", "16,000 requests/s");
    assert_eq!(
        [&held[4], &held[5], &held[6], &held[9]],
        ["0.704", "26.0 MiB", "16,000", "3 of 3"],
        "{held:?}"
    );
    let missed = row(&report, "jsonrpc-core", "32,000 requests/s");
    assert_eq!([&missed[6], &missed[9]], ["20,000", "**0 of 3**"], "{missed:?}");
    for chart in ["view-1.svg", "view-2.svg", "view-3.svg"] {
        let drawn = std::fs::read_to_string(dir.path().join(&run.name).join(chart)).unwrap();
        // legacy's three highest rates are hollow, in one group.
        let hollow =
            drawn.split("fill-opacity=\"0.6\"").skip(1).map(|rest| rest.split("</g>").next().unwrap());
        assert_eq!(hollow.map(|group| group.lines().skip(1).count()).collect::<Vec<_>>(), [3], "{drawn}");
        assert!(drawn.contains("Hollow: the rate was not held") && drawn.contains("(log scale)"), "{drawn}");
        assert!(report.contains(&format!("]({chart})")), "{report}");
    }
    assert!(
        !report.contains("](cpu.svg)") && report.contains("](p99.svg)"),
        "it has these already: {report}"
    );
}
