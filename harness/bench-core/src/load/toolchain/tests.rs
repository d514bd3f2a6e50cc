//! That tools are found where they should be, and what is said of another version.

use std::fs;

use super::build::oldest_go;
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
    assert_eq!(caveat("vegeta", "v12.13.0"), None);
    assert!(caveat("vegeta", "12.12.0").unwrap().contains("not 12.13.0"));
    assert_eq!(caveat("k6", "v2.2.0"), None);
    assert!(caveat("k6", "v1.3.0").unwrap().contains("not 2.2.0"));
}

#[test]
fn the_pins_are_read_from_go_mod() {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts/tools");
    for tool in LoadTool::ALL {
        let About { version, build, .. } = tool.about();
        if let Build::Go { package, folder, .. } = build {
            assert_eq!(pinned_version(package, &tools.join(folder)).unwrap(), format!("v{version}"));
            assert!(oldest_go(&tools.join(folder)).unwrap().starts_with("1."), "{version}");
        }
    }
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
    assert!(tools.get(LoadTool::Vegeta).unwrap_err().to_string().contains("without vegeta"));
}
