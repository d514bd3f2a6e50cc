//! The clients that people use, unmodified: what each reads from each server is what the ledger says.
//!
//! They are installed once, at the versions that `clients/` pins, into the target folder. Where npm or Python is missing
//! the clients are skipped with a line that says so; with CI set that is a failure. Subscriptions are not tested (the
//! servers have none), nor are the contract's corners, which no client requests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use conformance::servers::{all, oracle_dir};
use serde_json::{Map, Value, json};
use server_kit::testing::run_for;
use validator_state::{Ledger, Method, Params, SEED_ACCOUNT, State};

/// What one install may take on a slow network.
const INSTALL_LIMIT: Duration = Duration::from_secs(300);

/// What one client may take to read everything.
const READ_LIMIT: Duration = Duration::from_secs(60);

/// An account that is not in the ledger: 32 bytes of 7.
const ABSENT: &str = "US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx";

/// A client library, and how its script is run.
struct Client {
    script: &'static str,
    runtime: Runtime,
    /// The commitment that it requests where its caller names none; `None` leaves that to the server.
    default_commitment: Option<&'static str>,
    /// Reads that it can't make, each with the reason in its script.
    without: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum Runtime {
    Node,
    Python,
}

const WEB3: Client = Client {
    script: "read-web3.mjs",
    runtime: Runtime::Node,
    default_commitment: None,
    without: &["connected", "error_bad_commitment"],
};
const KIT: Client = Client {
    script: "read-kit.mjs",
    runtime: Runtime::Node,
    default_commitment: Some("confirmed"),
    without: &["connected"],
};
const SOLANA_PY: Client = Client {
    script: "read_solana.py",
    runtime: Runtime::Python,
    default_commitment: None,
    without: &["blocks_confirmed"],
};

#[test]
fn web3_js_reads_the_ledger() {
    read_from_every_server(&WEB3);
}

#[test]
fn kit_reads_the_ledger() {
    read_from_every_server(&KIT);
}

#[test]
fn solana_for_python_reads_the_ledger() {
    read_from_every_server(&SOLANA_PY);
}

fn read_from_every_server(client: &Client) {
    let program = match client.runtime.installed() {
        Ok(program) => program,
        Err(missing) => return skip(client, missing),
    };
    let expected = expected(client);
    for server in all() {
        let running = server.start(&[]);
        let mut read = Command::new(program);
        read.arg(client.runtime.dir().join(client.script)).arg(format!("http://{}", running.addr));
        let seen: Value = serde_json::from_str(&output(read, READ_LIMIT)).expect("the script prints JSON");
        for (name, value) in &expected {
            assert_eq!(seen[name], *value, "{} from {}: {name}", client.script, server.name);
        }
        assert_eq!(seen.as_object().map(Map::len), Some(expected.len()), "{}", client.script);
    }
}

/// What a client has to see: the ledger's own answers, without a server.
fn expected(client: &Client) -> Map<String, Value> {
    let state = State::new(Ledger::load(&oracle_dir().join("ledger")).expect("the ledger loads"));
    let ask = |method: Method, params: &Value| {
        state
            .call(method, Params::Raw(&params.to_string()))
            .map(|answer| serde_json::to_value(answer).unwrap())
    };
    let mut expected = Map::new();
    for (name, method, mut params) in reads() {
        let names_one = params.as_array().unwrap().last().is_some_and(Value::is_object);
        let takes_one = !matches!(method, Method::GetHealth | Method::GetVersion);
        if let (Some(commitment), false, true) = (client.default_commitment, names_one, takes_one) {
            params.as_array_mut().unwrap().push(json!({"commitment": commitment}));
        }
        let value = match ask(method, &params) {
            Ok(answer) => answer,
            Err(error) => serde_json::to_value(error).unwrap()["code"].clone(),
        };
        expected.insert(name.to_owned(), value);
    }
    expected.insert("connected".to_owned(), json!(true));
    expected.retain(|name, _| !client.without.contains(&name.as_str()));
    expected
}

/// Every read of the scripts, under its name there.
fn reads() -> Vec<(&'static str, Method, Value)> {
    let commitment = |name: &str| json!({"commitment": name});
    vec![
        ("balance", Method::GetBalance, json!([SEED_ACCOUNT])),
        ("balance_processed", Method::GetBalance, json!([SEED_ACCOUNT, commitment("processed")])),
        ("balance_confirmed", Method::GetBalance, json!([SEED_ACCOUNT, commitment("confirmed")])),
        ("balance_finalized", Method::GetBalance, json!([SEED_ACCOUNT, commitment("finalized")])),
        ("balance_absent", Method::GetBalance, json!([ABSENT])),
        ("blocks_from", Method::GetBlocks, json!([400])),
        ("blocks_range", Method::GetBlocks, json!([5, 10])),
        ("blocks_confirmed", Method::GetBlocks, json!([400, 450, commitment("confirmed")])),
        ("blocks_with_limit", Method::GetBlocksWithLimit, json!([5, 3])),
        ("slot", Method::GetSlot, json!([])),
        ("slot_processed", Method::GetSlot, json!([commitment("processed")])),
        ("slot_confirmed", Method::GetSlot, json!([commitment("confirmed")])),
        ("height", Method::GetBlockHeight, json!([])),
        ("height_confirmed", Method::GetBlockHeight, json!([commitment("confirmed")])),
        ("health", Method::GetHealth, json!([])),
        ("version", Method::GetVersion, json!([])),
        ("error_too_early", Method::GetSlot, json!([{"minContextSlot": 1_000_000}])),
        ("error_bad_commitment", Method::GetBlocks, json!([5, 10, commitment("processed")])),
    ]
}

impl Runtime {
    /// The program that runs a script, its packages installed; an error names what this machine lacks.
    fn installed(self) -> Result<&'static Path, &'static str> {
        static NODE: OnceLock<Result<PathBuf, &'static str>> = OnceLock::new();
        static PYTHON: OnceLock<Result<PathBuf, &'static str>> = OnceLock::new();
        let (once, install): (_, fn(&Path) -> _) = match self {
            Self::Node => (&NODE, install_node),
            Self::Python => (&PYTHON, install_python),
        };
        once.get_or_init(|| install(&self.dir())).as_deref().map_err(|missing| *missing)
    }

    /// Where its packages and scripts are: in the target folder, which git ignores.
    fn dir(self) -> PathBuf {
        let test = std::env::current_exe().expect("the test is a file");
        // This test is TARGET/PROFILE/deps/clients-HASH.
        let target = test.ancestors().nth(3).expect("tests are built in TARGET/PROFILE/deps");
        target.join("clients").join(match self {
            Self::Node => "node",
            Self::Python => "python",
        })
    }
}

fn install_node(dir: &Path) -> Result<PathBuf, &'static str> {
    let npm = which("npm").ok_or("npm")?;
    let node = which("node").ok_or("node")?;
    if !succeeds(&node, &["-e", "process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)"]) {
        return Err("node 20 or later");
    }
    install_once(dir, &["package.json", "package-lock.json", WEB3.script, KIT.script], || {
        let mut command = Command::new(npm);
        // No script of a package is run, and the peers (a compiler) are not needed to run a client.
        command.args(["ci", "--ignore-scripts", "--omit=peer", "--no-audit", "--no-fund"]).current_dir(dir);
        output(command, INSTALL_LIMIT);
    });
    Ok(node)
}

fn install_python(dir: &Path) -> Result<PathBuf, &'static str> {
    let python = which("python3").ok_or("python3")?;
    // A Python may come without what makes a folder with a pip of its own.
    if !succeeds(&python, &["-c", "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"]) {
        return Err("Python 3.11 or later with venv and pip");
    }
    let own_python = dir.join("venv/bin/python");
    install_once(dir, &["requirements.txt", SOLANA_PY.script], || {
        let mut venv = Command::new(&python);
        venv.args(["-m", "venv", "--clear"]).arg(dir.join("venv"));
        output(venv, INSTALL_LIMIT);
        let mut pip = Command::new(&own_python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        pip.args(["--require-hashes", "--only-binary", ":all:", "--requirement"])
            .arg(dir.join("requirements.txt"));
        output(pip, INSTALL_LIMIT);
    });
    Ok(own_python)
}

/// Copies the files of `clients/` into `dir` and runs `install` there, unless that was done for the same files before.
fn install_once(dir: &Path, files: &[&str], install: impl FnOnce()) {
    fs::create_dir_all(dir).unwrap();
    // Two runs of the tests at once would install into the same folder.
    let lock = File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
    let wanted: Vec<(PathBuf, Vec<u8>)> =
        files.iter().map(|name| (dir.join(name), fs::read(clients.join(name)).unwrap())).collect();
    let done = dir.join("done");
    let same = |(path, bytes): &(PathBuf, Vec<u8>)| fs::read(path).is_ok_and(|old| old == *bytes);
    if done.exists() && wanted.iter().all(same) {
        return;
    }
    let _not_done_yet = fs::remove_file(&done);
    for (path, bytes) in &wanted {
        fs::write(path, bytes).unwrap();
    }
    install();
    fs::write(done, "").unwrap();
}

/// A program of the search path.
fn which(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn succeeds(program: &Path, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

/// Prints that a client was skipped, also where the test runner hides what tests print; with CI set that fails.
fn skip(client: &Client, missing: &str) {
    let line = format!("SKIPPED: {}: {missing} is missing on this machine", client.script);
    let _nobody_reads_it = writeln!(std::io::stderr(), "{line}");
    assert!(std::env::var_os("CI").is_none(), "{line}");
}

/// Runs a command to its end and gives what it printed; fails if it fails, or is not done in time.
fn output(mut command: Command, limit: Duration) -> String {
    let output = run_for(&mut command, limit);
    let output = output.unwrap_or_else(|| panic!("{command:?}: is not done after {limit:?}"));
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{command:?}: stdout: {stdout}; stderr: {stderr}");
    stdout
}
