use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output};

use super::*;
use crate::run::resolve;
use bench_core::config::Campaign;
use bench_core::config::{ConfigDir, Instead, Placement};
use bench_core::plan::Trial;
use bench_core::provenance;

fn shipped() -> ConfigDir {
    ConfigDir::of_repository()
}

fn crossed() -> Plan {
    resolve(&shipped(), "crossed", &Instead::default()).unwrap().0
}

/// Each server's layouts by block; that a block has one for all trials of a server is a part of it.
fn by_block(plan: &Plan) -> BTreeMap<&str, Vec<u32>> {
    let mut drawn: BTreeMap<&str, BTreeMap<u32, u32>> = BTreeMap::new();
    for trial in &plan.trials {
        let Some(layout) = trial.layout else {
            assert_eq!(trial.server, "jsonrpsee-1652", "it alone is not built by a call of cargo: {trial:?}");
            continue;
        };
        let earlier = drawn.entry(&trial.server).or_default().insert(trial.block, layout);
        assert!(earlier.is_none_or(|earlier| earlier == layout), "{trial:?}");
    }
    drawn.into_iter().map(|(server, blocks)| (server, blocks.into_values().collect())).collect()
}

#[test]
fn each_block_draws_a_layout_for_each_server() {
    let plan = crossed();
    let layouts = plan.campaign.layouts.unwrap();
    let drawn = by_block(&plan);
    assert_eq!(drawn.len(), plan.servers.len() - 1, "all but jsonrpsee-1652");
    for (server, blocks) in &drawn {
        assert_eq!(blocks.len() as u32, plan.campaign.max_blocks + plan.campaign.extra_blocks());
        for turn in blocks.chunks_exact(layouts.count as usize) {
            let used: BTreeSet<u32> = turn.iter().copied().collect();
            assert_eq!(used, layouts.numbers().collect(), "{server}: each once, before any of them again");
        }
    }
    let orders: BTreeSet<&Vec<u32>> = drawn.values().collect();
    let drawn_for = |server: &&Server| drawn.contains_key(&*server.name);
    let programs: BTreeSet<&str> =
        plan.servers.iter().filter(drawn_for).map(|server| &*server.program).collect();
    assert_eq!(orders.len(), programs.len(), "one program's layouts say nothing of another's");
    assert_eq!(drawn["actix"], drawn["actix-jsonrpc-core"], "one program");
}

#[test]
fn the_seed_decides_the_layouts_and_they_change_no_order() {
    let (plan, again) = (crossed(), crossed());
    assert_eq!(plan.trials, again.trials);
    let with = |change: &dyn Fn(&mut Campaign)| {
        let mut campaign = plan.campaign.clone();
        change(&mut campaign);
        plan.part(plan.servers.clone(), campaign)
    };
    let other = with(&|campaign| campaign.seed += 1);
    assert_ne!(by_block(&plan), by_block(&other));
    let without = with(&|campaign| campaign.layouts = None);
    let places = |plan: &Plan| {
        let place = |trial: &Trial| Trial { layout: None, ..trial.clone() };
        plan.trials.iter().map(place).collect::<Vec<_>>()
    };
    assert_eq!(places(&plan), without.trials, "the order of trials is that without layouts");
    let kept: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(kept.trials, plan.trials, "what is resumed has the same layouts");
}

#[test]
fn a_trial_runs_the_program_of_its_layout() {
    let mut plan = crossed();
    let server = plan.server("actix").unwrap().clone();
    let trial = plan.trials.iter().find(|trial| trial.server == "actix").unwrap().clone();
    let program = plan.server_of(&trial).unwrap().program.clone();
    let programs = plan.programs(&server);
    assert_eq!(programs.iter().collect::<BTreeSet<_>>().len(), plan.campaign.layouts.unwrap().count as usize);
    assert_eq!(program, programs[trial.layout.unwrap() as usize - 1]);
    assert!(!programs.contains(&server.program));
    // A program that is not built here has no layouts.
    let external = Server { build: Vec::new(), program: "my-server".to_owned(), ..server.clone() };
    plan.servers =
        plan.servers.iter().map(|s| if s.name == "actix" { external.clone() } else { s.clone() }).collect();
    assert_eq!(plan.programs(&external), ["my-server"]);
    let drawn = plan.part(plan.servers.clone(), plan.campaign.clone());
    let of = |name: &str| drawn.trials.iter().filter(|t| t.server == name).all(|t| t.layout.is_some());
    assert!(!of("actix") && of("legacy"));
}

#[test]
fn what_a_run_was_of_has_the_hash_of_each_layout() {
    let plan = crossed();
    let root = tempfile::tempdir().unwrap();
    for program in plan.servers.iter().flat_map(|server| plan.programs(server)) {
        let path = root.path().join(&program);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, program).unwrap();
    }
    let programs = provenance::programs(&plan, root.path());
    let hashes = &programs["actix"].layouts;
    assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len() as u32, plan.campaign.layouts.unwrap().count);
    assert_eq!(programs["actix"].sha256, None, "no trial is of the program as cargo links it");
    assert_eq!(&programs["actix-jsonrpc-core"].layouts, hashes, "the same programs");
    assert_ne!(&programs["axum"].layouts, hashes);
}

#[test]
fn servers_of_one_program_share_its_builds() {
    let layouts = Layouts { count: 5, seed: 3 };
    let [a, b] = ["actix", "actix-jsonrpc-core"].map(|name| shipped().server(name).unwrap());
    assert_eq!(command(&a, layouts, true), command(&b, layouts, true));
    let words = command(&a, layouts, false).join(" ");
    assert!(
        words.starts_with(
            "cargo rustc --release --package server-actix --bin server-actix --target-dir target/layouts -- -C linker="
        ),
        "{words}"
    );
    assert_eq!(words.matches("link-arg=--layout=").count(), 3, "1, 3 and 5: {words}");
    assert!(!words.contains(ALIGNED) && command(&a, layouts, true).join(" ").contains(ALIGNED));
    let minimal = command(&shipped().server("actix-minimal").unwrap(), layouts, false).join(" ");
    assert!(minimal.contains("--example minimal-actix") && !minimal.contains("--bin"), "{minimal}");
    let other = command(&shipped().server("actix-system").unwrap(), layouts, false).join(" ");
    assert!(
        other.contains("--target-dir target/layouts/system-allocator --"),
        "other features, apart: {other}"
    );
    assert!(!other.contains("--target-dir target/system-allocator"), "{other}");
    // Cargo starts rustc in the workspace, and this one has its own.
    let own = command(&shipped().server("axum-ajj").unwrap(), layouts, false).join(" ");
    assert!(own.contains("-C linker=../../target/layouts/linker.sh"), "{own}");
    assert!(own.contains(":../../target/layouts/programs/axum-ajj/release/server-axum-ajj-3-1"), "{own}");
}

#[test]
fn layouts_are_for_closed_loops_and_duets() {
    let campaign = crossed().campaign;
    campaign.check().unwrap();
    let refused = |change: &dyn Fn(&mut Campaign)| {
        let mut changed = campaign.clone();
        change(&mut changed);
        let said = format!("{:#}", changed.check().unwrap_err());
        assert!(said.contains("layouts"), "{said}");
    };
    refused(&|campaign| campaign.layouts = Some(Layouts { count: 1, seed: 0 }));
    refused(&|campaign| {
        campaign.search = shipped().campaign("quick").unwrap().0.search;
        campaign.environment.placement = Placement::Free;
    });
}

/// Runs the linker with a program `cc` that notes its arguments, and makes the output that its arguments name.
fn link(args: &[&str], cc: &str) -> (Output, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    script("cc", cc);
    let linker = script("linker.sh", include_str!("linker.sh"));
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let output = Command::new(linker).args(args).env("PATH", path).current_dir(dir.path()).output().unwrap();
    (output, dir)
}

const NOTES: &str = "#!/bin/sh\necho \"$@\" >>calls\nfor arg; do test \"$last\" = -o && out=$arg; last=$arg; \
    done\necho \"$@\" >\"$out\"\n";

#[test]
fn the_linker_links_once_more_for_each_layout() {
    let args = ["a.o", "-o", "plain", "--layout=7:programs/p-1", "-lc", "--layout=9:programs/p-3"];
    let (output, dir) = link(&args, NOTES);
    assert!(output.status.success(), "{output:?}");
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(read("plain"), "a.o -o plain -lc\n");
    for (name, seed) in [("p-1", 7), ("p-3", 9)] {
        let own = format!("-o programs/{name}.new -Wl,--strip-debug -Wl,--shuffle-sections=*={seed}");
        assert_eq!(read(&format!("programs/{name}")), format!("a.o -o plain -lc {own}\n"));
    }
    assert_eq!(read("calls").lines().count(), 3);
}

#[test]
fn a_linker_that_can_draw_no_order_is_named() {
    let cc = "#!/bin/sh\ncase \"$*\" in *shuffle*) exit 1 ;; esac\n";
    let (output, dir) = link(&["-o", "plain", "--layout=7:p-1"], cc);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("lld"), "{output:?}");
    assert!(!dir.path().join("p-1").exists());
}
