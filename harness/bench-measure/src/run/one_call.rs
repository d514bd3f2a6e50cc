//! `rpc-bench try`: one call to a service that runs already, with no file written beforehand.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::resolved;
use crate::client;
use crate::subject::{Process, find_running};
use bench_core::config::{Percent, RunningAt, Server, campaign_of};
use bench_core::headers::Access;
use bench_core::plan::Plan;
use bench_core::workload::{Expected, Leeway, Traffic, Workload};

/// The name of its runs.
const NAME: &str = "try";

/// Windows that the time under load is divided into: the fewest with an interval.
const WINDOWS: u64 = 6;

/// Load before each window, in milliseconds.
const WARM_UP_MS: u64 = 200;

/// The shortest window, in milliseconds.
const LEAST_WINDOW_MS: u64 = 500;

/// When a request is given up, in milliseconds.
const TIMEOUT_MS: u64 = 5_000;

/// What is sent where.
#[derive(Debug, Clone, Default)]
pub struct OneCall {
    /// The service.
    pub at: RunningAt,
    /// What reaching the service takes.
    pub access: Access,
    /// The JSON-RPC method.
    pub method: String,
    /// Its parameters: an array or an object.
    pub params: Option<Value>,
    /// The result that every answer must have; any where left out.
    pub result: Option<Value>,
    /// Requests a second; as many as the connections get answered where left out.
    pub rate: Option<u32>,
    /// Connections.
    pub connections: u32,
    /// Time under load in all, in seconds.
    pub seconds: u32,
    /// The share of the processors' time that other processes may use in a window; a campaign's own where left out.
    pub max_foreign_cpu: Option<Percent>,
    /// The same of the time that the hypervisor may take.
    pub max_steal: Option<Percent>,
}

/// The plan, and its campaign as a text.
///
/// # Errors
/// One line: nobody answers there, it is not on loopback and not the user's own, or its answer is not right.
pub fn resolve(call: &OneCall) -> Result<(Plan, String)> {
    let params = call.params.iter().all(|params| params.is_array() || params.is_object());
    ensure!(params, "--params: give a JSON array or an object");
    let mut body = json!({ "jsonrpc": "2.0", "id": 1, "method": call.method });
    if let Some(params) = &call.params {
        body["params"] = params.clone();
    }
    let expected = match &call.result {
        Some(result) => Expected::Result { result: result.clone(), leeway: Leeway::default() },
        None => Expected::NoError,
    };
    let why = "One call, sent again and again.".to_owned();
    let traffic = Traffic::One { body: body.to_string(), expected, needs_slots: None };
    let workload = Workload { name: call.method.clone(), traffic, why };
    workload.check().context("--method")?;
    let server = Server::target(call.at.clone(), &call.access)?;
    let text = text(call)?;
    let campaign = campaign_of(NAME, &text)?;
    let mut plan = resolved(campaign, vec![server.clone()], vec![workload])?;
    let target = server.target_at(&call.at.url)?;
    if matches!(find_running(&target)?.1, Process::Elsewhere) && target.is_loopback()? {
        // Its CPU time is nobody's that is known, and would count as that of other processes.
        plan.campaign.environment.max_foreign_cpu = Percent(1.0);
    }
    let truth = plan.workloads[0].truth(&plan.campaign.environment.ledger())?;
    if let Err(answer) = client::verify(&target, &body.to_string(), &truth)? {
        bail!("{target} does not answer {body} as it should: {answer} instead of {}", truth.words());
    }
    Ok((plan, text))
}

/// The campaign as a person would have written it.
fn text(call: &OneCall) -> Result<String> {
    let OneCall { rate, connections, seconds, method, .. } = call;
    let window_ms =
        (u64::from(*seconds) * 1_000 / WINDOWS).checked_sub(WARM_UP_MS).filter(|ms| *ms >= LEAST_WINDOW_MS);
    let window_ms = window_ms.with_context(|| format!("--seconds {seconds}: give 5 or more"))?;
    let mut campaign = json!({
        "why": "One call to one service.",
        "servers": ["target"],
        "workloads": [method],
        "tool": "rpc-load",
        "connections": rate.map_or_else(|| vec![*connections], |_| Vec::new()),
        "max_blocks": WINDOWS,
        "seed": 1,
        "warmup_ms": WARM_UP_MS,
        "window_ms": window_ms,
        "timeout_ms": TIMEOUT_MS,
    });
    if let Some(rate) = rate {
        campaign["headline"] = json!({ method: rate });
        campaign["open"] = json!({ "rates": [rate], "connections": connections, "tools": ["rpc-load"] });
    }
    let limits = [("max_foreign_cpu", call.max_foreign_cpu), ("max_steal", call.max_steal)];
    for (name, share) in limits.into_iter().filter_map(|(name, share)| Some((name, share?))) {
        campaign["environment"][name] = json!(share.to_string());
    }
    toml::to_string(&campaign).context("the campaign of one call is no TOML")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_may_take_is_in_the_campaign() {
        for limits in [(None, None), (Some(0.2), None), (None, Some(0.3)), (Some(0.2), Some(0.3))] {
            let (max_foreign_cpu, max_steal) = (limits.0.map(Percent), limits.1.map(Percent));
            let call = OneCall {
                method: "a".to_owned(),
                connections: 4,
                seconds: 5,
                max_foreign_cpu,
                max_steal,
                ..OneCall::default()
            };
            let environment = campaign_of(NAME, &text(&call).unwrap()).unwrap().environment;
            assert_eq!(environment.max_steal, max_steal);
            assert!(max_foreign_cpu.is_none_or(|share| environment.max_foreign_cpu == share));
        }
    }

    #[test]
    fn a_campaign_has_a_method_as_it_is_called() {
        for method in ["eth/x", "../x", "a.b \"c\" d"] {
            let campaign = |rate: Option<u32>| {
                let call = OneCall {
                    method: method.to_owned(),
                    rate,
                    connections: 4,
                    seconds: 5,
                    ..OneCall::default()
                };
                campaign_of(NAME, &text(&call).unwrap()).unwrap()
            };
            assert_eq!(campaign(None).workloads, [method]);
            let at_rate = campaign(Some(50));
            assert_eq!(
                (&at_rate.workloads[..], at_rate.headline.get(method)),
                (&[method.to_owned()][..], Some(&50))
            );
        }
    }
}
