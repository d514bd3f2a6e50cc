//! `report.html` as a browser shows it: pages of kept runs, read by a real Chromium with the network
//! off. Node packages are installed once, at the versions that `browser/` pins, into the target folder. Where a browser
//! or node is missing the tests say so.
//!
//! With `SCREENSHOTS=FOLDER` each tab is also kept as a picture, in light and in dark.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench_core::figure::Figure;
use bench_core::observation::Outcome;
use bench_core::results::{RunFolder, kept, unpack_stages};
use bench_core::stats::Estimate;
use bench_report::{Run, html};
use serde_json::{Value, json};

/// Campaigns whose newest kept run is read.
const CAMPAIGNS: [&str; 3] = ["quick", "original", "isolation"];

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A text that would run as a script if a page took it for markup.
const HOSTILE: &str =
    "<script>globalThis.carriedOut = 1</script><img src=x onerror=\"globalThis.carriedOut = 2\">";

#[test]
#[ignore = "takes minutes: just test-long"]
fn pages_of_kept_runs_read_well_in_a_browser() {
    let Some(tools) = tools() else { return };
    let results = tempfile::tempdir().unwrap();
    let mut folders: Vec<RunFolder> =
        CAMPAIGNS.iter().filter_map(|campaign| copied(campaign, results.path())).collect();
    assert!(!folders.is_empty(), "no run is kept");
    folders.push(hostile(&copied("recovery", &results.path().join("hostile")).unwrap()));
    let pages: Vec<Value> = folders.iter().map(page).collect();
    let job = json!({
        "browser": tools.browser,
        "pages": pages,
        "screenshots": std::env::var("SCREENSHOTS").ok(),
    });
    let file = results.path().join("job.json");
    fs::write(&file, job.to_string()).unwrap();
    let output = Command::new(&tools.node)
        .arg(tools.dir.join("read.mjs"))
        .arg(&file)
        .current_dir(&tools.dir)
        .output()
        .unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{stdout}{stderr}");
}

#[test]
fn a_page_has_every_section_of_its_report_and_loads_nothing() {
    let results = tempfile::tempdir().unwrap();
    for folder in CAMPAIGNS.iter().filter_map(|campaign| copied(campaign, results.path())) {
        let page = fs::read_to_string(html::make(&folder).unwrap()).unwrap();
        // The kept one has not all of the charts.
        let report = bench_report::markdown(&Run::load(&folder).unwrap(), false).unwrap();
        let no_page_needs = ["Headline", "Charts"];
        for heading in
            report.lines().filter_map(|line| line.strip_prefix("## ")).filter(|h| !no_page_needs.contains(h))
        {
            let times = page.matches(&format!("<h3>{heading}</h3>")).count();
            assert_eq!(times, 1, "{}: {heading}", folder.name());
        }
        for loads in ["<link", "<img", "<iframe", "@import", "url(", " src="] {
            assert!(!page.contains(loads), "{}: {loads}", folder.name());
        }
        let charts = report.lines().filter(|line| line.starts_with("![")).count();
        assert_eq!(page.matches("<svg role=\"img\"").count(), charts, "{}", folder.name());
        // Other campaigns may have thousands of trials.
        let is_small = page.len() < 1_500_000 || !folder.name().ends_with("-quick");
        assert!(is_small, "{}: {} bytes", folder.name(), page.len());
    }
}

/// A page and what must stand on it.
fn page(folder: &RunFolder) -> Value {
    let path = html::make(folder).unwrap();
    let is_hostile = folder.0.parent().unwrap().ends_with("hostile");
    let figures = if folder.name().ends_with("-quick") && !is_hostile { figures(folder) } else { Vec::new() };
    let words = if is_hostile { vec![HOSTILE] } else { Vec::new() };
    json!({ "path": path, "figures": figures, "words": words })
}

/// The answer's ratios by topic, request and server, from the run's summary: of CPU time at the first load that the
/// answer shows, which is a rate where there is one.
fn figures(folder: &RunFolder) -> Vec<[String; 4]> {
    let run = Run::load(folder).unwrap();
    let duets = run.duets.as_ref().unwrap();
    let baseline = run.plan.campaign.baseline.as_deref().unwrap();
    let column = |server: &str| run.label(server).split(" + ").next().unwrap().to_owned();
    let first = duets.plan.levels().into_iter().max_by_key(|level| level.rate).unwrap();
    let mut figures = Vec::new();
    for workload in &run.plan.campaign.workloads {
        let headline = run.plan.headline_level(workload);
        let cpu = duets.summary.comparisons.iter().filter(|pair| pair.level == first);
        let rates = run.summary.comparisons.iter().filter(|pair| pair.level == headline);
        let cpu = cpu.map(|pair| (pair, "CPU per request", pair.findings[&Figure::CpuUsPerRequest].ratio));
        let rates = rates.map(|pair| (pair, "requests/s", pair.findings[&Figure::RequestsPerSecond].ratio));
        for (pair, topic, Estimate { value, interval }) in cpu.chain(rates) {
            if pair.over == baseline && pair.workload == *workload && !run.plan.is_ceiling(&pair.server) {
                let (low, high) = interval.unwrap();
                let text = format!("{value:.2} [{low:.2}, {high:.2}]");
                figures.push([topic.to_owned(), workload.clone(), column(&pair.server), text]);
            }
        }
    }
    assert!(figures.len() > 10, "{figures:?}");
    figures
}

/// A copy of the newest kept run of a campaign.
fn copied(campaign: &str, to: &Path) -> Option<RunFolder> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let of_campaign = |path: &PathBuf| path.to_string_lossy().ends_with(&format!("Z-{campaign}"));
    let from = kept(&results).unwrap().into_iter().rfind(of_campaign)?;
    let to = to.join(from.file_name().unwrap());
    copy(&from, &to);
    unpack_stages(&to).unwrap();
    Some(RunFolder(to))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Puts markup where a run has text: into servers' labels, and into the reason of a trial that failed.
fn hostile(folder: &RunFolder) -> RunFolder {
    let path = folder.0.join("plan.json");
    let mut plan: Value = folder.read_json("plan.json").unwrap();
    for server in plan["servers"].as_array_mut().unwrap() {
        server["label"] = format!("{} {HOSTILE}", server["label"].as_str().unwrap_or("a server")).into();
    }
    fs::write(&path, plan.to_string()).unwrap();
    let mut observations = folder.observations().unwrap();
    observations[0].outcome = Outcome::ToolFailed { reason: HOSTILE.to_owned() };
    let lines = observations.iter().map(|observation| serde_json::to_string(observation).unwrap() + "\n");
    fs::write(folder.0.join("observations.ndjson"), lines.collect::<String>()).unwrap();
    folder.clone()
}

/// What reads the pages.
struct Tools {
    browser: PathBuf,
    node: PathBuf,
    /// Where its packages are.
    dir: PathBuf,
}

/// The tools, or none and a line that says what is missing.
fn tools() -> Option<Tools> {
    let found = find();
    if let Err(missing) = &found {
        // Also where the test runner hides what tests print.
        let _nobody_reads_it = writeln!(std::io::stderr(), "SKIPPED: pages in a browser: {missing}");
    }
    found.ok()
}

fn find() -> Result<Tools, String> {
    let missing = |what: &str| format!("{what} is missing on this machine");
    let browser = BROWSERS.iter().find_map(|name| which(name)).ok_or_else(|| missing("chromium"))?;
    let node = which("node").ok_or_else(|| missing("node"))?;
    let npm = which("npm").ok_or_else(|| missing("npm"))?;
    let test = std::env::current_exe().unwrap();
    let dir = test.ancestors().nth(3).unwrap().join("browser-tests");
    fs::create_dir_all(&dir).unwrap();
    // Two runs of the tests at once would install into the same folder.
    let lock = File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let pinned = fs::read(own.join("package-lock.json")).unwrap();
    let is_done = fs::read(dir.join("done")).is_ok_and(|done| done == pinned);
    for name in ["package.json", "package-lock.json", "read.mjs"] {
        fs::copy(own.join(name), dir.join(name)).unwrap();
    }
    if !is_done {
        let mut command = Command::new(npm);
        command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&dir);
        let output = command.output().unwrap();
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
            return Err(format!("its node packages can't be installed: {reason}"));
        }
        fs::write(dir.join("done"), pinned).unwrap();
    }
    Ok(Tools { browser, node, dir })
}

/// A program of the search path.
fn which(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|program| program.is_file())
}
