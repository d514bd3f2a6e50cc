//! `rpc-bench splice`: writes the blocks of README.md, docs/*.md and results/README.md again that show runs.

use std::path::Path;

use anyhow::{Context, Result};
use bench_core::text_files;
use bench_report::pages::{self, Difference, Sources};

/// Whether to change anything.
#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; say which blocks are not what their runs give.
    #[arg(long)]
    check: bool,
}

/// Renews or checks each page.
pub fn splice(results: &Path, args: &Args) -> Result<bool> {
    let root = Path::new(".");
    let mut sources = Sources::new(results)?;
    let mut is_current = true;
    for path in pages::paths(root)? {
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = text_files::read(&path)?;
        let (spliced, differences) =
            pages::splice(&text, pages::to_results(&path), &mut sources).with_context(|| shown.clone())?;
        for Difference { line, printed, recomputed } in &differences {
            let replaced = if args.check { "replace" } else { "replaced" };
            bench_core::say!("{shown}:{line}: {replaced} {printed:?} by {recomputed:?}");
        }
        if args.check {
            is_current &= differences.is_empty();
        } else if spliced != text {
            text_files::write(&path, &spliced)?;
        }
    }
    if !is_current {
        bench_core::say!("The pages don't agree with their runs; renew them with: just splice");
    }
    Ok(is_current)
}
