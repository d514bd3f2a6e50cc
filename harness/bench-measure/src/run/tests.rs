//! Tests of the module above.

use std::path::PathBuf;

use super::*;
use bench_model::load::LoadTool;
use bench_model::load::toolchain::{Source, Tool};
use bench_system::interrupt::Interrupted;

fn bombardier_alone() -> Tools {
    let (name, version) = ("bombardier".to_owned(), "1.2.6".to_owned());
    let bombardier =
        Tool { path: PathBuf::new(), name, version, source: Source::Path, sha256: String::new() };
    Tools::of([(LoadTool::Bombardier, bombardier)], Path::new(""))
}

#[test]
fn a_run_that_can_not_begin_leaves_no_folder() {
    let config = ConfigDir::of_repository();
    let (mut plan, text) = resolve(&config, "rates").unwrap();
    plan.campaign.ceiling = None;
    let dir = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::install().unwrap();
    let begun = begin(dir.path(), &plan, &text, &mut bombardier_alone(), "", &interrupt);
    let said = format!("{:#}", begun.unwrap_err());
    assert!(said.contains("was removed: ") && said.contains("ceiling = "), "{said}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn another_seed_draws_another_order_and_other_layouts_of_the_same_trials() {
    let config = ConfigDir::of_repository();
    let (plan, _) = resolve(&config, "crossed").unwrap();
    let order = |plan: &Plan| -> Vec<String> {
        plan.trials.iter().map(|trial| format!("{} {:?}", trial.server, trial.layout)).collect()
    };
    let other = drawn_from(plan.clone(), 2).unwrap();
    assert_eq!(order(&drawn_from(other.clone(), 2).unwrap()), order(&other));
    assert_ne!(order(&other), order(&plan));
    let programs = |plan: &Plan| plan.programs(&plan.servers[0]);
    assert!(programs(&other).iter().all(|program| !programs(&plan).contains(program)), "other layouts");
    let sorted = |plan: &Plan| {
        let mut servers: Vec<String> = plan.trials.iter().map(|trial| trial.server.clone()).collect();
        servers.sort();
        servers
    };
    assert_eq!(sorted(&other), sorted(&plan));
    let (plain, _) = resolve(&config, "tunings").unwrap();
    assert!(drawn_from(plain, 2_000_000).is_ok(), "no layouts, no bound");
    let error = drawn_from(plan, 2_000_000).unwrap_err().to_string();
    assert!(error.contains("layouts.seed"), "{error}");
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
