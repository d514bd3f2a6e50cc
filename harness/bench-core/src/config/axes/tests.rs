//! Tests of the module above.

use super::*;
use crate::config::ConfigDir;
use crate::tests::each_is_refused;

fn campaign(text: &str) -> Result<Campaign> {
    let rest =
        "why = \"w\"\nmax_blocks = 2\nseed = 1\nwarmup_ms = 500\nwindow_ms = 1000\ntimeout_ms = 2000\n";
    let environment = "\n[environment]\ntuning = \"equal\"\naccounts = 10\nslots = 10\nledger_seed = 1\n";
    let mut campaign: Campaign = toml::from_str(&format!("{rest}{text}{environment}"))?;
    campaign.expand(&variants())?;
    campaign.servers.extend(campaign.arms.iter().map(|arm| arm.name.clone()));
    campaign.check()?;
    Ok(campaign)
}

fn variants() -> Variants {
    ConfigDir::of_repository().known().unwrap().1.clone()
}

const GRID: &str = "workloads = [\"getBalance\"]\nconnections = [4, 8]\n[axes]\nserver = [\"legacy\", \"actix\"]\n\
    batch = [1, 10]\nnetwork = [\"loopback\", { delay_ms = 0.5, loss = \"1%\" }]\n";

#[test]
fn each_server_is_in_each_combination() {
    let campaign = campaign(GRID).unwrap();
    assert_eq!(campaign.servers.len(), 8);
    let last = campaign.arm("actix-batch-10-network-0-5-1").unwrap();
    assert_eq!((last.settings.batch, last.settings.network.map(|of| of.loss())), (Some(10), Some(0.01)));
    assert_eq!(campaign.arm("legacy-batch-1-network-loopback").unwrap().settings.network, None);
    let server =
        campaign.server(&crate::config::tests::shipped(), "legacy-batch-10-network-loopback").unwrap();
    assert_eq!(server.label(), "jsonrpc-core, batches of 10");
    assert_eq!(crate::plan::trials(&campaign).iter().filter(|trial| trial.block == 1).count(), 16);
}

#[test]
fn tunings_and_rates_are_axes() {
    let axes = "workloads = [\"getBalance\"]\n[open]\nconnections = 8\n[axes]\nserver = [\"legacy\"]\n\
        tuning = [\"equal\", \"shipped\"]\nrate = [100, 200]\n[[except]]\ntuning = \"shipped\"\nrate = 200\n";
    let campaign = campaign(axes).unwrap();
    assert_eq!(campaign.open.as_ref().unwrap().rates, [100, 200]);
    let shipped = campaign.arm("legacy-tuning-shipped").unwrap();
    assert_eq!(shipped.loads["getBalance"], [100]);
    let server = campaign.server(&crate::config::tests::shipped(), "legacy-tuning-shipped").unwrap();
    assert_eq!(server.label(), "jsonrpc-core, as shipped");
    let args = server.arguments(&server.placeholders(&campaign.environment, "a:1", "{}")).join(" ");
    assert!(args.contains("--tuning shipped"), "{args}");
}

#[test]
fn what_is_excepted_is_not_run() {
    let with = |except: &str| campaign(&format!("{GRID}[[except]]\n{except}\n"));
    let run = with("batch = 10\nserver = \"actix\"").unwrap();
    assert_eq!(run.servers.len(), 6);
    let run = with("network = { delay_ms = 0.50, loss = \"1%\" }").unwrap();
    assert_eq!(run.servers.len(), 4);
    let several = with("batch = [1, 10]\nserver = \"actix\"").unwrap();
    assert_eq!(several.servers.len(), 4);
    each_is_refused("axes, excepted", &format!("{GRID}[[except]]\n{{}}\n"), campaign);
}

#[test]
fn several_tables_of_axes_are_a_union() {
    let loads = "workloads = [\"getBalance\", \"getBlocks\"]\nconnections = [4, 8]\n[[except]]\nworkload = \
        \"getBlocks\"\nconnections = 8\n";
    let grid = |rest: &str| format!("[[axes]]\nserver = [\"legacy\"]\n{rest}\n");
    let of = |grids: &[String]| campaign(&format!("{loads}{}", grids.concat()));
    let run = of(&[
        grid("threads = [1]"),
        grid("threads = [2]\nworkload = [\"getBlocks\"]"),
        grid("threads = [1, 3]\nconnections = [8]\nworkload = [\"getBalance\"]"),
    ]);
    let run = run.unwrap();
    assert_eq!((run.connections.len(), run.workloads.len()), (2, 2));
    let measured = |threads, workload| {
        [4, 8].map(|count: u32| run.measures(&format!("legacy-threads-{threads}"), workload, count.into()))
    };
    let all = [1, 2, 3].map(|threads| (measured(threads, "getBalance"), measured(threads, "getBlocks")));
    let [none, first] = [[false, false], [true, false]];
    assert_eq!(all, [([true, true], first), (none, first), ([false, true], none)]);
    for (wrong, named) in [
        (grid("connections = [5]"), "axes.connections: 5 is not among"),
        ("[[axes]]\nthreads = [1]\n".to_owned(), "axes.server"),
        ("[[arm]]\nname = \"a\"\nserver = \"legacy\"\n".to_owned(), "field arm"),
    ] {
        let error = format!("{:#}", of(&[grid("threads = [1]"), wrong]).unwrap_err());
        assert!(error.contains(named) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn ratios_are_over_values_of_their_axes() {
    let over = |over: &str| {
        let view = "[[view]]\ntitle = \"t\"\nfigure = \"p99_us\"\nx = \"batch\"\n";
        campaign(&format!("{GRID}{view}over = {{ {over} }}\n"))
    };
    assert!(over("network = { delay_ms = 0.50, loss = \"1%\" }").is_ok());
    assert!(over("network = \"loopback\", server = \"legacy\"").is_ok());
    assert!(over("connections = 4, workload = \"getBalance\"").is_ok());
    let error = format!("{:#}", over("batch = 7").unwrap_err());
    assert!(error.contains("field over.batch: 7 is not among"), "{error}");
}

#[test]
fn servers_alone_are_no_arms_and_a_baseline_is_one_in_each_combination() {
    let plain = "baseline = \"legacy\"\nworkloads = [\"getBalance\"]\nconnections = [4]\n[axes]\nserver = \
        [\"legacy\", \"actix\"]\n";
    let plain = campaign(plain).unwrap();
    assert_eq!((plain.arms.len(), plain.compared().len()), (0, 1));
    let grid = campaign(&format!("baseline = \"legacy\"\n{GRID}")).unwrap();
    let pair = ("actix-batch-1-network-loopback".to_owned(), "legacy-batch-1-network-loopback".to_owned());
    assert!(grid.compared().len() == 4 && grid.compared().contains(&pair));
}

#[test]
fn a_wrong_axis_is_one_line_with_its_field() {
    each_is_refused("axes", GRID, campaign);
}

const ALLOCATORS: &str = "workloads = [\"getBalance\"]\nconnections = [4]\n[axes]\nserver = [\"legacy\", \"actix\"]\n\
    allocator = [\"jemalloc\", \"system\"]\nthreads = [1, 2]\n";

#[test]
fn variants_of_servers_are_axes() {
    let campaign = campaign(ALLOCATORS).unwrap();
    assert_eq!(campaign.servers.len(), 8);
    let arm = campaign.arm("actix-allocator-system-threads-2").unwrap();
    assert_eq!((&*arm.server, arm.settings.threads), ("actix-system", Some(2)));
    assert_eq!(campaign.entry_of("actix-allocator-system-threads-2"), "actix");
    let of = |name: &str| campaign.server(&crate::config::tests::shipped(), name).unwrap();
    let (usual, system) = (of("actix-allocator-jemalloc-threads-1"), of("actix-allocator-system-threads-1"));
    assert_eq!(usual.program, "target/release/server-actix");
    assert_eq!(system.program, "target/system-allocator/release/server-actix");
    assert!(system.label().contains("system's allocator") && !usual.label().contains("allocator"));
}

#[test]
fn a_variant_that_a_server_lacks_is_one_line_with_its_field() {
    each_is_refused("axes of variants", ALLOCATORS, campaign);
}

#[test]
fn duets_run_the_pairs_of_the_views_ratios() {
    let text = ALLOCATORS.to_owned()
        + "[[view]]\ntitle = \"t\"\nfigure = \"cpu_us_per_request\"\nx = \"threads\"\nover = { allocator \
            = \"jemalloc\" }\n";
    let pair = |server: &str, threads: u32| {
        let of = |allocator: &str| format!("{server}-allocator-{allocator}-threads-{threads}");
        (of("system"), of("jemalloc"))
    };
    let of_duets = |text: &str| {
        let mut read: Campaign = toml::from_str(&format!(
            "why = \"w\"\nmax_blocks = 2\nseed = 1\nwarmup_ms = 500\nwindow_ms = 1000\ntimeout_ms = 2000\n{text}\
             [environment]\ntuning = \"equal\"\nplacement = \"duet\"\naccounts = 10\nslots = 10\n\
             ledger_seed = 1\n"
        ))
        .unwrap();
        read.expand(&variants()).unwrap();
        read.servers.extend(read.arms.iter().map(|arm| arm.name.clone()));
        read
    };
    let read = of_duets(&text);
    read.check().unwrap();
    let pairless =
        of_duets(&format!("{text}[[view]]\ntitle = \"u\"\nfigure = \"p99_us\"\nx = \"threads\"\n"));
    let error = format!("{:#}", pairless.check().unwrap_err());
    assert!(error.contains("[[view]] \"u\": field over"), "{error}");
    assert_eq!(read.comparisons, [pair("legacy", 1), pair("legacy", 2), pair("actix", 1), pair("actix", 2)]);
    assert!(campaign(&text).unwrap().comparisons.is_empty(), "a sweep compares nothing by itself");
}

#[test]
fn load_tools_are_an_axis() {
    let closed = GRID
        .replace("batch = [1, 10]", "tool = [\"rpc-load\", \"bombardier\"]")
        .replace("network", "memory_max");
    let closed = closed.replace("\"loopback\", { delay_ms = 0.5, loss = \"1%\" }", "\"none\"");
    let run = campaign(&closed).unwrap();
    assert_eq!((run.tool, run.tools.len()), (LoadTool::Bombardier, 2));
    let trials = crate::plan::trials(&run);
    let of = |tool, connections| {
        trials
            .iter()
            .filter(|trial| (trial.block, trial.tool, trial.connections) == (1, tool, connections))
            .count()
    };
    for tool in [LoadTool::RpcLoad, LoadTool::Bombardier] {
        assert_eq!((of(tool, 4), of(tool, 8)), (2, 2), "each server once");
    }
    let rates = "workloads = [\"getBalance\"]\n[open]\nconnections = 8\nrates = [100]\n[axes]\nserver = [\"legacy\"]\n\
        tool = [\"vegeta\", \"rpc-load\"]\n";
    assert_eq!(campaign(rates).unwrap().open.unwrap().tools, [LoadTool::Vegeta, LoadTool::RpcLoad]);
    for (wrong, named) in [
        (
            closed.replace("bombardier", "vegeta"),
            "field tool: vegeta can't send in a closed loop; choose another load tool (bombardier, rpc-load)",
        ),
        (closed.replace("bombardier", "ab"), "axes.tool: there is no load tool \"ab\"; there are bombardier"),
        (format!("{closed}[[except]]\ntool = \"rpc-load\"\n"), "except.tool"),
        (format!("tool = \"rpc-load\"\n{closed}"), "axes.tool: tool names a load tool, too"),
    ] {
        let error = format!("{:#}", campaign(&wrong).unwrap_err());
        assert!(error.contains(named), "{error}");
    }
}
