//! The patches of the servers fit the crates of Cargo.lock, and what does not fit is refused.

use std::fs;
use std::path::{Path, PathBuf};

fn server() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../jsonrpsee-1652")
}

#[test]
fn an_answer_is_not_parsed_again() {
    let into = tempfile::tempdir().unwrap();
    let [patch] = patched_build::patches(&server()).unwrap().try_into().unwrap();
    let copy = patched_build::copy(&patch, into.path()).unwrap();
    let file = copy.join("src/server/method_response.rs");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("RawValue::from_string_unchecked(").count(), 2);
    assert!(!text.contains("RawValue::from_string("), "{}", file.display());

    let written = fs::metadata(&file).unwrap().modified().unwrap();
    patched_build::copy(&patch, into.path()).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written, "it was copied again");
}

#[test]
fn a_patch_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let patch = |name: &str, text: &str| {
        let patch = folder.path().join(name);
        fs::write(&patch, text).unwrap();
        patched_build::copy(&patch, &folder.path().join("into")).unwrap_err().to_string()
    };
    let text = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,1 +1,1 @@\n-not a line of it\n+another\n";
    let message = patch("jsonrpsee-core-0.26.1.patch", text);
    assert!(message.contains("does not fit jsonrpsee-core-0.26.1"), "{message}");
    assert!(patch("jsonrpsee-core-0.0.1.patch", text).contains("no jsonrpsee-core-0.0.1"));
    assert!(patched_build::patches(folder.path()).is_ok());
    assert!(patched_build::patches(&folder.path().join("into")).is_err());
}
