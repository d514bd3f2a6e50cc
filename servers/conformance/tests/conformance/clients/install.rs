//! Installs the clients once, at the versions that `clients/` pins, into the target folder, and runs their scripts.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use server_kit::testing::run_for;

/// What one install may take on a slow network.
const INSTALL_LIMIT: Duration = Duration::from_secs(300);

/// What one script may take.
pub const SCRIPT_LIMIT: Duration = Duration::from_secs(60);

const NODE_PACKAGES: &[&str] = &["package.json", "package-lock.json"];
const NODE_SCRIPTS: &[&str] = &["read-web3.mjs", "read-kit.mjs", "subscribe-web3.mjs", "subscribe-kit.mjs"];
const PYTHON_PACKAGES: &[&str] = &["requirements.txt"];
const PYTHON_SCRIPTS: &[&str] = &["read_solana.py", "subscribe_websockets.py"];

/// What runs a script.
#[derive(Clone, Copy)]
pub enum Runtime {
    Node,
    Python,
}

impl Runtime {
    /// The program that runs a script, its packages installed; an error names what this machine lacks.
    pub fn installed(self) -> Result<&'static Path, &'static str> {
        static NODE: OnceLock<Result<PathBuf, &'static str>> = OnceLock::new();
        static PYTHON: OnceLock<Result<PathBuf, &'static str>> = OnceLock::new();
        let (once, install): (_, fn(&Path) -> _) = match self {
            Self::Node => (&NODE, install_node),
            Self::Python => (&PYTHON, install_python),
        };
        once.get_or_init(|| install(&self.dir())).as_deref().map_err(|missing| *missing)
    }

    /// Where its packages and scripts are: in the target folder, which git ignores.
    pub fn dir(self) -> PathBuf {
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
    install_once(dir, NODE_PACKAGES, NODE_SCRIPTS, || {
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
    install_once(dir, PYTHON_PACKAGES, PYTHON_SCRIPTS, || {
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

/// Copies the files of `clients/` into `dir` and runs `install` there, unless that was done for the same packages before.
fn install_once(dir: &Path, packages: &[&str], scripts: &[&str], install: impl FnOnce()) {
    fs::create_dir_all(dir).unwrap();
    // Two runs of the tests at once would install into the same folder.
    let lock = File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
    let read = |name: &str| fs::read(clients.join(name)).unwrap();
    let differs = |name: &&str| fs::read(dir.join(name)).ok().is_none_or(|old| old != read(name));
    for name in scripts.iter().filter(|name| differs(name)) {
        fs::write(dir.join(name), read(name)).unwrap();
    }
    let done = dir.join("done");
    if done.exists() && !packages.iter().any(differs) {
        return;
    }
    let _not_done_yet = fs::remove_file(&done);
    for name in packages {
        fs::write(dir.join(name), read(name)).unwrap();
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
pub fn skip(script: &str, missing: &str) {
    let line = format!("SKIPPED: {script}: {missing} is missing on this machine");
    let _nobody_reads_it = writeln!(std::io::stderr(), "{line}");
    assert!(std::env::var_os("CI").is_none(), "{line}");
}

/// Runs a command to its end and gives what it printed; fails if it fails, or is not done in time.
pub fn output(mut command: Command, limit: Duration) -> String {
    let output = run_for(&mut command, limit);
    let output = output.unwrap_or_else(|| panic!("{command:?}: is not done after {limit:?}"));
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{command:?}: stdout: {stdout}; stderr: {stderr}");
    stdout
}
