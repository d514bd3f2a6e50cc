//! Servers compared with themselves at another commit: both built, in the same layouts where cargo builds them here,
//! run side by side, and their instructions counted.

pub mod checkout;

use std::path::Path;

use anyhow::{Context, Result, ensure};

use self::checkout::Checkout;
use super::instructions::Counter;
use super::resolved;
use crate::interrupt::Interrupt;
use crate::subject::{self, layouts::build_in};
use bench_core::config::layouts::{self, Layouts, can_be_drawn};
use bench_core::config::{Campaign, ConfigDir, Percent, Server};
use bench_core::plan::Plan;
use bench_core::provenance::sources;
use bench_core::repository::sha256_of_file;
use bench_core::results::RunFolder;
use bench_core::workload::Workload;

/// The servers that are compared where none is named: those whose figures the README has.
const SERVERS: [&str; 4] = ["legacy", "jsonrpsee", "actix", "axum"];

/// Both sides of a block have the same of these.
const LAYOUTS: Layouts = Layouts { count: 16, seed: 2 };

/// The campaign of whose duets requests, windows and environment are taken.
const CAMPAIGN: &str = "quick";

const CONNECTIONS: u32 = 25;
const MOST_BLOCKS: u32 = 60;

/// So narrow that a difference of one percent from the margin is decided.
const PRECISION: Percent = Percent(0.005);

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The harness's configuration.
    pub config: &'a ConfigDir,
    /// The folder with the servers' entries, and with workloads, where that is another one.
    pub own: Option<&'a ConfigDir>,
    /// The servers, by name; where none is named, those whose figures the README has.
    pub servers: &'a [String],
    /// The requests, by name; where none is named, those of the campaign `quick`.
    pub workloads: &'a [String],
    /// Whether servers that did not change are measured, too.
    pub all: bool,
}

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
    /// In which layouts servers are built; `None` where each is built once, by its own command.
    drawn: Option<Layouts>,
    campaign: Campaign,
    workloads: Vec<Workload>,
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

impl Question<'_> {
    /// The folder with the servers' entries.
    fn entries(&self) -> &ConfigDir {
        self.own.unwrap_or(self.config)
    }

    fn servers(&self) -> Result<Vec<Server>> {
        let shipped = SERVERS.iter().copied().filter(|_| self.servers.is_empty());
        let server = |name| {
            let server = self.entries().server(name)?;
            let runs = server.running_at().is_some();
            ensure!(!runs, "server {name}: runs already, and a gate starts both of its sides");
            Ok(server)
        };
        self.servers.iter().map(String::as_str).chain(shipped).map(server).collect()
    }

    /// A request: that of the servers' own folder before the harness's.
    fn workload(&self, name: &String) -> Result<Workload> {
        let has = |own: &&ConfigDir| own.0.join(format!("workloads/{name}.toml")).is_file();
        self.own.filter(has).unwrap_or(self.config).workload(name)
    }
}

impl Sides {
    /// Checks a commit out and finds the servers that differ from this working tree's.
    ///
    /// # Errors
    /// There is no such server or workload, or git can't check the commit out.
    pub fn new(question: Question<'_>, commit: &str) -> Result<Self> {
        let servers = question.servers()?;
        let (campaign, _) = question.config.campaign(CAMPAIGN)?;
        let duets = campaign.duet_campaign();
        let mut campaign = duets.with_context(|| format!("campaign {CAMPAIGN}: has no table [duets]"))?;
        if !question.workloads.is_empty() {
            campaign.workloads = question.workloads.to_vec();
        }
        let workloads = campaign.workloads.iter().map(|name| question.workload(name));
        let workloads = workloads.collect::<Result<_>>()?;
        let checkout = Checkout::new(commit)?;
        let (mut pairs, mut same) = (Vec::new(), Vec::new());
        for now in servers {
            let base = at_base(&checkout, question.entries(), &now)?;
            match !question.all && is_same(&checkout, &now, &base) {
                true => same.push(now.name),
                false => pairs.push(Pair { now, base }),
            }
        }
        // Of another repository it is not known whether its builds can be linked again in a drawn order.
        let drawn = question.own.is_none().then_some(LAYOUTS);
        Ok(Self { checkout, all: question.all, drawn, campaign, workloads, pairs, same })
    }

    /// The base, in as many digits as a reader needs.
    pub fn base(&self) -> &str {
        self.checkout.short()
    }

    /// Whether a server is built in layouts; it has one program otherwise.
    fn draws(&self, server: &Server) -> bool {
        self.drawn.is_some() && can_be_drawn(server)
    }

    fn is_drawn(&self, pair: &Pair) -> bool {
        self.draws(&pair.now) && self.draws(&pair.base)
    }

    /// Whether instructions can be counted of any pair: of those that are built in layouts.
    pub fn can_be_counted(&self) -> bool {
        self.pairs.iter().any(|pair| self.is_drawn(pair))
    }

    /// Builds both sides. Servers whose programs turn out to be the same need no measurement.
    ///
    /// # Errors
    /// A build fails.
    pub fn build(&mut self) -> Result<()> {
        let now: Vec<Server> = self.pairs.iter().map(|pair| pair.now.clone()).collect();
        self.build_side(Path::new("."), &now)?;
        if now.iter().any(|server| self.draws(server)) {
            self.checkout.take_built(layouts::TARGET, layouts::PROGRAMS)?;
        }
        let base: Vec<Server> = self.pairs.iter().map(|pair| inside(&pair.base)).collect();
        self.build_side(&self.checkout.folder, &base)?;
        for (pair, Server { program, .. }) in self.pairs.iter_mut().zip(base) {
            // A file of neither checkout: one of the PATH.
            let is_built = [&program, &pair.base.program].iter().any(|path| Path::new(path).is_file());
            if !is_built && !program.contains('/') {
                pair.base.program = program;
            }
        }
        let all = self.pairs.iter().flat_map(|pair| [&pair.now, &pair.base]);
        for started in all.filter(|server| !self.draws(server)) {
            started.find_program()?;
        }
        for pair in std::mem::take(&mut self.pairs) {
            match !self.all && self.is_drawn(&pair) && is_same_program(&pair)? {
                true => self.same.push(pair.now.name),
                false => self.pairs.push(pair),
            }
        }
        Ok(())
    }

    fn build_side(&self, root: &Path, servers: &[Server]) -> Result<()> {
        let (drawn, plain): (Vec<&Server>, Vec<&Server>) =
            servers.iter().partition(|server| self.draws(server));
        subject::build_in(root, plain)?;
        self.drawn.iter().try_for_each(|layouts| build_in(root, &drawn, *layouts))
    }

    /// What is measured: each pair side by side, with each request. `most` is the share of the processors' time that
    /// other processes may use, and that the hypervisor may take; the campaign's own where left out.
    ///
    /// # Errors
    /// The campaign that it is taken from does not fit.
    pub fn plan(&self, margin: Percent, minutes: u64, most: [Option<Percent>; 2]) -> Result<Plan> {
        let mut environment = self.campaign.environment.clone();
        let [max_foreign_cpu, max_steal] = most;
        environment.max_foreign_cpu = max_foreign_cpu.unwrap_or(environment.max_foreign_cpu);
        environment.max_steal = max_steal.or(environment.max_steal);
        let servers: Vec<Server> =
            self.pairs.iter().flat_map(|pair| [pair.now.clone(), pair.base.clone()]).collect();
        let names = |pair: &Pair| (pair.now.name.clone(), pair.base.name.clone());
        let (base, is_drawn) = (self.base(), servers.iter().any(|server| self.draws(server)));
        let campaign = Campaign {
            name: "gate".to_owned(),
            why: format!("Each server against itself at {base}, the two at the same time on one core."),
            servers: servers.iter().map(|server| server.name.clone()).collect(),
            comparisons: self.pairs.iter().map(names).collect(),
            baseline: None,
            connections: vec![CONNECTIONS],
            headline: Default::default(),
            margin,
            precision: Some(PRECISION),
            max_blocks: MOST_BLOCKS,
            max_minutes: Some(minutes),
            environment,
            layouts: self.drawn.filter(|_| is_drawn),
            ..self.campaign.clone()
        };
        campaign.check().context("gate")?;
        resolved(campaign, servers, self.workloads.clone())
    }

    /// Counts instructions of both sides of each pair that is built in layouts, for each request of the plan.
    ///
    /// # Errors
    /// A server does not start under valgrind, or answers wrongly.
    pub fn count(&self, plan: &Plan, folder: &RunFolder, interrupt: &Interrupt) -> Result<Vec<Counted>> {
        let outputs = folder.0.join("tool-output");
        let mut counted = Vec::new();
        for workload in &plan.workloads {
            let environment = &plan.campaign.environment;
            let counter = Counter { workload, environment, folder: &outputs, interrupt };
            for Pair { now, base } in self.pairs.iter().filter(|pair| self.is_drawn(pair)) {
                let of = |server: &Server| counter.per_request(&layouts::in_layout(server, LAYOUTS, 1));
                let (server, workload) = (now.name.clone(), workload.name.clone());
                bench_core::note!("counting instructions of {server} {workload}");
                counted.push(Counted { server, workload, before: of(base)?, now: of(now)? });
            }
        }
        Ok(counted)
    }
}

/// A server as the base has it. Where the base has no entry of it that this harness can read, it is built and started
/// as today.
fn at_base(checkout: &Checkout, entries: &ConfigDir, now: &Server) -> Result<Server> {
    let base = checkout.at_same_place(&entries.0).and_then(|folder| ConfigDir(folder).server(&now.name).ok());
    let base = base.unwrap_or_else(|| now.clone());
    let (folder, short) = (checkout.folder.to_str().context("the path is not UTF-8")?, checkout.short());
    Ok(Server {
        name: format!("{}-base", now.name),
        title: format!("{}, at {short}", base.title),
        label: Some(format!("{} at {short}", base.label())),
        program: match base.program.starts_with('/') {
            true => base.program,
            false => format!("{folder}/{}", base.program),
        },
        checkout: Some(format!("{folder}/")),
        colour: None,
        ..base
    })
}

/// A server of the base as its own checkout has it.
fn inside(base: &Server) -> Server {
    let program = base.program.strip_prefix(layouts::checkout(base)).unwrap_or(&base.program).to_owned();
    Server { program, checkout: None, ..base.clone() }
}

/// Whether nothing that a server is built from and started with differs. Of one that cargo does not build that is so
/// where no file of the repository differs.
fn is_same(checkout: &Checkout, now: &Server, base: &Server) -> bool {
    let built = |server: &Server, root: &Path| sources(&server.build, root).ok().flatten();
    match (built(now, Path::new(".")), built(base, &checkout.folder)) {
        (Some(at_now), Some(at_base)) => at_now.fingerprint == at_base.fingerprint && now.args == base.args,
        _ => checkout.is_as_here(),
    }
}

/// Whether both sides are the same file in each layout, and are started in the same way.
fn is_same_program(pair: &Pair) -> Result<bool> {
    if pair.now.args != pair.base.args {
        return Ok(false);
    }
    for number in LAYOUTS.numbers() {
        let of = |server| sha256_of_file(Path::new(&layouts::in_layout(server, LAYOUTS, number).program));
        if of(&pair.now)? != of(&pair.base)? {
            return Ok(false);
        }
    }
    Ok(true)
}
