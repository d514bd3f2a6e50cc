//! A ratio of p99 comes from blocks of its own.

use super::*;

#[test]
fn p99_is_pooled_by_the_blocks_in_which_both_servers_have_one() {
    let dir = tempfile::tempdir().unwrap();
    let of_run = |name: &str, change: &dyn Fn(&str, &mut Value)| {
        let results = dir.path().join(name);
        copy(&results, "run", change);
        let groups = load(&results).unwrap().groups;
        move |figure| {
            let of_actix = |group: &&Group| {
                (&*group.setting.server, group.setting.figure, group.setting.level.connections)
                    == ("actix", figure, 125)
            };
            let run = groups.iter().find(of_actix).unwrap().runs().next().unwrap();
            (run.blocks, run.log_standard_error)
        }
    };
    let whole = of_run("whole", &same);
    let lacking = of_run("lacking", &|file, value| {
        if file == "an observation" && value["server"] == "actix" && value["block"] == 1 {
            value["outcome"]["load"]["latency_us"]["p99"] = 0.0.into();
        }
    });
    assert_eq!(lacking(PooledFigure::Rate), whole(PooledFigure::Rate));
    let [(all, error), (fewer, of_fewer)] = [&whole, &lacking].map(|run| run(PooledFigure::P99));
    assert_eq!(fewer, all - 1);
    assert!(error.is_some() && of_fewer.is_some() && error != of_fewer, "{error:?} and {of_fewer:?}");
}
