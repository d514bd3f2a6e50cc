//! `rpc-bench splice`: the README's headline from a run, or whether the two agree.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rpc_bench::report::{self, Run};
use rpc_bench::results::RunFolder;

/// Which run and which file.
#[derive(clap::Args)]
pub struct Args {
    /// The run's folder; the one that the README quotes where left out.
    run: Option<PathBuf>,
    /// The file.
    #[arg(long, default_value = "README.md")]
    readme: PathBuf,
    /// Change nothing; say whether the file agrees with the run.
    #[arg(long)]
    check: bool,
}

/// Renews the headline, or checks it.
pub fn splice(results: &Path, args: &Args) -> Result<bool> {
    let shown = args.readme.display();
    let text = std::fs::read_to_string(&args.readme).with_context(|| format!("can't read {shown}"))?;
    let run = match &args.run {
        Some(run) => run.clone(),
        None => results.join(report::quoted(&text).with_context(|| format!("{shown} quotes no run"))?),
    };
    let spliced = report::splice(&text, &Run::load(&RunFolder::open(&run)?)?)?;
    match (args.check, spliced.changed) {
        (_, false) => println!("{shown} agrees with {}", run.display()),
        (true, true) => {
            println!("{shown} does not agree with {}; run: just splice {}", run.display(), run.display())
        }
        (false, true) => {
            std::fs::write(&args.readme, spliced.text).with_context(|| format!("can't write {shown}"))?;
            println!("{shown} now quotes {}", run.display());
        }
    }
    Ok(!(args.check && spliced.changed))
}
