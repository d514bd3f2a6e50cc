//! `rpc-bench init`: a folder with a server, a workload and a campaign for a service of one's own, which runs as it is.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use bench_model::config::ConfigDir;
use bench_model::headers::Headers;
use bench_model::target::Target;
use bench_system::text_files::write;
use serde_json::Value;

/// The files, and what stands in them.
const FILES: [(&str, &str); 3] = [
    ("servers.toml", include_str!("../../templates/servers.toml")),
    ("workloads/calls.toml", include_str!("../../templates/workload.toml")),
    ("campaigns/first.toml", include_str!("../../templates/campaign.toml")),
];

/// What the folder is for.
#[derive(clap::Args)]
pub struct Args {
    /// The folder; it must not exist.
    folder: PathBuf,
    /// Where the service answers.
    #[arg(long, default_value = "http://127.0.0.1:8545/")]
    url: String,
    /// A method of it.
    #[arg(long, value_name = "NAME", default_value = "eth_blockNumber")]
    method: String,
    /// The method's parameters: a JSON array.
    #[arg(long, value_name = "JSON", default_value = "[]")]
    params: String,
    /// A header of each request, such as 'Authorization: Bearer ${TOKEN}' with a variable of the environment.
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
}

/// An object of texts and lists of texts as a table on one line, whose values JSON and TOML write alike.
fn toml_table(object: &Value) -> String {
    let members = object.as_object().into_iter().flatten();
    let members: Vec<String> = members.map(|(name, value)| format!("{name:?} = {value}")).collect();
    format!("{{ {} }}", members.join(", "))
}

/// Writes the folder, and says what to do with it.
pub fn init(args: &Args) -> Result<bool> {
    Target::parse(&args.url).context("--url")?;
    let params: Value = serde_json::from_str(&args.params).context("--params: not JSON")?;
    ensure!(params.is_array() || params.is_object(), "--params: give a JSON array or object");
    let folder = &args.folder;
    ensure!(!folder.exists(), "{}: is there already; give a new folder", folder.display());
    // As TOML has it: a text of JSON, which may hold anything but three quotes.
    let params = format!("'''{params}'''");
    let headers = Headers::parse(&args.headers).context("--header")?;
    let headers = match headers.is_empty() {
        true => "# headers = { Authorization = \"Bearer ${TOKEN}\" }".to_owned(),
        false => format!("headers = {}", toml_table(&serde_json::to_value(headers)?)),
    };
    let in_quotes = |text: &str| Value::from(text).to_string().trim_matches('"').to_owned();
    let (url, method) = (in_quotes(&args.url), in_quotes(&args.method));
    let values = [("{url}", &url), ("{method}", &method), ("{params}", &params), ("{headers}", &headers)];
    for (name, text) in FILES {
        let text = values.iter().fold(text.to_owned(), |text, (place, value)| text.replace(place, value));
        let path = folder.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.with_context(|| format!("can't write {}", path.display()))?;
        write(path, &text)?;
    }
    // A method that is no name, say, is better said here.
    let config = ConfigDir(folder.clone());
    if let Err(error) =
        config.servers().and_then(|_| config.workload("calls")).and_then(|_| config.campaign("first"))
    {
        // What was just written, and nothing else.
        for (name, _) in FILES {
            fs::remove_file(folder.join(name)).with_context(|| format!("can't remove {name}"))?;
        }
        for name in ["workloads", "campaigns", ""] {
            fs::remove_dir(folder.join(name))
                .with_context(|| format!("can't remove {}", folder.display()))?;
        }
        bail!("{error:#}");
    }
    bench_system::say!(
        "{0} has servers.toml, workloads/calls.toml and campaigns/first.toml. Measure:\n\n  cargo rpc-bench --config \
         {0} run first\n\n\
         What can stand in them: docs/ANY-SERVICE.md",
        folder.display()
    );
    Ok(true)
}
