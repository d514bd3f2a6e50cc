//! HTTP and JSON-RPC separated by experiment: a server that differs from another one in both, by way of one that
//! differs from each of the two in one alone.
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

/// Both layers changed, once in two steps and once at once. All ratios are of server CPU time for a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Crossed {
    /// The request.
    pub workload: String,
    /// The load.
    #[serde(flatten)]
    pub level: Level,
    /// The server in the numerator.
    pub server: String,
    /// The one between.
    pub via: String,
    /// The server in the denominator.
    pub over: String,
    /// HTTP alone changed.
    pub http: Step,
    /// JSON-RPC alone changed.
    pub rpc: Step,
    /// Both, measured directly.
    pub whole: Estimate,
    /// The two steps multiplied, over the whole: 1 where the steps make the whole. By block, its interval right by
    /// itself with 95 %.
    pub product_over_whole: Option<Estimate>,
}

/// One layer changed, the other one fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The ratio, as the comparison has it.
    pub cpu: Estimate,
    /// Its share in the logarithm of the whole, by block, its interval right by itself with 95 %. None where the whole
    /// is not distinguishable from 1.
    pub share: Option<Estimate>,
}

/// What a run's comparisons show of each layer: of each compared pair that differs in both, where both steps of some
/// way between were compared.
pub fn crossed(plan: &Plan, comparisons: &[Comparison], observations: &[Observation]) -> Vec<Crossed> {
    let observed = Observed::new(observations);
    let layers = |name: &str| plan.server(name).ok().and_then(Server::layers);
    let of = |whole: &Comparison| {
        let ((http, rpc), (over_http, over_rpc)) = (layers(&whole.server)?, layers(&whole.over)?);
        if http == over_http || rpc == over_rpc {
            return None;
        }
        let pair = |server: &str, over: &str| {
            comparisons.iter().find(|pair| pair.is_of(server, over, &whole.workload, whole.level))
        };
        let (via, http, rpc) = plan.servers.iter().find_map(|via| {
            let (first, second) = (pair(&via.name, &whole.over)?, pair(&whole.server, &via.name)?);
            match via.layers()? {
                layers if layers == (http, over_rpc) => Some((via, first, second)),
                layers if layers == (over_http, rpc) => Some((via, second, first)),
                _ => None,
            }
        })?;
        let logs = |pair: &Comparison| -> BTreeMap<u32, f64> {
            let placement = plan.campaign.environment.placement;
            let names = [pair.server.as_str(), pair.over.as_str()];
            let samples = |names| observed.samples_in(placement, names, &pair.workload, pair.level);
            log_ratios(Figure::CpuUsPerRequest, &samples(names), &samples([names[1], names[0]]))
        };
        let (http_logs, rpc_logs, whole_logs) = (logs(http), logs(rpc), logs(whole));
        let by_block = |value: &dyn Fn(f64, f64, f64) -> f64| {
            let of_block = |(block, whole): (&u32, &f64)| {
                Some(value(*http_logs.get(block)?, *rpc_logs.get(block)?, *whole))
            };
            let values = whole_logs.iter().filter_map(of_block).filter(|value| value.is_finite());
            hodges_lehmann(&values.collect::<Vec<f64>>())
        };
        let differs = whole.cpu.ratio.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
        let step = |pair: &Comparison, share: &dyn Fn(f64, f64, f64) -> f64| Step {
            cpu: pair.cpu.ratio,
            share: by_block(share).filter(|_| differs),
        };
        Some(Crossed {
            workload: whole.workload.clone(),
            level: whole.level,
            server: whole.server.clone(),
            via: via.name.clone(),
            over: whole.over.clone(),
            http: step(http, &|http, _, whole| http / whole),
            rpc: step(rpc, &|_, rpc, whole| rpc / whole),
            whole: whole.cpu.ratio,
            product_over_whole: by_block(&|http, rpc, whole| http + rpc - whole).map(|log| log.map(f64::exp)),
        })
    };
    comparisons.iter().filter_map(of).collect()
}
