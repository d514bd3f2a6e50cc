//! The manifests in `kubernetes/` fit the API's schemas, and the measurement's own demands on them. Nothing is sent to
//! a cluster.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bench_core::config::ConfigDir;

/// Versions of the API against which the manifests are validated: the oldest that is still maintained, and the newest.
const API_VERSIONS: [&str; 2] = ["1.34.0", "1.37.0"];

fn manifests() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts/kubernetes");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    files.sort();
    assert_eq!(files.len(), 3, "{files:?}");
    files
}

/// Where the validator is installed, or none and a line that says what is missing.
fn validator() -> Option<PathBuf> {
    let found = install();
    if let Err(missing) = &found {
        // Also where the test runner hides what tests print.
        let _nobody_reads_it = writeln!(std::io::stderr(), "SKIPPED: manifests for Kubernetes: {missing}");
    }
    found.ok()
}

fn install() -> Result<PathBuf, String> {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(3).unwrap().join("kubernetes-tests");
    fs::create_dir_all(&folder).unwrap();
    // Two runs of the tests at once would install into the same folder.
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubernetes/requirements.txt");
    let bin = folder.join("venv/bin");
    let done = folder.join("done");
    if fs::read(&done).ok() == Some(fs::read(&pinned).unwrap()) {
        return Ok(bin);
    }
    carried_out(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder.join("venv")))?;
    let quiet = ["install", "--quiet", "--disable-pip-version-check", "--requirement"];
    carried_out(Command::new(bin.join("pip")).args(quiet).arg(&pinned))?;
    fs::copy(pinned, done).unwrap();
    Ok(bin)
}

fn carried_out(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name} can't be started: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
    if output.status.success() { Ok(()) } else { Err(format!("{name} failed: {said}")) }
}

fn validated(bin: &Path, manifest: &Path, version: &str) -> Output {
    let mut command = Command::new(bin.join("kubernetes-validate"));
    command.args(["--strict", "--kubernetes-version", version]).arg(manifest).output().unwrap()
}

/// What it printed, for a failed assertion.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_manifests_fit_the_schemas_of_the_api() {
    let Some(bin) = validator() else { return };
    for manifest in manifests() {
        for version in API_VERSIONS {
            let output = validated(&bin, &manifest, version);
            assert!(output.status.success(), "{}: {}", manifest.display(), said(&output));
        }
    }
}

/// What bench.yaml measures.
#[test]
fn the_deployed_server_is_an_entry_that_runs_already() {
    let folder = tempfile::tempdir().unwrap();
    let shipped = ConfigDir::of_repository().0;
    fs::copy(shipped.join("servers.toml"), folder.path().join("servers.toml")).unwrap();
    let own = shipped.join("kubernetes/deployed.toml");
    fs::copy(own, folder.path().join("servers.local.toml")).unwrap();
    let server = ConfigDir(folder.path().to_owned()).server("deployed").unwrap();
    assert!(server.running_at().unwrap().i_own_this_target);
    let bench = fs::read_to_string(shipped.join("kubernetes/bench.yaml")).unwrap();
    assert!(bench.contains(" run, hosts, --server, deployed, "), "{bench}");
}
