//! That all that is shipped reads, and that each mistake is one line that names the file and the field.

use super::*;
use crate::tests::{cases, each_is_refused, tables};

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

/// A configuration of one file in place of the shipped one, next to the shipped servers: axes may be of variants.
fn with_file(file: &str, text: &str) -> (tempfile::TempDir, ConfigDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    let servers = folder.path().join("servers.toml");
    if !servers.exists() {
        std::os::unix::fs::symlink(shipped().0.join("servers.toml"), servers).unwrap();
    }
    let config = ConfigDir(folder.path().to_owned());
    (folder, config)
}

/// Each mistake is in one place of a shipped file.
fn shipped_file_is_refused(table: &str, file: &str, read: impl Fn(&ConfigDir) -> Result<()>) {
    let text = std::fs::read_to_string(shipped().0.join(file)).unwrap();
    each_is_refused(table, &text, |text| {
        let (_folder, config) = with_file(file, text);
        read(&config).inspect_err(|error| assert!(format!("{error:#}").contains(file), "{error:#}"))
    });
}

#[test]
fn rubbish_in_a_shipped_campaign_or_server_is_named() {
    for table in tables("campaigns ") {
        for name in table.split(' ').skip(1) {
            let path = shipped().named("campaigns", name).unwrap();
            let file = path.strip_prefix(shipped().0).unwrap().to_str().unwrap();
            shipped_file_is_refused(table, file, |dir| dir.campaign(name).map(drop));
        }
    }
    assert!(tables("campaigns ").map(|table| cases(table).count()).sum::<usize>() > 80);
    shipped_file_is_refused("servers", "servers.toml", |dir| dir.servers().map(drop));
}
