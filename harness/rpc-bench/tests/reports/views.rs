//! Campaigns of axes and views, on synthetic samples: a question that no code knows is one file.

use std::path::Path;
use std::process::Command;

use bench_core::load::Latency;
use bench_core::observation::Sample;
use bench_core::plan::{Plan, Trial};
use serde_json::Value;

use crate::observed::{Reported, observe_planned, resolved};
use crate::samples::sample;

/// The campaign that docs/USING.md shows.
fn example() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/USING.md");
    let page = std::fs::read_to_string(page).unwrap();
    page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

/// The same without its views.
fn axes() -> String {
    let text = example();
    let (before, rest) = text.split_once("[[view]]").unwrap();
    format!("{before}[environment]{}", rest.split_once("[environment]").unwrap().1)
}

/// A message takes 490 µs and 10 µs for each call, over WebSocket half as much; a call costs 2 µs and its share of 20
/// µs, in jsonrpsee 10 µs. The measured rate is four fifths of what the latency allows.
fn seen(plan: &Plan, trial: &Trial) -> Sample {
    let server = plan.server(&trial.server).unwrap();
    let environment = plan.environment_of(server);
    let batch = f64::from(environment.batch());
    let message_us = if trial.server.starts_with("jsonrpsee") { 10.0 } else { 20.0 };
    let is_websocket = trial.server.contains("websocket");
    let latency_us = (490.0 + 10.0 * batch) * if is_websocket { 0.5 } else { 1.0 };
    let luck = 1.0 + 0.001 * f64::from(trial.block);
    let rate = 0.8 * f64::from(trial.connections) * batch * 1e6 / latency_us;
    let mut sample = sample(rate * luck, (2.0 + message_us / batch) * luck);
    if trial.server.starts_with("jsonrpsee-batch-100") && trial.block == 1 {
        sample.load.failed.insert("timeout".to_owned(), 3);
    }
    let of = |times: f64| latency_us * times;
    sample.load.latency_us = Latency {
        mean: of(1.0),
        p50: of(1.0),
        p90: of(1.5),
        p99: of(2.0),
        p999: Some(of(3.0)),
        max: of(4.0),
    };
    sample
}

/// The report of a campaign in which every trial was measured.
fn reported(text: &str) -> Reported {
    reported_as(text, seen)
}

/// The same with samples of a test's own.
fn reported_as(text: &str, of: impl Fn(&Plan, &Trial) -> Sample) -> Reported {
    let plan = resolved(text);
    Reported::of(&plan, observe_planned(&plan, |trial| of(&plan, trial)))
}

/// The campaign's axes with this view.
fn with_view(view: &str) -> String {
    axes().replace("[environment]", &format!("{view}[environment]"))
}

#[test]
fn a_view_is_a_table_a_chart_a_section_of_the_page_and_a_headline() {
    let found = reported(&example());
    let report = &found.report;
    let cost = found.rows("What a call costs in a batch");
    assert_eq!(cost[0][1..6], ["transport", "server", "batch", "CPU per call", "over one call in a message"]);
    // Two servers over two transports with three lengths, but for one.
    assert_eq!(cost.len() - 2, 11);
    let long = cost.iter().find(|row| row[1..4] == ["over HTTP", "jsonrpc-core", "batches of 100"]).unwrap();
    // 2.2 µs over 22 µs; and rates of a hundred calls in 1,490 µs over one in 500 µs.
    assert_eq!((long[5].as_str(), long[7].as_str()), ("0.10 [0.10, 0.10]", "33.56 [33.56, 33.56]"));
    assert!(cost.iter().all(|row| (row[3] == "one call in a message") == (row[5] == "-")), "{cost:?}");

    let lines = found.rows("Latency of a batch");
    let line = lines
        .iter()
        .find(|row| row[1..3] == ["jsonrpc-core", "over HTTP"] && row[3].starts_with("490"))
        .unwrap();
    assert!(line[4].starts_with("10.0 µs [10.0 µs"), "{line:?}");
    let of_two = lines.iter().filter(|row| row[1..3] == ["jsonrpsee", "over WebSocket"]);
    assert_eq!(of_two.count(), 2, "two points, and no line through them");

    let allowed = found.rows("Rate against arithmetic");
    assert!(allowed[2..].iter().all(|row| row[6] == "80 %"), "{allowed:?}");

    let headline = report.split("## Headline").nth(1).unwrap().split("\n## ").next().unwrap();
    for said in [
        "**What a call costs in a batch.** Longer batches share the cost of a message.",
        "**jsonrpc-core**, over HTTP: CPU per call over one call in a message: from 0.18 [0.18, 0.18] at batches of \
         10 to 0.10 [0.10, 0.10] at batches of 100.",
        "**over HTTP**, jsonrpc-core: p50 = 490 µs + 10.0 µs × batch",
        "**3 requests failed**: the table says where.",
        "Calls/s reach 80 % to 80 % of what connections * batch / p50 allows.",
    ] {
        assert!(headline.contains(said), "{said}: {headline}");
    }
    for number in 1..=3 {
        assert!(report.contains(&format!("](view-{number}.svg)")), "{number}");
    }
    let page = found.read("report.html");
    let curves = page.split("id=\"curves\"").nth(1).unwrap_or_else(|| panic!("no tab of curves"));
    assert!(curves.contains("What a call costs in a batch"), "the view is in the tab of curves");
    let summary: Value = serde_json::from_str(&found.read("summary.json")).unwrap();
    let points = summary.pointer("/views/0/panels/0/series/0/points").unwrap().as_array().unwrap();
    assert_eq!((points.len(), points[1]["x"].as_f64()), (3, Some(10.0)));
}

#[test]
fn a_grid_has_a_column_for_each_value_of_x() {
    let view =
        "[[view]]\ntitle = \"By batch\"\nfigure = [\"p50_us\", \"p99_us\"]\nx = \"batch\"\ngrid = true\n";
    let found = reported(&with_view(view));
    let grid = found.rows("By batch");
    let values = ["one call in a message", "batches of 10", "batches of 100"];
    assert_eq!(grid[0][1..7], [&["transport", "server", "figure"][..], &values].concat());
    // Two figures of two servers over two transports.
    assert_eq!(grid.len() - 2, 8);
    let of = |transport, server, figure| {
        &grid.iter().find(|row| row[1..4] == [transport, server, figure]).unwrap()[4..]
    };
    let slow = of("over HTTP", "jsonrpc-core", "p99");
    assert!(slow[0].starts_with("1.00 ms") && slow[2].starts_with("2.98 ms"), "{slow:?}");
    assert_eq!(of("over WebSocket", "jsonrpsee", "p50")[2], "-", "it was left out");
    let over = view.replace("grid = true", "grid = true\nover = { batch = 1 }");
    let found = reported(&with_view(&over));
    let ratios = found.rows("By batch");
    assert!(ratios.iter().any(|row| row[4] == "-" && row[6].starts_with("2.98 [")), "{ratios:?}");
    assert!(found.report.contains(", 3 failed |"), "{}", found.report);
}

#[test]
fn claims_are_counted_by_what_is_planted() {
    let of = |plan: &Plan, trial: &Trial| {
        let threads = plan.environment_of(plan.server(&trial.server).unwrap()).threads;
        // Each block differs a little, in its own way for each number of threads; with three, jsonrpsee takes more.
        let is_odd = trial.server.starts_with("jsonrpsee");
        let times = match threads {
            Some(2) => [0.99, 1.01][trial.block as usize % 2],
            Some(3) if is_odd => 1.1,
            Some(3) => 0.9,
            Some(4) => 1.2,
            _ => 1.0,
        };
        sample(10_000.0, 10.0 * times)
    };
    let found = reported_as(include_str!("campaigns/claims.toml"), of);
    let claims = &found.rows("Claims")[..5];
    assert_eq!(claims[2][1..], ["2 workers", "the same", "2", "0", "0", "0", ""]);
    assert_eq!(claims[3][1..], ["3 workers", "less", "2", "1", "1", "1", ""]);
    assert_eq!(claims[4][1..], ["4 workers", "more", "2", "2", "0", "0", ""]);
    for said in [
        "Without a difference: 0 of 2 comparisons claimed one.",
        "With a difference: 3 of 4 comparisons showed it, and 1 claimed the opposite.",
    ] {
        assert!(found.report.contains(said), "{said}: {}", found.report);
    }
}

#[test]
fn a_view_of_duets_pairs_each_server_with_the_one_that_it_is_over() {
    let found = reported_as(include_str!("campaigns/steps.toml"), |_, trial| {
        let us = match trial.server.as_str() {
            "legacy" => 10.0,
            // Beside actix everything takes longer.
            "axum" if trial.beside.as_deref() == Some("actix") => 16.0,
            "axum" => 8.0,
            _ => 4.0,
        };
        sample(10_000.0, us * (1.0 + 0.001 * f64::from(trial.block)))
    });
    let ratio = |title: &str| found.rows(title)[2][4].clone();
    assert_eq!(
        (ratio("First step").as_str(), ratio("Second step").as_str()),
        ("0.800 [0.800, 0.800]", "0.25 [0.25, 0.25]")
    );
}

#[test]
fn a_run_is_shown_by_usual_views_and_by_others_without_another_measurement() {
    let found = reported(&axes());
    for heading in ["Rate by batch", "CPU time by batch", "Latency by batch"] {
        assert_eq!(
            found.rows(heading).len() - 2,
            11,
            "{heading}: without views there are some along the longest axis"
        );
    }
    let folder = &found.folder;
    let file = folder.0.with_file_name("mine.toml");
    let view = "[[view]]\ntitle = \"Only batches\"\nfigure = \"p50_us\"\nx = \"batch\"\n";
    let shown = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_rpc-bench"))
            .args(["report", "--views", file.to_str().unwrap(), folder.0.to_str().unwrap()])
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(shown(view).0, Some(0));
    let report = || found.read("report.md");
    assert!(report().contains("## Only batches") && !report().contains("## Latency by batch"));
    for (text, named) in [
        ("", "missing field `view`"),
        (&view.replace("p50_us", "p50"), "figure"),
        (&format!("{view}only = {{ batch = 7 }}"), "field only.batch: 7 is not among the axis's values"),
    ] {
        let (code, said) = shown(text);
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(named) && said.contains("mine.toml"), "{said}");
    }
    // What was wrong changed nothing, and the folder alone gives the report again.
    bench_report::write(folder).unwrap();
    assert!(report().contains("## Only batches"));
}
