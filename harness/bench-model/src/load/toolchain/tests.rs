//! That tools are found where they should be, and what is said of another version.

use std::fs;

use super::build::{READERS_PROFILE, oldest_go};
use super::*;

fn caveat(name: &str, version: &str) -> Option<String> {
    let (name, version) = (name.to_owned(), version.to_owned());
    Tool { path: PathBuf::new(), name, version, source: Source::Path, sha256: String::new() }.caveat()
}

#[test]
fn another_version_is_pointed_out() {
    assert_eq!(caveat("bombardier", "v1.2.6"), None);
    assert!(caveat("bombardier", "v2.0.0").unwrap().contains("not 1.2.6"));
    assert!(caveat("bombardier", "unspecified").unwrap().contains("unknown"));
    assert_eq!((caveat("vegeta", "v12.13.0"), caveat("oha", "1.16.0")), (None, None));
    assert!(caveat("vegeta", "12.12.0").unwrap().contains("not 12.13.0"));
    assert!(caveat("oha", "1.15.0").unwrap().contains("not 1.16.0"));
    assert_eq!(caveat("k6", "v2.2.0"), None);
    assert!(caveat("k6", "v1.3.0").unwrap().contains("not 2.2.0"));
}

#[test]
fn the_pins_are_read_from_go_mod() {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts/tools");
    for tool in LoadTool::ALL {
        let About { version, build, .. } = tool.can();
        if let Build::Go { package, folder, .. } = build {
            assert_eq!(pinned_version(package, &tools.join(folder)).unwrap(), format!("v{version}"));
            assert!(oldest_go(&tools.join(folder)).unwrap().starts_with("1."), "{version}");
        }
    }
}

#[test]
fn readers_are_built_in_a_profile_that_the_workspace_has() {
    let manifest = fs::read_to_string(workspace(Path::new("")).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    assert!(manifest["profile"].get(READERS_PROFILE).is_some(), "{READERS_PROFILE}");
}

#[test]
fn a_tool_of_the_workspace_is_found_wherever_the_configuration_lies() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("config/tools")).unwrap();
    let elsewhere = workspace(&folder.path().join("config/tools"));
    assert!(elsewhere.join("load-generator/Cargo.toml").is_file(), "{}", elsewhere.display());
    fs::create_dir_all(folder.path().join("load-generator")).unwrap();
    fs::write(folder.path().join("load-generator/Cargo.toml"), "").unwrap();
    assert_eq!(workspace(&folder.path().join("config/tools")), folder.path().join("config/tools/../.."));
}

#[test]
fn a_tool_is_taken_from_next_to_an_installed_harness_alone() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(next_to(folder.path(), "rpc-load"), None);
    let path = folder.path().join("rpc-load");
    fs::write(&path, "").unwrap();
    assert_eq!(next_to(folder.path(), "rpc-load"), Some(path));
    fs::create_dir(folder.path().join(".fingerprint")).unwrap();
    assert_eq!(next_to(folder.path(), "rpc-load"), None, "cargo's own folder");
}

#[test]
fn a_tool_that_a_run_was_begun_without_is_an_error() {
    let bombardier = Tool {
        path: PathBuf::new(),
        name: "bombardier".to_owned(),
        version: "v1.2.6".to_owned(),
        source: Source::Path,
        sha256: String::new(),
    };
    let tools = Tools::of([(LoadTool::Bombardier, bombardier)], Path::new(""));
    assert!(tools.get(LoadTool::Bombardier).is_ok() && tools.open_loop().is_empty());
    assert!(tools.get(LoadTool::Oha).unwrap_err().to_string().contains("without oha"));
}

#[test]
fn what_reads_the_results_of_oha_is_found_next_to_it_and_named_where_it_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let (pins, path) = (folder.path().join("tools"), folder.path().join("oha"));
    let tool = |tool: LoadTool| Tool {
        path: path.clone(),
        name: tool.name().to_owned(),
        version: tool.can().version.to_owned(),
        source: Source::Path,
        sha256: String::new(),
    };
    let tools = Tools::of([LoadTool::Oha, LoadTool::Vegeta].map(|of| (of, tool(of))), &pins);
    let missing = tools.reader(LoadTool::Oha).unwrap_err().to_string();
    let names = ["no oha-records", path.to_str().unwrap(), "just tools oha"];
    assert!(names.iter().all(|name| missing.contains(name)) && !missing.contains('\n'), "{missing}");
    let write = |path: &Path| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    };
    let (built, next_to_it) =
        (pins.join("bin/oha-1.16.0/bin/oha-records"), folder.path().join("oha-records"));
    for place in [&built, &next_to_it] {
        write(place);
        assert_eq!(&tools.reader(LoadTool::Oha).unwrap(), place);
    }
    assert_eq!(tools.reader(LoadTool::Vegeta).unwrap(), path, "it reads its own");
}
