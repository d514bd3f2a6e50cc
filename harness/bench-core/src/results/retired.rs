//! Fields that plans of kept runs have and no version reads any longer.

use std::collections::BTreeMap;

use serde_json::Value;

/// Fields of kept plans that nothing reads any longer.
const RETIRED: [&str; 12] = [
    "stores",
    "counting",
    "handicap",
    "in_process",
    "http",
    "rpc",
    "branch",
    "cpuset",
    "tool_niceness",
    "own_answers",
    "threshold",
    "slo",
];

/// Takes out of a plan the fields that kept runs have of servers and arms, and that none has any longer.
pub(super) fn take_out(plan: &mut Value) {
    let of = |fields: &mut Value| {
        let fields = fields.as_object_mut();
        fields.map(|fields| fields.retain(|name, _| !RETIRED.contains(&name.as_str())))
    };
    of(&mut plan["campaign"]);
    let arms = plan.pointer_mut("/campaign/arm").and_then(Value::as_array_mut);
    let mut servers = BTreeMap::new();
    for arm in arms.into_iter().flatten() {
        of(arm);
        arm.get_mut("settings").map(of);
        // Arms that were others but for a setting named these.
        if let Some(server) = arm["of"].as_str().and_then(|of| servers.get(of)).cloned() {
            arm["server"] = server;
        }
        servers.insert(arm["name"].to_string().trim_matches('"').to_owned(), arm["server"].clone());
    }
    for server in plan["servers"].as_array_mut().into_iter().flatten() {
        of(server);
        for inside in ["/overrides", "/upstream/entry", "/upstream/entry/overrides"] {
            server.pointer_mut(inside).map(of);
        }
    }
}
