//! Tests of the module above.

use std::path::PathBuf;

use super::*;
use crate::interrupt::Interrupted;
use bench_core::load::LoadTool;
use bench_core::load::toolchain::{Source, Tool};

fn bombardier_alone() -> Tools {
    let (name, version) = ("bombardier".to_owned(), "1.2.6".to_owned());
    let bombardier =
        Tool { path: PathBuf::new(), name, version, source: Source::Path, sha256: String::new() };
    Tools::of([(LoadTool::Bombardier, bombardier)], Path::new(""))
}

#[test]
fn a_run_that_can_not_begin_leaves_no_folder() {
    let config = ConfigDir::of_repository();
    let (mut plan, text) = resolve(&config, "rates", &Instead::default()).unwrap();
    plan.campaign.ceiling = None;
    let dir = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::install().unwrap();
    let begun = begin(dir.path(), &plan, &text, &mut bombardier_alone(), "", &interrupt);
    let said = format!("{:#}", begun.unwrap_err());
    assert!(said.contains("was removed: ") && said.contains("ceiling = "), "{said}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_interrupt_before_the_begin_is_still_one() {
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(dir.path(), "test").unwrap();
    let error = undone(&folder, Interrupted.into());
    assert!(error.is::<Interrupted>() && error.to_string().ends_with("was removed"), "{error:#}");
    assert!(!folder.0.exists());
    let error = undone(&folder, Interrupted.into());
    assert_eq!(error.to_string(), "interrupted", "there was nothing to remove");
}
