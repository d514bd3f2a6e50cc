//! `rpc-bench completions` and `man`: what shells and `man` read, made from the options themselves.

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::Man;

/// What completes the program's verbs and options.
pub fn completions(mut program: Command, shell: Shell) -> Vec<u8> {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut program, name, &mut script);
    script
}

/// The manual's page of the program, or of one of its verbs.
pub fn page(mut program: Command, verb: Option<&str>) -> Result<Vec<u8>> {
    // Gives each verb the options of all, and its name in full.
    program.build();
    let of = match verb {
        None => &program,
        Some(verb) => {
            let found = program.find_subcommand(verb);
            found.with_context(|| format!("there is no verb {verb:?}; rpc-bench --help lists them"))?
        }
    };
    let mut page = Vec::new();
    Man::new(of.clone()).render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn each_verb_is_completed_and_has_a_page() {
        let script = text(completions(Cli::command(), Shell::Bash));
        let program = Cli::command();
        for verb in program.get_subcommands().map(clap::Command::get_name) {
            assert!(script.contains(&format!("rpc__bench__subcmd__{verb}")), "{verb}");
            let page = text(page(Cli::command(), Some(verb)).unwrap());
            assert!(
                page.contains(&format!(".TH rpc-bench-{verb}")) && page.contains("\\-\\-results"),
                "{page}"
            );
        }
        assert!(text(page(Cli::command(), Some("gate")).unwrap()).contains("\\-\\-base\\-rev"));
        assert!(text(page(Cli::command(), None).unwrap()).contains("rpc\\-bench\\-gate"));
        assert!(page(Cli::command(), Some("fly")).unwrap_err().to_string().contains("\"fly\""));
    }

    #[test]
    fn bash_reads_its_script() {
        let Ok(mut bash) = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn() else { return };
        bash.stdin.take().unwrap().write_all(&completions(Cli::command(), Shell::Bash)).unwrap();
        assert!(bash.wait().unwrap().success());
    }
}
