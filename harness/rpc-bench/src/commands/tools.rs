//! `rpc-bench tools`: find or build the load tools, and print their versions.

use anyhow::Result;
use bench_core::config::ConfigDir;
use bench_core::load::LoadTool;
use bench_core::load::toolchain::Tool;

/// Which tools.
#[derive(clap::Args)]
pub struct Args {
    /// The tools; those that are built in seconds where left out, which are bombardier and vegeta.
    #[arg(value_parser = tool)]
    tools: Vec<LoadTool>,
}

fn tool(text: &str) -> Result<LoadTool, String> {
    let names = || LoadTool::ALL.map(LoadTool::name).join(", ");
    LoadTool::named(text).ok_or_else(|| format!("give one of {}", names()))
}

/// Finds or builds load tools.
pub fn tools(config: &ConfigDir, args: &Args) -> Result<bool> {
    let is_quick = |tool: &LoadTool| tool.about().build.is_quick();
    let tools: Vec<LoadTool> = match args.tools.as_slice() {
        [] => LoadTool::ALL.into_iter().filter(is_quick).collect(),
        given => given.to_vec(),
    };
    for tool in tools {
        let tool = Tool::find(tool, &config.tools())?;
        bench_core::say!("{} {} at {}", tool.name, tool.version, tool.path.display());
        if let Some(caveat) = tool.caveat() {
            bench_core::say!("note: {caveat}");
        }
    }
    Ok(true)
}
