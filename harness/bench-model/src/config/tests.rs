//! That all that is shipped reads, and that each mistake is one line that names the file and the field.

use super::*;

pub(super) fn shipped() -> ConfigDir {
    ConfigDir::of_repository()
}

#[test]
fn a_gateway_comes_with_the_server_behind_it() {
    let gateway = shipped().server("gateway-ws").unwrap();
    let names: Vec<&str> = gateway.and_upstream().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["actix", "gateway-ws"], "the one that is started first");
    let behind = gateway.and_upstream().next().unwrap();
    assert_eq!(behind.overrides.words(), "over WebSocket");
    assert_eq!(shipped().server("actix").unwrap().and_upstream().count(), 1);
}

#[test]
fn an_upstream_that_is_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(shipped().0.join("servers.toml")).unwrap();
    let with = |upstream: &str| {
        let text = text.replace(r#"upstream = { server = "actix", transport = "websocket" }"#, upstream);
        std::fs::write(folder.path().join("servers.toml"), text).unwrap();
        format!("{:#}", ConfigDir(folder.path().to_owned()).server("gateway-ws").unwrap_err())
    };
    let said = with(r#"upstream = { server = "nobody" }"#);
    assert!(
        said.contains("gateway-ws") && said.contains("upstream.server") && said.contains("nobody"),
        "{said}"
    );
    assert!(with(r#"upstream = { server = "gateway-http" }"#).contains("is a gateway itself"));
    assert!(with("").contains("give both or neither"));
}

/// A shipped file that has the second text in place of the first is refused in one line, which names the file and the
/// third.
fn assert_refused(file: &str, read: impl Fn(&ConfigDir) -> Result<()>, cases: &[(&str, &str, &str)]) {
    let text = std::fs::read_to_string(shipped().0.join(file)).unwrap();
    for (good, bad, field) in cases {
        assert!(text.contains(good), "{good}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text.replacen(good, bad, 1)).unwrap();
        // Axes may be of variants.
        let servers = folder.path().join("servers.toml");
        if !servers.exists() {
            std::os::unix::fs::symlink(shipped().0.join("servers.toml"), servers).unwrap();
        }
        let line = format!("{:#}", read(&ConfigDir(folder.path().to_owned())).unwrap_err());
        assert!(line.contains(file) && line.contains(field), "{bad:?} gave {line:?}");
        assert_eq!(line.lines().count(), 1, "{line:?}");
    }
}

fn assert_campaign_refused(name: &str, cases: &[(&str, &str, &str)]) {
    let read = |dir: &ConfigDir| dir.campaign(name).map(drop);
    let path = shipped().named("campaigns", name).unwrap();
    assert_refused(path.strip_prefix(shipped().0).unwrap().to_str().unwrap(), read, cases);
}

#[test]
fn all_that_is_shipped_reads_and_fits_together() {
    let dir = shipped();
    for (name, _) in dir.files("campaigns").unwrap() {
        let (campaign, _) = dir.campaign(&name).unwrap();
        campaign.servers.iter().for_each(|server| drop(campaign.server(&dir, server).unwrap()));
        campaign.workloads.iter().for_each(|workload| drop(dir.workload(workload).unwrap()));
    }
}

#[test]
fn a_name_that_stands_twice_is_an_error_with_both_places() {
    let folder = tempfile::tempdir().unwrap();
    for place in ["campaigns/limits/mine.toml", "campaigns/mine.toml"] {
        let path = folder.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let line = format!("{:#}", ConfigDir(folder.path().to_owned()).campaign("mine").unwrap_err());
    assert!(
        line.contains("campaigns/limits/mine.toml and ") && line.contains("campaigns/mine.toml"),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1, "{line}");
}

/// No search has it.
const BACKGROUND: &str = "[open]\nrates = [5]\nconnections = 5\n[open.background]\nworkload = \"getBalance\"\n\
                          connections = 1\n";

/// Each mistake in the table of a search, and what the one line must name.
#[test]
fn rubbish_in_a_search_is_named() {
    let both = [
        ("\nfrom = ", "\nfrom = 0 #", "search.from"),
        ("\nfrom = ", "\nform = 7\nfrom = ", "form"),
        ("\nmost = ", "\nmost = 10 #", "search.most"),
        ("\nmost = ", "\nbegin = 10\nmost = ", "search.begin"),
        ("\nmost = ", "\nbegin = 80001\nmost = ", "search.begin"),
        ("\nwidth = ", "\nwidth = \"70%\" #", "width"),
        ("\nconfirmations = ", "\nconfirmations = 0 #", "search.confirmations"),
        ("\nmost_trials = ", "\nmost_trials = 3 #", "search.most_trials"),
        ("\nmost_trials = ", "\nwindow_ms = 5\nmost_trials = ", "search.window_ms"),
        ("\nmost_trials = ", "\nworkloads = [\"getNothing\"]\nmost_trials = ", "search.workloads"),
        ("[search]", &format!("{BACKGROUND}[search]"), "[open]"),
    ];
    assert_campaign_refused("threshold", &both);
    assert_campaign_refused("slo", &both);
    let along_connections = [
        ("\nmost = ", "\nmost = 70000 #", "search.most"),
        ("\nconfirmations = ", "\nconfirmations = 4 #", "search.confirmations"),
        ("window_ms = 3000", "window_ms = 2000", "search.window_ms: a window of 2000 ms can't show"),
        ("timeout_ms = 2000", "timeout_ms = 3000", "give more than 3000"),
        ("connect_ms = 5000", "connect_ms = 400", "connect_ms"),
        ("connections = []", "connections = [5]", "max_blocks"),
    ];
    assert_campaign_refused("threshold", &along_connections);
    let along_rate = [
        ("connections = []", "connections = [5]\nmax_blocks = 1", "[search.along.rate]"),
        ("connections = []", "connections = []\nremedy_trials = 6", "[search.along.rate]"),
        ("tuning = \"equal\"", "tuning = \"equal\"\nplacement = \"one-core\"", "placement"),
        ("\np99_ms = ", "\np99_ms = 0 #", "search.along.rate.p99_ms"),
        ("\np99_ms = ", "\np99_ms = 5000 #", "search.along.rate.p99_ms"),
        ("shortfall = \"1%\"", "shortfall = \"1%\"\nmost_failed = 3", "most_failed"),
        ("tool = \"rpc-load\"", "tool = \"bombardier\"", "search.along.rate.tool"),
        ("\nconnections = 200", "\nconnections = 0", "search.along.rate.connections"),
        ("\nfrom = ", "\nfrom = 50 #", "search.from"),
        ("\nshort_window_ms = ", "\nshort_window_ms = 5 #", "search.along.rate.short_window_ms"),
        ("\nshort_window_ms = ", "\nshort_window_ms = 4000 #", "search.along.rate.short_window_ms"),
        ("exceed_ratio = \"20%\"", "exceed_ratio = \"90%\"", "exceed_ratio"),
    ];
    assert_campaign_refused("slo", &along_rate);
}

/// The same for users in stages.
#[test]
fn rubbish_in_stages_is_named() {
    let cases = [
        ("users = 500", "users = 50000", "stages.ramp.users"),
        ("seconds = 120", "seconds = 0", "stages.ramp.seconds"),
        ("time_scale = \"25%\"", "time_scale = \"200%\"", "time_scale"),
        ("time_scale = \"25%\"", "time_scale = \"50%\"", "write window_ms = 120000"),
        ("[\"http\", \"websocket\"]", "[\"carrier pigeon\"]", "carrier pigeon"),
        (
            "[stages]",
            "[stages]\ntransports = [\"http\"]",
            "stages.transports: how users reach the servers is an axis",
        ),
        ("connections = [500]", "connections = [5]", "write connections = [500]"),
        ("tool = \"k6\"", "", "write tool = \"k6\""),
        (
            "tool = \"k6\"",
            "tool = \"k6\"\nhold = true",
            "field hold: it can't be in one campaign with [stages]",
        ),
        ("[stages]", "[open]\nconnections = 5\nrates = [5]\n[stages]", "[open]"),
        ("max_blocks = 3", "max_blocks = 0", "max_blocks"),
        ("ledger_seed = 1", "ledger_seed = 1\nplacement = \"one-core\"", "field [stages]: it can't"),
        (
            "ledger_seed = 1",
            "ledger_seed = 1\ntransport = \"websocket\"",
            "axes.transport: [environment] states it",
        ),
    ];
    assert_campaign_refused("stages", &cases);
    assert_campaign_refused(
        "coordinated-omission",
        &[("tools = [", "tools = [\"k6\", ", "field open.tools: k6")],
    );
}

#[test]
fn a_network_is_refused_where_it_would_not_be_made() {
    let network = "[environment]\nnetwork = { delay_ms = 1 }\n";
    for (name, table) in
        [("threshold", "[search]"), ("slo", "[search]"), ("stages", "[stages]"), ("quick", "[duets]")]
    {
        assert_campaign_refused(
            name,
            &[("[environment]\n", network, "field network"), ("[environment]\n", network, table)],
        );
    }
}

/// The same for bounds.
#[test]
fn rubbish_in_a_bound_is_named() {
    let cases = [
        ("within = \"3%\"", "", "either at_most"),
        ("within = \"3%\"", "within = \"3%\"\nat_most = 1.5", "either at_most"),
        ("within = \"3%\"", "at_most = 0.0", "pass.at_most"),
        ("within = \"3%\"", "at_most = \"twice\"", "no percentage"),
        ("within = \"3%\"", "at_most = true", "a ratio such as 1.2"),
        ("over = \"actix-minimal\"", "over = \"nobody\"", "pass.over"),
        ("over = \"actix-minimal\"", "over = \"legacy\"", "no comparison of this campaign"),
    ];
    assert_campaign_refused("adapter-cost", &cases);
}

/// The same for arms.
#[test]
fn rubbish_in_an_arm_is_named() {
    let cases = [
        ("server = \"legacy\"\n", "", "either server or of"),
        ("of = \"legacy-original\"", "of = \"nobody\"", "field of"),
        ("of = \"legacy-original\"", "of = \"legacy-interval-own\"", "field of"),
        ("{ global_queue_interval = 8 }", "{ global_queue_interval = 61 }", "field settings"),
        ("{ global_queue_interval = 8 }", "{ global_queue_interval = 8, threads = 2 }", "field settings"),
        ("{ threads = 2 }", "{ threads = 0 }", "settings.threads"),
        ("name = \"legacy-walk-0\"", "name = \"legacy-workers-2\"", "servers"),
        ("getBalance = [2000]", "getBalance = [126]", "field loads"),
        ("getBalance = [2000]", "getNothing = [2000]", "field loads"),
    ];
    assert_campaign_refused("original", &cases);
}

/// What a server says of itself, and what the one line must name where it makes no sense.
#[test]
fn rubbish_in_a_server_is_named() {
    let cases = [
        ("label = \"axum + hand-written JSON-RPC\"", "label = \"a|b\"", "field label"),
        ("colour = 1", "colour = 0", "field colour"),
        ("colour = 1", "colour = 8", "field colour"),
        ("\"--global-queue-interval={global_queue_interval}\"", "\"{global_queue_interval}\"", "left out"),
        ("-slot={walk_ns_per_slot}\"", "-slot={walk}\"", "unknown placeholder"),
        ("\"--accounts\", \"{accounts}\", \"--seed\"", "\"{account}\"", "field prepare: unknown placeholder"),
        ("colour = 1", "colour = 1\noverrides = { threads = 1 }", "field overrides"),
    ];
    assert_refused("servers.toml", |dir| dir.servers().map(drop), &cases);
}

/// Each mistake in a campaign's field, and what the one line must name.
#[test]
fn rubbish_in_a_field_is_named() {
    let cases = [
        ("max_blocks = 1", "max_blocks = 0", "max_blocks"),
        ("max_blocks = 1", "max_blocks = \"many\"", "max_blocks"),
        ("max_blocks = 1\nseed", "max_blocks = 1\nprecision = 2\nseed", "precision"),
        ("max_blocks = 1\nseed", "max_blocks = 1\nprecision = \"0%\"\nseed", "precision"),
        ("max_blocks = 1\nseed", "max_blocks = 1\nmax_minutes = 3\nseed", "max_minutes"),
        ("max_blocks = 1\nseed", "max_blocks = 1\nprecision = \"2%\"\nmax_minutes = 0\nseed", "max_minutes"),
        ("max_blocks = 1\nseed", "max_blocks = 1\nmargin = \"120%\"\nseed", "margin"),
        ("connections = [10, 125]", "connections = []", "connections"),
        ("connections = [10, 125]", "connections = [0]", "connections"),
        ("connections = [10, 125]", "connections = [10, 10]", "connections"),
        ("window_ms = 1000", "window_ms = 5", "window_ms"),
        ("window_ms = 1000", "window_ms = 99999999", "window_ms"),
        ("timeout_ms = 2000", "timeout_ms = 0", "timeout_ms"),
        ("tuning = \"equal\"", "tuning = \"equal\"\nplacement = \"trio\"", "placement"),
        ("tuning = \"equal\"", "tuning = \"equal\"\nplacement = \"duet\"", "control"),
        ("connections = 25", "connections = 0", "[duets]"),
        ("baseline = \"legacy\"", "baseline = \"nobody\"", "baseline"),
        ("accounts = 100000", "accounts = 0", "accounts"),
        ("headline = { getBalance = 125", "headline = { getBalance = 126", "headline"),
        ("servers = [\"legacy\"", "servers = [\"legacy\", \"legacy\"", "servers"),
        ("workloads = [\"getBalance\", \"getBlocks\"]", "workloads = []", "workloads"),
    ];
    assert_campaign_refused("smoke", &cases);
}

/// One case of each part that stands alone.
#[test]
fn parts_that_exclude_each_other_are_named() {
    let open = "\n[open]\nrates = [100]\nconnections = 8\n[environment]";
    let layouts = "\nremedy_trials = 1\nlayouts = { count = 2, seed = 1 }\nseed";
    for (name, good, bad, parts) in [
        (
            "connections",
            "\nseed",
            "\nprecision = \"2%\"\nseed",
            "field hold: it can't be in one campaign with what",
        ),
        ("keep-alive", "\n[environment]", open, "field [open]: it can't be in one campaign with connections"),
        (
            "curves",
            "tuning = \"equal\"",
            "placement = \"one-core\"",
            "field [open]: it can't be in one campaign with placement",
        ),
        (
            "slo",
            "\nseed",
            "\nremedy_trials = 1\nseed",
            "field [search.along.rate]: it can't be in one campaign with rem",
        ),
        ("distance", "\nseed", "\nremedy_trials = 1\nseed", "remedy_trials"),
        ("keep-alive", "\nseed", layouts, "field layouts: it can't be in one campaign with remedy_trials"),
    ] {
        assert_campaign_refused(name, &[(good, bad, parts)]);
    }
}

/// What connections, batches and ratios can't be.
#[test]
fn rubbish_in_a_way_to_send_is_named() {
    let over = "over = { transport = \"http\" }";
    for (name, good, bad, field) in [
        (
            "connections",
            "hold = true",
            "hold = true\nbaseline = \"legacy\"",
            "field hold: it can't be in one campaign with what compares",
        ),
        ("connections", "tool = \"rpc-load\"", "", "bombardier can't hold"),
        ("batches", "batch       = [1, 10, 100]", "batch = [0, 1]", "batch"),
        ("batches", "tool = \"rpc-load\"", "tool = \"vegeta\"", "vegeta"),
        ("websocket", over, "over = { transport = \"ipc\" }", "field over.transport"),
        ("websocket", over, "over = { workload = \"getBalance\" }", "field over.workload"),
        ("websocket", "max_blocks", "baseline = \"legacy\"\nmax_blocks", "fields baseline and over"),
        ("curves", "headline =", "over = { server = \"legacy\" }\nheadline =", "field over"),
    ] {
        assert_campaign_refused(name, &[(good, bad, field)]);
    }
}
