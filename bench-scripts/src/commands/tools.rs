//! `rpc-bench tools`: find or build the load tools, and say which they are.

use anyhow::Result;
use rpc_bench::config::ConfigDir;
use rpc_bench::load::LoadTool;
use rpc_bench::load::toolchain::Tool;

/// Which tools.
#[derive(clap::Args)]
pub struct Args {
    /// The tools; bombardier and vegeta where left out. oha takes about 5 minutes to build.
    #[arg(value_parser = tool)]
    tools: Vec<LoadTool>,
}

fn tool(text: &str) -> Result<LoadTool, String> {
    let all = [LoadTool::Bombardier, LoadTool::Vegeta, LoadTool::Oha];
    let found = all.into_iter().find(|tool| tool.name() == text);
    found.ok_or_else(|| "give bombardier, vegeta or oha".to_owned())
}

/// Finds or builds load tools.
pub fn tools(config: &ConfigDir, args: &Args) -> Result<bool> {
    let quick = [LoadTool::Bombardier, LoadTool::Vegeta];
    let asked = if args.tools.is_empty() { quick.as_slice() } else { &args.tools };
    for tool in asked {
        let tool = Tool::find(*tool, &config.0.join("tools"))?;
        println!("{} {} at {}", tool.name, tool.version, tool.path.display());
        if let Some(caveat) = tool.caveat() {
            println!("note: {caveat}");
        }
    }
    Ok(true)
}
