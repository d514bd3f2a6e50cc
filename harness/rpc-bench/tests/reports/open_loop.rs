//! Open loops on synthetic samples: what is compared, what is marked, and that their figures never stand among those of
//! closed loops.

use std::collections::BTreeMap;

use bench_core::config::{Campaign, ConfigDir, Open};
use bench_core::figure::Figure;
use bench_core::load::{Bin, LoadTool};
use bench_core::observation::{Checked, Connecting, Sample};
use bench_core::plan::Plan;
use bench_core::plan::{self, Trial};
use bench_core::results::SUMMARY;
use bench_core::views::{Point, Shown};
use bench_core::{Comparison, Mark, Summary, summarize};

use crate::observed::{self, Reported, all, completed, observation, observe, two_servers};
use crate::samples::sample;
use crate::schema;

fn config() -> ConfigDir {
    ConfigDir::of_repository()
}

fn plan(open: Open) -> Plan {
    let (rates, _) = config().campaign("rates").unwrap();
    let plan = observed::plan(Campaign {
        servers: ["legacy", "actix"].map(String::from).to_vec(),
        ceiling: None,
        workloads: vec!["getBalance".into()],
        headline: BTreeMap::new(),
        compare_headline_only: false,
        max_blocks: 6,
        max_extra_blocks: Some(0),
        window_ms: 10_000,
        open: Some(open.clone()),
        ..rates
    });
    let rates = open.levels(|_| Some(LoadTool::Vegeta));
    Plan { trials: plan::trials_at(&plan.campaign, &rates), rates, ..plan }
}

fn open(rates: &[u32]) -> Open {
    Open { rates: rates.to_vec(), connections: 64, tools: Vec::new(), background: None, stall: None }
}

/// A window at a rate in which requests took so long from the send, and were sent so late.
fn at_rate(trial: &Trial, cpu_us: f64, from_send_us: f64, lag_us: f64) -> Sample {
    let rate = trial.rate.unwrap();
    let mut sample = sample(rate.into(), cpu_us);
    sample.load.latency_us = all(from_send_us + lag_us);
    sample.load.open = Some(observed::at_rate(rate, lag_us, from_send_us));
    sample
}

fn summary(plan: &Plan, gave: impl Fn(&Trial) -> Sample) -> Summary {
    summarize(&plan.campaign, &plan.levels(), &plan.trials, &observe(plan, gave))
}

/// Some noise that differs from block to block.
fn wobble(trial: &Trial) -> f64 {
    1.0 + 0.002 * f64::from(trial.block % 3)
}

#[test]
fn missed_rates_and_late_tools_are_marked() {
    let plan = plan(open(&[1_000]));
    let marks = |change: fn(&mut Sample)| {
        let summary = summary(&plan, |trial| {
            let mut sample = at_rate(trial, 10.0, 200.0, 1.0);
            change(&mut sample);
            sample
        });
        summary.cells[0].marks.clone()
    };
    assert_eq!(
        marks(|sample| sample.load.open.as_mut().unwrap().achieved_rate = 900.0),
        [Mark::RateNotReached]
    );
    let late = |sample: &mut Sample| {
        sample.load.latency_us.p99 = 1_000.0;
        sample.load.open.as_mut().unwrap().own_lag_us.as_mut().unwrap().p99 = 300.0;
    };
    assert_eq!(marks(late), [Mark::SentLate]);
}

fn reported(plan: &Plan, gave: impl Fn(&Trial) -> Sample) -> Reported {
    Reported::of(plan, observe(plan, gave))
}

/// The views of a shipped campaign over trials of which only what `change` makes of them differs.
fn shown_by(campaign: &str, change: impl Fn(&Trial, &mut Sample)) -> Vec<Shown> {
    let (shipped, _) = config().campaign(campaign).unwrap();
    let mut plan = plan(shipped.open.clone().unwrap());
    plan.campaign.views = shipped.views;
    let gave = |trial: &Trial| {
        let mut sample = at_rate(trial, 10.0, 200.0, 0.0);
        change(trial, &mut sample);
        sample
    };
    reported(&plan, gave).run.summary.views
}

fn points(shown: &Shown) -> impl Iterator<Item = &Point> {
    shown.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points)
}

#[test]
fn a_background_load_shows_as_a_ratio() {
    let views = shown_by("isolation", |trial, sample| {
        let slower = if trial.disturbed { 3.0 } else { 1.0 };
        sample.load.latency_us.p99 *= slower * wobble(trial);
    });
    let ratios: Vec<f64> = points(&views[0])
        .filter_map(|point| point.ratios.get(&Figure::P99Us))
        .map(|ratio| ratio.value)
        .collect();
    assert_eq!(ratios.len(), 2);
    assert!(ratios.iter().all(|ratio| (ratio - 3.0).abs() < 0.05), "{ratios:?}");
}

/// p99 is high while the overload runs, and after it to a time that differs by server; parts in which nothing was
/// answered are missing.
#[test]
fn after_an_overload_p99_is_back_where_it_stays_at_its_old_level() {
    let (from_ms, to_ms) = (4_000, 14_000);
    let high = |until_ms: u32| move |ms: u32| (from_ms..until_ms).contains(&ms);
    let back_ms = |is_high: &dyn Fn(u32) -> bool, silent: &dyn Fn(u32) -> bool| {
        let views = shown_by("recovery", |_, sample| {
            let parts = (0..112).map(|index| index * 250).filter(|ms| !silent(*ms));
            let bin = |ms| Bin {
                from_ms: ms,
                requests: 250,
                answered: Some(200),
                p50_us: 100.0,
                p99_us: if is_high(ms) { 50_000.0 } else { 400.0 },
                max_us: 50_000.0,
            };
            sample.load.series = parts.map(bin).collect();
            sample.background_ms = Some((from_ms.into(), to_ms.into()));
        });
        let point = points(&views[0]).next().unwrap();
        assert!((point.figures[&Figure::BackgroundPeakP99Us].value - 50_000.0).abs() < 1e-6);
        point.figures[&Figure::BackAfterUs].value / 1e3
    };
    let none = |_: u32| false;
    let near = |found: f64, ms: f64| assert!((found - ms).abs() < 1e-6, "{found} for {ms}");
    near(back_ms(&high(to_ms), &none), 0.0);
    near(back_ms(&high(15_500), &none), 1_500.0);
    // A short dip is no return, nor is a time without answers.
    near(back_ms(&|ms| high(17_000)(ms) && ms != 15_000, &none), 3_000.0);
    near(back_ms(&high(to_ms), &|ms| (14_500..15_000).contains(&ms)), 1_000.0);
    // It never was: the rest of the window.
    near(back_ms(&|ms| ms >= from_ms, &none), 14_000.0);
}

#[test]
fn a_tool_that_knows_no_due_times_has_figures_from_the_send_alone() {
    let tools = vec![LoadTool::Vegeta, LoadTool::RpcLoad, LoadTool::Bombardier];
    let plan = plan(Open { tools, ..open(&[1_000]) });
    let gave = |trial: &Trial| {
        let from_send_us = match trial.tool {
            LoadTool::Vegeta => 180.0,
            LoadTool::RpcLoad => 120.0,
            LoadTool::Bombardier => 181.0,
            LoadTool::K6 => unreachable!("it is not among the tools"),
        };
        at_rate(trial, 10.0, from_send_us * wobble(trial), 0.0)
    };
    let latencies = reported(&plan, gave).rows("Latency");
    let place = |name: &str| latencies[0].iter().position(|cell| cell == name).unwrap();
    assert_eq!(latencies.len(), 2 + 6, "two servers by three tools: {latencies:?}");
    for row in &latencies[2..] {
        // These count from when a request was due, which bombardier does not know.
        let from_due = ["p50", "p99", "p99.9", "slowest request"].map(|name| row[place(name)] == "-");
        let is_unknown = row.iter().any(|cell| cell == "bombardier");
        assert_eq!(from_due, [is_unknown; 4], "{row:?}");
        assert_ne!(row[place("p99 from the send")], "-", "{row:?}");
    }
}

/// The header lines of a report's tables.
fn headers(report: &str) -> Vec<&str> {
    let lines: Vec<&str> = report.lines().collect();
    lines.windows(2).filter(|two| two[1].starts_with("| --")).map(|two| two[0]).collect()
}

#[test]
fn servers_are_compared_at_each_rate_and_no_table_mixes_the_two_models() {
    let plan = plan(open(&[1_000, 4_000]));
    let found = reported(&plan, |trial| {
        let cpu_us = if trial.server == "actix" { 10.0 } else { 20.0 };
        at_rate(trial, cpu_us * wobble(trial), 200.0, 1.0)
    });
    let summary = &found.run.summary;
    assert_eq!((summary.cells.len(), summary.comparisons.len()), (4, 2));
    let halves = |pair: &Comparison| pair.findings[&Figure::CpuUsPerRequest].ratio.value;
    assert!(summary.comparisons.iter().all(|pair| (halves(pair) - 0.5).abs() < 0.01));
    assert!(summary.cells.iter().all(|cell| cell.marks.is_empty()), "{:?}", summary.cells[0].marks);
    let written = schema::strictly(&found.read(SUMMARY));
    assert_eq!(schema::of_summaries().misfit(&written), None);
    let compared = &written["comparisons"][0];
    assert!(
        compared["rate"] == 1_000 && compared["findings"]["p99_us"]["ratio"]["value"].is_f64(),
        "{compared}"
    );
    let headers = headers(&found.report);
    assert!(headers.iter().any(|header| header.contains("requested/s")), "{}", found.report);
    assert!(headers.iter().all(|header| !header.contains("| connections ")), "{headers:?}");
    assert!(!found.report.contains("Latencies are those of a closed loop"), "{}", found.report);
}

/// The harness checks answers under load, and another load may run: a server works for all of them.
#[test]
fn cpu_time_is_for_every_request_that_was_sent() {
    let checked = Checked { asked: 25, ..Checked::default() };
    let alone = Sample { server_requests: None, ..sample(100.0, 50.0) };
    let cpu_us = |sample: &Sample| sample.figure(Figure::CpuUsPerRequest).unwrap();
    assert!((cpu_us(&alone) - 50.0).abs() < 1e-9);
    let with_checks = Sample { checked: Some(checked.clone()), ..alone.clone() };
    assert!((cpu_us(&with_checks) - 40.0).abs() < 1e-9, "{}", cpu_us(&with_checks));
    let background = Some(Box::new(sample(75.0, 1.0).load));
    let with_both = Sample { background, ..with_checks.clone() };
    assert!((cpu_us(&with_both) - 25.0).abs() < 1e-9, "{}", cpu_us(&with_both));

    let counted = |server_requests| Sample { server_requests, ..with_checks.clone() }.count_disagreement();
    assert_eq!(counted(Some(125)), Some(0.0), "checks are counted by the server, too");
    assert!((counted(Some(100)).unwrap() - 0.2).abs() < 1e-9);
    assert_eq!(counted(None), None);
}

/// A connection with several requests in flight is one connection.
#[test]
fn open_connections_are_compared_with_those_that_were_wanted() {
    let campaign = Campaign { connections: vec![500], workloads: vec!["getBlocks".into()], ..two_servers() };
    let trials = plan::trials(&campaign);
    let observed = |established: u64, requested: u32| {
        let connecting =
            Some(Connecting { requested, allowed_ms: 1_000, took_ms: Some(1), held: established });
        let gave = Sample { established: Some(established), connecting, ..sample(1_000.0, 50.0) };
        let observation = observation(&trials[0], completed(gave));
        let summary = summarize(&campaign, &campaign.connections, &trials, &[observation]);
        summary.cells.iter().any(|cell| cell.marks.contains(&Mark::FewEstablished))
    };
    assert!(!observed(50, 50), "ten requests in flight on each");
    assert!(observed(25, 50));
}
