//! The real tools of the open loop, against the control server, a stopped one and none.

use std::path::Path;
use std::process::Command;

use super::super::Ending;
use super::*;
use crate::run::Truths;
use crate::subject::Subject;
use bench_model::config::{ConfigDir, Instead};
use bench_model::load::OpenWindow;
use bench_model::load::toolchain::{Tool, Tools};
use bench_model::plan::Plan;
use bench_model::results::RunFolder;
use bench_system::cargo::without_own_package;
use bench_system::interrupt::Interrupt;

const BODY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"getSlot"}"#;

/// A run's folder with its tools, and no run.
struct Fixture {
    folder: RunFolder,
    plan: Plan,
    tools: Tools,
    truths: Truths,
    interrupt: Interrupt,
    _dir: tempfile::TempDir,
}

impl Fixture {
    /// `None`, reported, without the tool. Only the closed loop's, which most tests need, is built for a test.
    fn new(tool: LoadTool) -> Option<Self> {
        let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts/tools");
        let found = match tool {
            LoadTool::Bombardier => Tool::find(tool, &pins).map(Some),
            // A part of the harness's program, which this one is not.
            LoadTool::RpcLoad => Tool::find_built(tool, &pins)
                .map(|found| found.map(|found| Tool { path: built("rpc-bench"), ..found })),
            _ => Tool::find_built(tool, &pins),
        };
        let found = found.map_err(|error| eprintln!("{error:#}")).ok().flatten();
        let Some(found) = found else {
            eprintln!("SKIPPED: {} is not built; `just tools {0}` builds it", tool.name());
            return None;
        };
        Some(Self::with(Tools::of([(tool, found)], &pins)))
    }

    fn with(tools: Tools) -> Self {
        let crate_dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench-scripts"));
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(dir.path(), "open").unwrap();
        let (plan, _) =
            crate::run::resolve(&ConfigDir(crate_dir.to_owned()), "smoke", &Instead::default()).unwrap();
        let interrupt = Interrupt::install().unwrap();
        let truths = Truths::of(&plan).unwrap();
        Self { folder, plan, tools, truths, interrupt, _dir: dir }
    }

    fn control(&self) -> Subject {
        let mut server = self.plan.servers.iter().find(|server| server.name == "control").unwrap().clone();
        server.program = built("server-control").display().to_string();
        let stderr = self.folder.0.join("server.stderr");
        Subject::start(&server, &self.plan.campaign.environment, BODY, &stderr, &self.interrupt).unwrap()
    }

    fn run_load(
        &self,
        tool: LoadTool,
        load: &Load,
        bodies: Bodies<'_>,
        target: &Target,
    ) -> std::result::Result<(LoadSample, CpuTime), Outcome> {
        let Self { folder, plan, tools, truths, interrupt, .. } = self;
        let bench = Bench { folder, plan, tools, truths, interrupt };
        let order = Order::new(tool.name(), tool, load.clone());
        let ended = bench.run_load(&self.plan.trials[0], order, bodies, target);
        ended.map_err(|ending| match ending {
            Ending::Trial(outcome) => outcome,
            Ending::Run(error) => panic!("{error:#}"),
        })
    }

    /// Where what a tool wrote is kept.
    fn kept(&self, tool: LoadTool, ending: &str) -> PathBuf {
        self.folder.tool_output(&self.plan.trials[0], &format!("{}.{ending}", tool.name()))
    }
}

/// A program of the workspace, built as `cargo test --workspace` builds it; the example is for the features that tests
/// add.
fn built(program: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = without_own_package(&mut Command::new(cargo))
        .args(["build", "--quiet", "--workspace", "--bin", program, "--example", "minimal-actix"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench-scripts"))
        .status();
    assert!(built.unwrap().success(), "{program} could not be built");
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join(program)
}

/// Runs a test with each tool that is there.
fn with_each(test: impl Fn(LoadTool, &Fixture)) {
    for tool in LoadTool::of_open_loops() {
        if let Some(fixture) = Fixture::new(tool) {
            test(tool, &fixture);
        }
    }
}

fn load(rate: u32, duration_ms: u64, timeout_ms: u64) -> Load {
    // The control server has one answer, whatever the id.
    Load { rate: Some(rate), connections: 8, duration_ms, timeout_ms, as_is: true, ..Load::default() }
}

fn open(sample: &LoadSample) -> OpenWindow {
    let open = sample.open.unwrap();
    assert_eq!(sample.succeeded + sample.failures(), open.intended, "{sample:?}");
    open
}

#[test]
fn a_clean_window_is_kept_request_by_request() {
    with_each(|tool, fixture| {
        let subject = fixture.control();
        let load = load(500, 1_000, 2_000);
        let (sample, cpu) = fixture.run_load(tool, &load, Bodies::One(BODY), &subject.target).unwrap();
        let window = open(&sample);
        assert!((500..600).contains(&window.intended), "{window:?}");
        assert!(sample.succeeded > 400 && sample.bytes_read >= 30 * sample.succeeded, "{sample:?}");
        assert!(window.from_send_us.p50 <= sample.latency_us.p50 && sample.latency_us.p50 > 0.0);
        assert!(window.achieved_rate > 300.0 && cpu.total_s() > 0.0, "{window:?}");

        let records = kept::read(&fixture.kept(tool, "records.csv.gz")).unwrap();
        assert_eq!(records::sample(&records, &load).unwrap(), sample);
        let log = fs::read_to_string(fixture.kept(tool, "hlog")).unwrap();
        assert_eq!(log.lines().filter(|line| line.contains("HISTF")).count(), 2, "{log}");
        for scratch in ["requests", "answered", "decode.stderr", "stderr"] {
            assert!(!fixture.kept(tool, scratch).exists(), "{scratch}");
        }
    });
}

#[test]
fn a_stream_that_ends_early_says_so() {
    with_each(|tool, fixture| {
        let subject = fixture.control();
        let mut bodies = (0..30).map(|id| BODY.replace('1', &id.to_string()));
        let load = load(100, 1_000, 2_000);
        let (sample, _) =
            fixture.run_load(tool, &load, Bodies::Stream(&mut bodies), &subject.target).unwrap();
        assert_eq!(open(&sample).intended, 100);
        assert_eq!(sample.succeeded, 30, "{tool:?}: {sample:?}");
        assert_eq!(sample.failed[records::EXHAUSTED], 100 - sample.succeeded, "{tool:?}: {sample:?}");

        let mut none = std::iter::empty();
        let failed = fixture.run_load(tool, &load, Bodies::Stream(&mut none), &subject.target).unwrap_err();
        assert!(
            matches!(&failed, Outcome::ToolFailed { reason } if reason.ends_with(records::EXHAUSTED)),
            "{failed:?}"
        );
    });
}
