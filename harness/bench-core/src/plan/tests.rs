//! Tests of the module above.

use super::*;
use crate::config::ConfigDir;
use std::collections::HashSet;

fn quick() -> Campaign {
    ConfigDir::of_repository().campaign("quick").unwrap().0
}

#[test]
fn a_plan_states_its_format_first() {
    let plan = Plan { campaign: quick(), ..Plan::default() };
    let text = serde_json::to_string(&plan).unwrap();
    assert!(text.starts_with(&format!(r#"{{"format":"{FORMAT}","#)), "{text}");
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

#[test]
fn every_block_holds_every_trial_once() {
    let campaign = quick();
    let trials = trials(&campaign);
    for block in 1..=campaign.max_blocks {
        let cells: HashSet<_> = trials
            .iter()
            .filter(|trial| trial.block == block)
            .map(|trial| (&trial.server, &trial.workload, trial.connections))
            .collect();
        let arms = campaign.servers.len() * campaign.workloads.len() * campaign.connections.len();
        assert_eq!(cells.len(), arms);
        assert_eq!(trials.iter().filter(|trial| trial.block == block).count(), arms);
    }
}

#[test]
fn extra_blocks_change_no_planned_one() {
    let with = |max_extra_blocks| trials(&Campaign { max_extra_blocks, ..quick() });
    let (without, with) = (with(Some(0)), with(Some(4)));
    assert_eq!(with[..without.len()], without);
    assert_eq!(with.last().unwrap().block, quick().max_blocks + 4);
    let default = |max_blocks| Campaign { max_blocks, max_extra_blocks: None, ..quick() }.extra_blocks();
    assert_eq!([0, 1, 9, 40].map(default), [0, 3, 4, 20]);
}

#[test]
fn servers_that_are_compared_stand_together() {
    let campaign = quick();
    for group in trials(&campaign).chunks(campaign.servers.len()) {
        let cells: HashSet<_> = group.iter().map(|trial| (&trial.workload, trial.connections)).collect();
        assert_eq!(cells.len(), 1);
    }
}

#[test]
fn a_duet_holds_every_pair_once_a_block() {
    let mut campaign = quick();
    campaign.environment.placement = Placement::Duet;
    let trials = trials(&campaign);
    let cells = campaign.workloads.len() * campaign.connections.len();
    let pairs = campaign.compared();
    let blocks = campaign.max_blocks + campaign.extra_blocks();
    assert_eq!(trials.len(), blocks as usize * cells * pairs.len() * 2);
    for two in trials.chunks(2) {
        let place = |trial: &Trial| (trial.block, trial.workload.clone(), trial.connections);
        assert_eq!(place(&two[0]), place(&two[1]));
        let named = |trial: &Trial| (trial.server.clone(), trial.beside.clone().unwrap());
        let (a, b) = named(&two[0]);
        assert_eq!(named(&two[1]), (b.clone(), a.clone()));
        assert!(pairs.contains(&(a.clone(), b.clone())) || pairs.contains(&(b, a)));
    }
}

#[test]
fn the_seed_decides_the_order() {
    let campaign = quick();
    let other = Campaign { seed: campaign.seed + 1, ..campaign.clone() };
    assert_eq!(trials(&campaign), trials(&campaign));
    assert_ne!(trials(&campaign), trials(&other));
}

#[test]
fn each_server_comes_first_equally_often() {
    let campaign = Campaign { max_blocks: 400, ..quick() };
    let (trials, servers) = (trials(&campaign), campaign.servers.len());
    for server in &campaign.servers {
        let first = trials.chunks(servers).filter(|group| &group[0].server == server).count();
        let expected = trials.len() / servers.pow(2);
        assert!(first.abs_diff(expected) < expected / 5, "{server}: {first} of {expected}");
    }
}

/// One campaign has closed loops and rates of its duets, and each pair runs once in a block at each of them.
#[test]
fn duets_run_at_rates_as_well_as_in_closed_loops() {
    let of = |duets: &str| {
        let mut campaign = quick();
        let text = format!("{duets}\nmax_blocks = 3\nprecision = \"1%\"\nwarmup_ms = 150\nwindow_ms = 500\n");
        campaign.duets = Some(toml::from_str(&text).unwrap());
        campaign.check()?;
        let servers = ["legacy", "jsonrpsee", "actix", "axum"];
        let servers = servers.map(|name| ConfigDir::of_repository().server(name).unwrap()).to_vec();
        Ok::<Plan, anyhow::Error>(Plan { campaign, servers, ..Plan::default() }.duets().unwrap())
    };
    let closed = of("connections = 25").unwrap();
    assert!(closed.rates.is_empty() && closed.levels() == closed.campaign.closed_loops(&[25]));
    let both = of("connections = [10, 25]\nrate = 2000").unwrap();
    let at = |connections, rate, tool| Level { connections, rate, tool, ..Level::default() };
    let levels = [
        at(10, None, LoadTool::Bombardier),
        at(25, None, LoadTool::Bombardier),
        at(25, Some(2_000), LoadTool::RpcLoad),
    ];
    assert_eq!(both.levels(), levels);
    for level in levels {
        for (server, over) in both.campaign.compared() {
            let is_it = |trial: &&Trial| {
                (trial.block, trial.level(), &*trial.workload) == (1, level, "getBlocks")
                    && (&trial.server, trial.beside.as_ref()) == (&server, Some(&over))
            };
            assert_eq!(both.trials.iter().filter(is_it).count(), 1, "{server} {over} {level}");
        }
    }
    assert!(both.campaign.duets.is_none());
    let mut campaign = quick();
    campaign.duets.as_mut().unwrap().rate = vec![2_000];
    assert!(campaign.all_tools().any(|tool| tool == LoadTool::RpcLoad), "it is built before the run begins");
    for wrong in ["rate = 0", "rate = [5, 5]", "rate = 2000000"] {
        let error = format!("{:#}", of(&format!("connections = 25\n{wrong}")).unwrap_err());
        assert!(error.contains("duets.rate") && error.lines().count() == 1, "{wrong}: {error}");
    }
}
