//! Each server compared with itself at another commit: both built in the same layouts, run side by side, and their instructions counted.

pub mod checkout;
pub mod instructions;

use std::path::Path;

use anyhow::{Context, Result};

use self::checkout::Checkout;
use self::instructions::Counter;
use super::resolved;
use crate::config::layouts::{self, Layouts};
use crate::config::{Campaign, ConfigDir, Percent, Server};
use crate::interrupt::Interrupt;
use crate::plan::Plan;
use crate::provenance::sources;
use crate::repository::sha256_of_file;
use crate::results::RunFolder;
use crate::subject::layouts::build_in;

/// The servers that are compared: those whose figures the README has.
const SERVERS: [&str; 4] = ["legacy", "jsonrpsee", "actix", "axum"];

/// Both sides of a block have the same of these.
const LAYOUTS: Layouts = Layouts { count: 16, seed: 2 };

/// The campaign whose requests, windows and environment are taken.
const CAMPAIGN: &str = "duets";

const CONNECTIONS: u32 = 25;
const MOST_BLOCKS: u32 = 60;
const MOST_MINUTES: u64 = 15;

/// So narrow that a difference of one percent from the margin is decided.
const PRECISION: Percent = Percent(0.005);

/// A server as it is and as it was.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Of this working tree.
    pub now: Server,
    /// Of the base, with its program in the checkout.
    pub base: Server,
}

/// This working tree and a base.
#[derive(Debug)]
pub struct Sides {
    checkout: Checkout,
    all: bool,
    /// The servers that differ.
    pub pairs: Vec<Pair>,
    /// Those that were built from the same files, or are the same programs.
    pub same: Vec<String>,
}

/// Instructions of a request, in a server as it was and as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// The server, by its name of today.
    pub server: String,
    /// The request.
    pub workload: String,
    /// At the base.
    pub before: f64,
    /// In this working tree.
    pub now: f64,
}

impl Sides {
    /// Checks a commit out and finds the servers whose sources differ from this working tree's; `all` takes the others too.
    ///
    /// # Errors
    /// git can't check it out, or a server's sources can't be read.
    pub fn new(config: &ConfigDir, commit: &str, all: bool) -> Result<Self> {
        let checkout = Checkout::new(commit)?;
        let (mut pairs, mut same) = (Vec::new(), Vec::new());
        for name in SERVERS {
            let now = config.server(name)?;
            let base = at_base(&checkout, &now)?;
            let of = |server: &Server, root: &Path| sources(&server.build, root);
            match !all && of(&now, Path::new("."))? == of(&base, &checkout.folder)? {
                true => same.push(name.to_owned()),
                false => pairs.push(Pair { now, base }),
            }
        }
        Ok(Self { checkout, all, pairs, same })
    }

    /// The base, in as many digits as a reader needs.
    pub fn base(&self) -> &str {
        self.checkout.short()
    }

    /// Builds both sides. Servers whose programs turn out to be the same need no measurement.
    ///
    /// # Errors
    /// A build fails.
    pub fn build(&mut self) -> Result<()> {
        let now: Vec<&Server> = self.pairs.iter().map(|pair| &pair.now).collect();
        build_in(Path::new("."), &now, LAYOUTS)?;
        self.checkout.take_built(layouts::TARGET, layouts::PROGRAMS)?;
        let inside = |pair: &Pair| {
            let program = pair.base.program.trim_start_matches(layouts::checkout(&pair.base)).to_owned();
            Server { program, ..pair.base.clone() }
        };
        let base: Vec<Server> = self.pairs.iter().map(inside).collect();
        build_in(&self.checkout.folder, &base.iter().collect::<Vec<_>>(), LAYOUTS)?;
        for pair in std::mem::take(&mut self.pairs) {
            match !self.all && is_same_program(&pair)? {
                true => self.same.push(pair.now.name),
                false => self.pairs.push(pair),
            }
        }
        Ok(())
    }

    /// What is measured: each pair side by side, with both requests.
    ///
    /// # Errors
    /// The campaign that it is taken from does not fit.
    pub fn plan(&self, config: &ConfigDir, margin: Percent) -> Result<Plan> {
        let (duets, _) = config.campaign(CAMPAIGN)?;
        let servers: Vec<Server> =
            self.pairs.iter().flat_map(|pair| [pair.now.clone(), pair.base.clone()]).collect();
        let names = |pair: &Pair| (pair.now.name.clone(), pair.base.name.clone());
        let campaign = Campaign {
            name: "gate".to_owned(),
            why: format!(
                "Each server against itself at {}, the two at the same time on one core.",
                self.base()
            ),
            servers: servers.iter().map(|server| server.name.clone()).collect(),
            comparisons: self.pairs.iter().map(names).collect(),
            baseline: None,
            connections: vec![CONNECTIONS],
            headline: Default::default(),
            margin,
            precision: Some(PRECISION),
            max_blocks: MOST_BLOCKS,
            max_minutes: Some(MOST_MINUTES),
            layouts: Some(LAYOUTS),
            ..duets
        };
        campaign.check().context("gate")?;
        resolved(config, campaign, servers)
    }

    /// Counts instructions of both sides of each pair, for each request of the plan.
    ///
    /// # Errors
    /// A server does not start under valgrind, or answers wrongly.
    pub fn count(&self, plan: &Plan, folder: &RunFolder, interrupt: &Interrupt) -> Result<Vec<Counted>> {
        let outputs = folder.0.join("tool-output");
        let mut counted = Vec::new();
        for workload in &plan.workloads {
            let environment = &plan.campaign.environment;
            let counter = Counter { workload, environment, folder: &outputs, interrupt };
            for Pair { now, base } in &self.pairs {
                let of = |server: &Server| counter.per_request(&layouts::in_layout(server, LAYOUTS, 1));
                eprintln!("counting instructions of {} {}", now.name, workload.name);
                counted.push(Counted {
                    server: now.name.clone(),
                    workload: workload.name.clone(),
                    before: of(base)?,
                    now: of(now)?,
                });
            }
        }
        Ok(counted)
    }
}

/// A server as the base has it. Where this harness can't read the base's own servers.toml, it is built and started as today.
fn at_base(checkout: &Checkout, now: &Server) -> Result<Server> {
    let config = ConfigDir(checkout.folder.join("bench-scripts"));
    let base = config.server(&now.name).unwrap_or_else(|_| now.clone());
    let folder = checkout.folder.to_str().context("the path is not UTF-8")?;
    Ok(Server {
        name: format!("{}-base", now.name),
        title: format!("{}, at {}", base.title, checkout.short()),
        label: Some(format!("{} at {}", base.label(), checkout.short())),
        program: format!("{folder}/{}", base.program),
        colour: None,
        http: None,
        rpc: None,
        ..base
    })
}

/// Whether both sides are the same file in each layout.
fn is_same_program(pair: &Pair) -> Result<bool> {
    for number in LAYOUTS.numbers() {
        let of = |server| sha256_of_file(Path::new(&layouts::in_layout(server, LAYOUTS, number).program));
        if of(&pair.now)? != of(&pair.base)? {
            return Ok(false);
        }
    }
    Ok(true)
}
