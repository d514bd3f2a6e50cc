//! The manifests in `kubernetes/` fit the API's schemas, and the measurement's own demands on them. Nothing is sent to
//! a cluster.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Versions of the API against which the manifests are validated: the oldest that is still maintained, and the newest.
const API_VERSIONS: [&str; 2] = ["1.34.0", "1.37.0"];

/// Documents as JSON.
const AS_JSON: &str =
    "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";

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

/// All documents of the manifests.
fn documents(bin: &Path) -> Vec<Value> {
    let read = |manifest: &PathBuf| -> Vec<Value> {
        let output = Command::new(bin.join("python")).args(["-c", AS_JSON]).arg(manifest).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    manifests().iter().flat_map(read).collect()
}

#[test]
fn pods_have_whole_cpus_and_a_node_each() {
    let Some(bin) = validator() else { return };
    let documents = documents(&bin);
    let of = |kind: &str| documents.iter().find(|document| document["kind"] == kind).unwrap();
    for owner in ["Deployment", "Job"].map(of) {
        let spec = &owner["spec"]["template"]["spec"];
        let resources = &spec["containers"][0]["resources"];
        assert_eq!(resources["requests"], resources["limits"]);
        let cpu = resources["limits"]["cpu"].as_str().unwrap();
        assert!(cpu.parse::<u32>().is_ok_and(|cpus| cpus > 0), "{cpu} is no whole number of CPUs");
        let apart = &spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(apart["topologyKey"], "kubernetes.io/hostname");
        // Each is kept apart from all pods of the benchmark, itself among them.
        let labels = &owner["spec"]["template"]["metadata"]["labels"];
        for (label, value) in apart["labelSelector"]["matchLabels"].as_object().unwrap() {
            assert_eq!(labels[label], *value);
        }
    }
    let job = &of("Job")["spec"];
    assert_eq!((job["backoffLimit"].as_u64(), job["completionMode"].as_str()), (Some(0), Some("Indexed")));
    assert_eq!(job["completions"], job["parallelism"], "all at once");
    let ranks = job["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
    let ranks = ranks.iter().find(|variable| variable["name"] == "RANKS").unwrap();
    assert_eq!(ranks["value"].as_str().unwrap(), job["completions"].to_string());
    let service = &of("Service")["spec"];
    assert_eq!(service["clusterIP"], "None");
    let server = &of("Deployment")["spec"]["template"]["metadata"]["labels"];
    for (label, value) in service["selector"].as_object().unwrap() {
        assert_eq!(server[label], *value, "the Service finds the server");
    }
}
