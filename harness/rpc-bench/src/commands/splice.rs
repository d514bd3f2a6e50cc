//! `rpc-bench splice`: works out again all that README.md and docs/*.md quote of runs, and finds figures there that no
//! run stands behind.

use std::path::Path;

use anyhow::{Context, Result};
use bench_report::pages::{self, Page, Sources};
use bench_report::pooled;
use bench_system::text_files::write;

/// Whether to change anything.
#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; say which figures are not what their runs give.
    #[arg(long)]
    check: bool,
}

/// Renews or checks each page. Figures that are bound to no run are found either way; a person must bind them.
pub fn splice(results: &Path, args: &Args) -> Result<bool> {
    let root = Path::new(".");
    let sources = Sources::new(results, root);
    let mut all_well = pooled_is_current(results, args.check)?;
    for path in pages::paths(root)? {
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let page = Page::read(&path)?;
        let spliced = pages::splice(&page, &sources).with_context(|| shown.clone())?;
        let found = pages::unbound(&spliced.page).with_context(|| shown.clone())?;
        for of_line in found.chunk_by(|a, b| a.line == b.line) {
            all_well = false;
            let figures: Vec<&str> = of_line.iter().map(|unbound| unbound.figure.as_str()).collect();
            bench_system::say!(
                "{shown}:{}: bound to no run: {}. Quote a run (docs/METHODOLOGY.md, Figures on pages) or say <!-- not \
                 measured: why -->",
                of_line[0].line,
                figures.join("; ")
            );
        }
        let replaced = if args.check { "replace" } else { "replaced" };
        for pages::Difference { line, printed, recomputed } in &spliced.differences {
            bench_system::say!("{shown}:{line}: {replaced} {printed:?} by {recomputed:?}");
        }
        if args.check {
            all_well &= spliced.differences.is_empty();
        } else if spliced.page != page {
            spliced.page.write(&path)?;
        }
    }
    if !all_well {
        bench_system::say!("The pages don't agree with their runs; `just splice` renews what is quoted.");
    }
    Ok(all_well)
}

/// Whether what was pooled is what the kept runs give now, where it was written at all. Renewing a page writes it again
/// first.
fn pooled_is_current(results: &Path, check: bool) -> Result<bool> {
    if !results.join(pooled::DATA).is_file() {
        return Ok(true);
    }
    let mut current = true;
    for (name, text) in pooled::files(&pooled::load(results)?)? {
        let path = results.join(name);
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        if kept == text {
            continue;
        }
        let shown = path.display();
        if check {
            bench_system::say!("{shown} is not what the kept runs give; run: just compare --all --write");
            current = false;
        } else {
            write(&path, &text)?;
            bench_system::say!("{shown} is written again from the kept runs");
        }
    }
    Ok(current)
}
