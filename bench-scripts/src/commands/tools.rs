//! `rpc-bench tools`: find or build the load tool, and say which it is.

use anyhow::Result;
use rpc_bench::config::ConfigDir;
use rpc_bench::load::toolchain::Tool;

/// Finds or builds the load tool.
pub fn tools(config: &ConfigDir) -> Result<bool> {
    let tool = Tool::bombardier(&config.0.join("tools"))?;
    println!("{} {} at {}", tool.name, tool.version, tool.path.display());
    if let Some(caveat) = tool.caveat() {
        println!("note: {caveat}");
    }
    Ok(true)
}
