//! `just test` names this crate's tests one by one, so that the harness's run next to the others.

use std::fs;
use std::path::Path;

#[test]
fn each_test_of_this_crate_is_in_a_recipe() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recipes = fs::read_to_string(here.join("../../justfile")).unwrap();
    let hosts = fs::read_to_string(here.join("../../docs/HOSTS.md")).unwrap();
    let targets: Vec<String> = fs::read_dir(here.join("tests"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() || path.join("main.rs").is_file())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert!(targets.contains(&"harness".to_owned()), "{targets:?}");
    let parts = ["test: ", "tests_next_to_it := "];
    let of_test = |line: &&str| parts.iter().any(|part| line.starts_with(part));
    let test = recipes.lines().filter(of_test).collect::<Vec<_>>().join("\n");
    assert_eq!(test.lines().count(), parts.len(), "{test}");
    for target in targets {
        // All of its tests need more than a machine without root has.
        let place = if target == "cluster" { &hosts } else { &test };
        assert!(
            place.contains(&format!("--test {target}")),
            "nothing says how the tests of {target} are run"
        );
    }
}
