//! What differs between two runs beyond their figures, and which of it may move figures by itself.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::format::{available, known};
use bench_core::plan::layouts;
use bench_core::two_runs::{Both, Measured};

/// What can't move figures by itself.
const LIGHT: [&str; 10] = [
    "begun",
    "campaign",
    "commit",
    "host.client_ports",
    "host.max_backlog",
    "host.one_core",
    "host.open_files",
    "most blocks",
    "requested precision",
    "seed of the order",
];

/// Something that differs between two runs.
#[derive(Serialize)]
pub(super) struct Difference {
    what: String,
    #[serde(flatten)]
    values: Both<String>,
    /// Whether it may move figures by itself.
    weighs: bool,
}

/// What is not the same, and the commit always.
pub(super) fn differences(runs: Both<&Measured>) -> Vec<Difference> {
    let Both { before, after } = runs.map(|run| facts(run));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let of = |what: &String| {
        // What only one version of a server reports is not known to have changed.
        if what.starts_with("server ") && (before.contains_key(what) != after.contains_key(what)) {
            return None;
        }
        let [before, after] = [&before, &after].map(|facts| available(facts.get(what)));
        let weighs = !LIGHT.contains(&what.as_str());
        let differs = before != after || what == "commit";
        differs.then(|| Difference { what: what.clone(), values: Both { before, after }, weighs })
    };
    names.into_iter().filter_map(of).collect()
}

/// What a run was measured with and on, by names.
fn facts(run: &Measured) -> BTreeMap<String, String> {
    let (conditions, campaign) = (&run.conditions, &run.plan.campaign);
    let mut facts = BTreeMap::new();
    let settings = campaign.environment.described(run.plan.threads).into_iter();
    facts.extend(settings.map(|setting| (setting.name.to_owned(), setting.words)));
    let mut host = json!(conditions.host);
    // Rows of their own have these.
    for name in ["/commit", "/cpu", "/processor/vendor", "/processor/family", "/processor/model"] {
        host.pointer_mut(name).map(Value::take);
    }
    flatten("host", &host, &mut facts);
    flatten("load tool", &json!(conditions.tool), &mut facts);
    for server in &run.plan.servers {
        let name = format!("server {}", server.name);
        facts.insert(format!("{name}, command line"), server.args.join(" "));
        facts.extend(server.running_at().map(|at| (format!("{name}, URL"), at.url.clone())));
        let program = conditions.programs.get(&server.name);
        facts.extend(program.map(|program| (format!("{name}, build"), program.build())));
        conditions.servers.get(&server.name).into_iter().for_each(|ready| flatten(&name, ready, &mut facts));
    }
    let precision = known(campaign.precision, "none", |precision| precision.to_string());
    let layouts = known(layouts::words(&run.plan), "one of each server", |words| words);
    let others = [
        ("commit", available(conditions.host.commit.as_ref())),
        ("processor", conditions.host.processor_name()),
        ("begun", conditions.started_at.clone()),
        ("campaign", campaign.name.clone()),
        ("requested precision", precision),
        ("most blocks", campaign.max_blocks.to_string()),
        ("seed of the order", campaign.seed.to_string()),
        ("layouts of the servers", layouts),
    ];
    facts.extend(others.map(|(name, value)| (name.to_owned(), value)));
    facts
}

/// The fields of a value, by their paths; lists are left out.
fn flatten(path: &str, value: &Value, facts: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| flatten(&format!("{path}.{name}"), value, facts));
        }
        Value::Null | Value::Array(_) => {}
        Value::String(text) => drop(facts.insert(path.to_owned(), text.clone())),
        value => drop(facts.insert(path.to_owned(), value.to_string())),
    }
}
