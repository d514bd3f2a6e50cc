//! HTTP and JSON-RPC separated by experiment: servers that differ in one of the two alone, compared with each other.
//!
//! `servers.toml` says which server has which layers. Each ratio is measured and none is modelled, so two steps, HTTP
//! alone and JSON-RPC alone, need not make the whole that is measured directly; the report prints how far they miss it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::comparison::Comparison;
use super::observed::{Observed, log_ratios};
use bench_model::config::Server;
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_model::observation::Observation;
use bench_model::plan::Plan;
use bench_stats::{Estimate, hodges_lehmann};

/// One of a server's two layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// What reads and writes HTTP.
    Http,
    /// What reads, dispatches and writes JSON-RPC.
    Rpc,
}

/// The servers of a run on one request and load, by layer. All ratios are of server CPU time for a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Crossed {
    /// The request.
    pub workload: String,
    /// The load.
    #[serde(flatten)]
    pub level: Level,
    /// The server that the others' CPU is relative to.
    pub baseline: String,
    /// The servers that name their layers, in the plan's order.
    pub cells: Vec<LayerCell>,
    /// Compared pairs that differ in one layer alone.
    pub steps: Vec<Step>,
    /// Servers that differ from the baseline in both layers, reached by two steps.
    pub paths: Vec<Path>,
    /// Other servers, relative to the baseline.
    pub beside: Vec<(String, Estimate)>,
}

/// A server with its layers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerCell {
    /// The server.
    pub server: String,
    /// What speaks HTTP.
    pub http: String,
    /// What speaks JSON-RPC.
    pub rpc: String,
    /// CPU relative to the baseline; none of the baseline itself and of a server that was not compared with it.
    pub cpu: Option<Estimate>,
}

/// One layer changed, the other one fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The layer that changes.
    pub layer: Layer,
    /// What it is in `over`.
    pub from: String,
    /// What it is in `server`.
    pub to: String,
    /// The other layer, of both.
    pub fixed: String,
    /// The server in the numerator.
    pub server: String,
    /// The server in the denominator.
    pub over: String,
    /// The ratio, as the comparison has it.
    pub cpu: Estimate,
}

/// Both layers changed, once in two steps and once at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// The server that differs from the baseline in both.
    pub server: String,
    /// The step of HTTP.
    pub http: Step,
    /// The step of JSON-RPC.
    pub rpc: Step,
    /// The server over the baseline, measured directly.
    pub whole: Estimate,
    /// The two steps multiplied.
    pub product: f64,
    /// The product over the whole, by block, its interval right by itself with 95 %: 1 where the steps make the whole.
    pub product_over_whole: Option<Estimate>,
    /// The share of HTTP's step in the logarithm of the whole, by block, likewise. None where the whole is not
    /// distinguishable from 1.
    pub http_share: Option<Estimate>,
    /// The same of JSON-RPC's step.
    pub rpc_share: Option<Estimate>,
}

/// Logarithms of a ratio by block.
type Logs = BTreeMap<u32, f64>;

/// What a run's comparisons show of each layer: by request and load, where a pair that differs in one layer was
/// compared.
pub fn crossed(plan: &Plan, comparisons: &[Comparison], observations: &[Observation]) -> Vec<Crossed> {
    let observed = Observed::new(observations);
    let levels = plan.levels();
    let workloads = plan.campaign.workloads.iter();
    let loads = workloads.flat_map(|workload| levels.iter().map(move |level| (workload.as_str(), *level)));
    let load = |(workload, level)| CrossedLoad { plan, comparisons, observed: &observed, workload, level };
    loads.filter_map(|place| load(place).crossed()).collect()
}

/// One request and load of a run.
struct CrossedLoad<'a> {
    plan: &'a Plan,
    comparisons: &'a [Comparison],
    observed: &'a Observed<'a>,
    workload: &'a str,
    level: Level,
}

impl CrossedLoad<'_> {
    fn crossed(&self) -> Option<Crossed> {
        let layered: Vec<&Server> =
            self.plan.servers.iter().filter(|server| server.layers().is_some()).collect();
        let of_pairs = layered.iter().flat_map(|a| layered.iter().map(move |b| (*a, *b)));
        let is_listed = |a: &Server, b: &Server| {
            self.comparisons_here().any(|pair| pair.server == a.name && pair.over == b.name)
        };
        let steps: Vec<Step> =
            of_pairs.filter(|(a, b)| is_listed(a, b)).filter_map(|(a, b)| self.step(a, b)).collect();
        if steps.is_empty() {
            return None;
        }
        let baseline = self.baseline(&layered)?;
        let cell = |server: &&Server| {
            let (http, rpc) = server.layers()?;
            let cpu = self.cpu(&server.name, &baseline.name).map(|(ratio, _)| ratio);
            Some(LayerCell { server: server.name.clone(), http: http.to_owned(), rpc: rpc.to_owned(), cpu })
        };
        let others = self.plan.servers.iter().filter(|server| server.layers().is_none());
        Some(Crossed {
            workload: self.workload.to_owned(),
            level: self.level,
            baseline: baseline.name.clone(),
            cells: layered.iter().filter_map(cell).collect(),
            paths: layered.iter().filter_map(|server| self.path(&layered, baseline, server)).collect(),
            beside: others
                .filter_map(|server| Some((server.name.clone(), self.cpu(&server.name, &baseline.name)?.0)))
                .collect(),
            steps,
        })
    }

    /// The campaign's baseline, or else the server that is compared with first.
    fn baseline<'s>(&self, layered: &[&'s Server]) -> Option<&'s Server> {
        let first = self.comparisons_here().map(|pair| pair.over.as_str());
        let mut candidates = self.plan.campaign.baseline.as_deref().into_iter().chain(first);
        candidates.find_map(|name| layered.iter().copied().find(|server| server.name == name))
    }

    fn comparisons_here(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(|pair| pair.workload == self.workload && pair.level == self.level)
    }

    /// The ratio of two servers and its logarithms by block, in whichever order the two were compared.
    fn cpu(&self, server: &str, over: &str) -> Option<(Estimate, Logs)> {
        let of = |a: &str, b: &str| self.comparisons_here().find(|pair| pair.server == a && pair.over == b);
        if let Some(pair) = of(server, over) {
            return Some((pair.cpu.ratio, self.logs(server, over)));
        }
        let pair = of(over, server)?;
        let Estimate { value, interval } = pair.cpu.ratio;
        let interval = interval.map(|(low, high)| (1.0 / high, 1.0 / low));
        Some((Estimate { value: 1.0 / value, interval }, self.logs(server, over)))
    }

    fn logs(&self, server: &str, over: &str) -> Logs {
        let placement = self.plan.campaign.environment.placement;
        let samples = |pair| self.observed.samples_in(placement, pair, self.workload, self.level);
        log_ratios(Figure::CpuUsPerRequest, &samples([server, over]), &samples([over, server]))
    }

    /// The change from the second server to the first, where it is of one layer alone and was compared.
    fn step(&self, server: &Server, over: &Server) -> Option<Step> {
        let ((http, rpc), (over_http, over_rpc)) = (server.layers()?, over.layers()?);
        let (layer, from, to, fixed) = match (http == over_http, rpc == over_rpc) {
            (false, true) => (Layer::Http, over_http, http, rpc),
            (true, false) => (Layer::Rpc, over_rpc, rpc, http),
            _ => return None,
        };
        Some(Step {
            layer,
            from: from.to_owned(),
            to: to.to_owned(),
            fixed: fixed.to_owned(),
            server: server.name.clone(),
            over: over.name.clone(),
            cpu: self.cpu(&server.name, &over.name)?.0,
        })
    }

    /// From the baseline to a server that differs in both layers, by way of one that differs in one.
    fn path(&self, layered: &[&Server], baseline: &Server, server: &Server) -> Option<Path> {
        let (whole, whole_logs) = self.cpu(&server.name, &baseline.name)?;
        let two_steps = |via: &&Server| {
            let (first, second) = (self.step(via, baseline)?, self.step(server, via)?);
            match (first.layer, second.layer) {
                (Layer::Http, Layer::Rpc) => Some((first, second)),
                (Layer::Rpc, Layer::Http) => Some((second, first)),
                _ => None,
            }
        };
        let (http, rpc) = layered.iter().find_map(two_steps)?;
        let [http_logs, rpc_logs] = [&http, &rpc].map(|step| self.logs(&step.server, &step.over));
        let by_block = |value: &dyn Fn(f64, f64, f64) -> f64| {
            let of_block = |(block, whole): (&u32, &f64)| {
                Some(value(*http_logs.get(block)?, *rpc_logs.get(block)?, *whole))
            };
            let values = whole_logs.iter().filter_map(of_block).filter(|value| value.is_finite());
            hodges_lehmann(&values.collect::<Vec<f64>>())
        };
        let differs = whole.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
        let share = |value: &dyn Fn(f64, f64, f64) -> f64| by_block(value).filter(|_| differs);
        Some(Path {
            server: server.name.clone(),
            whole,
            product: http.cpu.value * rpc.cpu.value,
            product_over_whole: by_block(&|http, rpc, whole| http + rpc - whole).map(|log| log.map(f64::exp)),
            http_share: share(&|http, _, whole| http / whole),
            rpc_share: share(&|_, rpc, whole| rpc / whole),
            http,
            rpc,
        })
    }
}
