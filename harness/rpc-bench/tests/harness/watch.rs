//! A campaign that is watched: Prometheus itself scrapes it, and evaluates every rule and every panel's expression.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bench_core::machine::on_path;
use bench_measure::client::agent;
use serde_json::{Value, json};

use crate::bench::{Bench, PATIENCE, entry, until};
use crate::started::Running;

const ANSWER_WITHIN: Duration = Duration::from_secs(10);

fn shipped() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts/watch")
}

/// Whether Prometheus is here; says so where it is not.
fn has_prometheus() -> bool {
    let is_here = on_path("prometheus").is_some() && on_path("promtool").is_some();
    if !is_here {
        eprintln!(
            "SKIPPED: no prometheus or promtool on the PATH: apt-get install prometheus prometheus-node-exporter"
        );
    }
    is_here
}

fn promtool(args: &[&str]) {
    let output = Command::new("promtool").args(args).output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
}

/// The expressions of the board's panels, with their titles.
fn panels() -> Vec<(String, String)> {
    let board: Value =
        serde_json::from_str(&fs::read_to_string(shipped().join("board.json")).unwrap()).unwrap();
    let panels = board["panels"].as_array().unwrap().iter();
    let expressions = panels.filter(|panel| panel["type"] != "row").map(|panel| {
        let expression = panel["targets"][0]["expr"].as_str().unwrap().to_owned();
        (panel["title"].as_str().unwrap().to_owned(), expression)
    });
    expressions.collect()
}

/// A Prometheus that `rpc-bench watch` has started.
struct Watch {
    addr: String,
    harness: Running,
}

impl Watch {
    fn start(bench: &Bench) -> Self {
        fs::create_dir(bench.path("watch")).unwrap();
        for file in fs::read_dir(shipped()).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), bench.path("watch").join(file.file_name())).unwrap();
        }
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let folder = bench.path("watched");
        let args = ["watch", "--listen", "127.0.0.1:0", "--node-listen", &free];
        let mut command = bench.command(&args);
        let output = fs::File::create(bench.path("watch.log")).unwrap();
        command.arg("--folder").arg(&folder).stderr(output.try_clone().unwrap()).stdout(output);
        let harness = Running { child: command.spawn().unwrap() };
        let addr = until("Prometheus listens", || {
            let said = fs::read_to_string(bench.path("watch.log")).unwrap();
            assert!(!said.contains("rpc-bench: "), "{said}");
            let addr = said
                .lines()
                .find_map(|line| line.strip_prefix("Prometheus: http://")?.strip_suffix("/graph"));
            addr.map(str::to_owned)
        });
        promtool(&["check", "config", folder.join("prometheus.yml").to_str().unwrap()]);
        promtool(&["check", "rules", folder.join("rules.yml").to_str().unwrap()]);
        Self { addr, harness }
    }

    fn api(&self, path: &str, query: Option<&str>) -> Value {
        let request = agent(ANSWER_WITHIN).get(format!("http://{}/api/v1/{path}", self.addr));
        let request = query.into_iter().fold(request, |request, query| request.query("query", query));
        let text = request.call().unwrap().body_mut().read_to_string().unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["status"], "success", "{query:?}: {answer}");
        answer["data"].clone()
    }

    /// The values of an expression now; those that are no number are none.
    fn values(&self, expression: &str) -> Vec<f64> {
        let result = self.api("query", Some(expression))["result"].as_array().unwrap().clone();
        let values = result.iter().map(|one| one["value"][1].as_str().unwrap().parse().unwrap());
        values.filter(|value: &f64| value.is_finite()).collect()
    }

    /// Ends it as Ctrl-C does; Prometheus ends with it.
    fn end(self) {
        self.harness.signal(libc::SIGINT);
        assert_eq!(self.harness.exit_code(), Some(0));
        let gone = agent(ANSWER_WITHIN).get(format!("http://{}/-/ready", self.addr)).call();
        assert!(gone.is_err(), "Prometheus still answers");
    }

    /// The names of the recording rules, all of which evaluate without an error.
    fn rules(&self) -> Vec<String> {
        let groups = self.api("rules", None)["groups"].as_array().unwrap().clone();
        let rules = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
        let names = rules.map(|rule| {
            assert!(rule["lastError"].is_null() && rule["health"] != "err", "{rule}");
            rule["name"].as_str().unwrap().to_owned()
        });
        names.collect()
    }
}

/// axum with its calls timed, for what only a server with tokio's runtime and the flag has; and control as the harness
/// needs it.
fn watched_bench() -> Option<Bench> {
    let bench = Bench::new(2)?;
    let servers = fs::read_to_string(bench.path("servers.toml")).unwrap();
    bench.write("servers.toml", &(servers + &entry("axum", &bench.link_timed_axum(), &["--metrics-calls"])));
    bench.replace("campaigns/tiny.toml", "\"actix\"", "\"axum\"");
    // Prometheus reads its lists of targets every five seconds, however often they change.
    bench.replace("campaigns/tiny.toml", "window_ms = 600", "window_ms = 12000");
    Some(bench)
}

#[test]
fn every_panel_and_every_rule_has_data_while_a_campaign_runs() {
    if !has_prometheus() {
        return;
    }
    let Some(bench) = watched_bench() else { return };
    let watch = Watch::start(&bench);
    let targets = bench.path("watched/targets");
    let run =
        ["run", "tiny", "--prometheus", "127.0.0.1:0", "--prometheus-targets", targets.to_str().unwrap()];
    let mut run = bench.start(&run);
    let has_machine = on_path("prometheus-node-exporter").or_else(|| on_path("node_exporter")).is_some();
    if !has_machine {
        eprintln!(
            "SKIPPED: the machine's panels: no node_exporter: apt-get install prometheus-node-exporter"
        );
    }
    let panels = panels().into_iter().filter(|(_, expression)| has_machine || !expression.contains("node_"));
    let rules = watch.rules();
    assert!(rules.len() >= 7, "{rules:?}");
    let mut missing: BTreeSet<(String, String)> =
        panels.chain(rules.into_iter().map(|rule| ("rule".to_owned(), rule))).collect();
    assert!(missing.len() >= 30, "{missing:?}");
    let end = Instant::now() + PATIENCE;
    let mut ended = None;
    // Once more after the end: the last trial's samples stay for a while.
    while !missing.is_empty() && ended.is_none() && Instant::now() < end {
        ended = run.child.try_wait().unwrap();
        missing.retain(|(_, expression)| watch.values(expression).is_empty());
        std::thread::sleep(Duration::from_millis(300));
    }
    let said = fs::read_to_string(bench.path("log")).unwrap();
    assert!(missing.is_empty(), "no data: {missing:#?}\n{said}");
    watch.rules();
    // What is left of the run would show nothing new.
    if ended.is_none() {
        run.signal(libc::SIGINT);
    }
    let code = run.exit_code();
    assert!(
        [Some(0), Some(130)].contains(&code),
        "{code:?}: {}",
        fs::read_to_string(bench.path("log")).unwrap()
    );
    watch.end();
    let list = fs::read_to_string(targets.join("servers.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&list).unwrap(), json!([]), "no server is left in the list");
    bench.nothing_is_left_running();
}

#[test]
fn a_missing_prometheus_is_named_with_how_to_get_it() {
    let Some(bench) = Bench::new(1) else { return };
    let output = bench.command(&["watch"]).env("PATH", bench.path("tools")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.lines().count() == 1 && said.contains("apt-get install prometheus"), "{said}");
}
