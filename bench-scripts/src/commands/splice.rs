//! `rpc-bench splice`: the README's headline from a run, or an answer of docs/WHY.md from a why run; or whether the two agree.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rpc_bench::report::why::WhyRun;
use rpc_bench::report::{self, Run};
use rpc_bench::results::RunFolder;

/// The page that quotes why runs.
const WHY_PAGE: &str = "docs/WHY.md";

/// Which run and which file.
#[derive(clap::Args)]
pub struct Args {
    /// The run's folder; the one that the README quotes where left out.
    run: Option<PathBuf>,
    /// The file; docs/WHY.md for a why run.
    #[arg(long, default_value = "README.md")]
    readme: PathBuf,
    /// Change nothing; say whether the file agrees with the run.
    #[arg(long)]
    check: bool,
}

/// Renews what the file quotes of a run, or checks it.
pub fn splice(results: &Path, args: &Args) -> Result<bool> {
    let read =
        |path: &Path| std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()));
    let run = match &args.run {
        Some(run) => run.clone(),
        None => {
            let text = read(&args.readme)?;
            let quoted = report::quoted(&text);
            results.join(quoted.with_context(|| format!("{} quotes no run", args.readme.display()))?)
        }
    };
    let folder = RunFolder::open(&run)?;
    let asked = args.readme.as_path();
    let path = if folder.is_why() && asked == Path::new("README.md") { Path::new(WHY_PAGE) } else { asked };
    let (shown, text) = (path.display(), read(path)?);
    let spliced = if folder.is_why() {
        report::why::splice(&text, &WhyRun::load(&folder)?)?
    } else {
        report::splice(&text, &Run::load(&folder)?)?
    };
    match (args.check, spliced.changed) {
        (_, false) => println!("{shown} agrees with {}", run.display()),
        (true, true) => {
            println!("{shown} does not agree with {}; run: just splice {}", run.display(), run.display())
        }
        (false, true) => {
            std::fs::write(path, spliced.text).with_context(|| format!("can't write {shown}"))?;
            println!("{shown} now quotes {}", run.display());
        }
    }
    Ok(!(args.check && spliced.changed))
}
