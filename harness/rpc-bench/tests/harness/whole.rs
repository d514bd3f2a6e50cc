//! A run from its campaign to its report.

use std::fs;

use crate::bench::{Bench, stderr};

#[test]
fn a_campaign_runs_to_its_report() {
    let Some(bench) = Bench::new(1) else { return };
    bench.succeeds(&["run", "tiny"]);
    assert_eq!(bench.outcomes(), ["completed", "completed"]);
    let report = bench.report();
    let checked = "answer to 1 request before and 1 after each window was the true one; under load, answers were \
        counted by status and time, and their content was not compared.";
    assert!(report.contains("Everything works") && report.contains(checked), "{report}");
    assert!(report.contains("nothing is compared") && !report.contains("inconclusive"), "{report}");
    let folder = bench.folder();
    for name in
        ["campaign.toml", "plan.json", "environment.json", "summary.json", "quantiles.svg", "resources.svg"]
    {
        assert!(folder.join(name).is_file(), "{name}");
    }
    assert_eq!(fs::read_to_string(folder.join("campaign.toml")).unwrap(), {
        fs::read_to_string(bench.path("campaigns/tiny.toml")).unwrap()
    });

    // The tool's own output is kept, and gives the same count as the observation.
    let first = &bench.observations()[0];
    let kept = fs::read_dir(folder.join("tool-output")).unwrap().map(|entry| entry.unwrap().path());
    let window = kept
        .into_iter()
        .find(|path| path.to_str().unwrap().contains("/0001-") && !path.to_str().unwrap().contains("warmup"));
    let raw: serde_json::Value = serde_json::from_str(&fs::read_to_string(window.unwrap()).unwrap()).unwrap();
    assert_eq!(raw["result"]["req2xx"], first["outcome"]["load"]["succeeded"]);

    // Again, from the folder alone: no configuration, no tool on the PATH, and the same bytes.
    let before = (bench.report(), fs::read(folder.join("summary.json")).unwrap());
    let copy = bench.path("elsewhere").join(folder.file_name().unwrap());
    fs::create_dir_all(&copy).unwrap();
    for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_type().unwrap().is_file()
            && !["report.md", "summary.json"].contains(&entry.file_name().to_str().unwrap())
        {
            fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
        }
    }
    let mut again = bench.command(&["report", copy.to_str().unwrap()]);
    let again = again.env("PATH", "").env_remove("BOMBARDIER").current_dir("/").output().unwrap();
    assert!(again.status.success(), "{}", stderr(&again));
    let made =
        (fs::read_to_string(copy.join("report.md")).unwrap(), fs::read(copy.join("summary.json")).unwrap());
    assert_eq!(made, before);
    bench.packs();
}

#[test]
fn the_report_has_what_a_reader_needs_and_progress_is_plain_lines_without_a_terminal() {
    let Some(bench) = Bench::new(2) else { return };
    let output = bench.run(&["run", "tiny"]);
    let said = stderr(&output);
    assert!(output.status.success() && !said.contains('\x1b'), "{said}");
    let written: Vec<&str> =
        said.lines().filter(|line| line.starts_with("tiny: ") || line.starts_with('[')).collect();
    assert_eq!(written.len(), LINES.len(), "{said}");
    for (line, start) in written.iter().zip(LINES) {
        assert!(line.starts_with(start), "{line}");
        assert!(!line.starts_with('[') || line.ends_with(" left"), "{line}");
    }
    bench.report_has(&[
        "## Headline",
        "inconclusive (about 6 blocks would tell)",
        "## CPU and memory",
        "CPU per request",
        "### What to distrust",
        "Nothing: all 4 trials that ran were measured",
        "## How to repeat",
        "just serve SERVER --workload REQUEST",
        "SHA-256",
    ]);
    bench.succeeds(&["check"]);
}

#[test]
fn the_first_screen_comes_before_what_completes_it() {
    let Some(bench) = Bench::new(1) else { return };
    let campaign = "campaigns/tiny.toml";
    let loads = "connections = [2, 3, 4]\nheadline = { getBalance = 3 }\ncompare_headline_only = true\ncurve_blocks = \
        1";
    bench.replace(campaign, "connections = [3]", loads);
    let duets = "[duets]\nconnections = 3\nmax_blocks = 1\nprecision = \"1%\"\nwarmup_ms = 250\nwindow_ms = \
        500\n[environment]";
    bench.replace(campaign, "[environment]", duets);
    let output = bench.succeeds(&["run", "tiny"]);
    let at: Vec<u64> = bench.observations().iter().map(|one| one["connections"].as_u64().unwrap()).collect();
    assert_eq!((at.len(), &at[..2]), (6, [3, 3].as_slice()), "the headline's load comes first: {at:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    let screens: Vec<&str> =
        said.split("What is open here, and all else that the campaign measures, follows.").collect();
    let [duets, headline, whole] = screens[..] else { panic!("two screens, and the report's: {said}") };
    for (screen, trials) in [(duets, 2), (headline, 4)] {
        let so_far = screen.split_once("So far:").unwrap().1;
        let measured = format!("{trials} trials were measured");
        assert!(so_far.contains(&measured) && !so_far.contains("Incomplete"), "{said}");
        assert!(!so_far.contains("**not compared**"), "{said}");
    }
    assert!(whole.contains("8 trials were measured"), "{said}");
}

/// A start of each line that a run of two blocks writes where standard error is no terminal, in their order.
const LINES: [&str; 6] = [
    "tiny: 4 of 4 trials to run, about ",
    "[1/4] block 1  ",
    "[2/4] block 1  ",
    "tiny: requests/s over control: getBalance: actix ",
    "[3/4] block 2  ",
    "[4/4] block 2  ",
];
