//! The manual and the completions of shells, made from the same description as `--help`.

use std::io::Write;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Cli, ManArgs};

/// Prints the page of the program or of one of its commands, for `man -l -`.
pub(crate) fn man(arguments: &ManArgs) -> anyhow::Result<()> {
    let page = page(arguments.of.as_deref())?;
    // A closed pipe is the reader's choice and no failure.
    let _ = std::io::stdout().write_all(&page);
    Ok(())
}

fn page(of: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let mut program = Cli::command();
    program.build();
    let (command, title) = match of {
        None => (program, "recall".to_owned()),
        Some(name) => {
            let found = program.find_subcommand(name);
            let found = found.with_context(|| format!("there is no command {name}"))?;
            (found.clone(), format!("recall-{name}"))
        }
    };
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command).title(title);
    man.render(&mut page)?;
    Ok(page)
}

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) {
    clap_complete::generate(shell, &mut Cli::command(), "recall", &mut std::io::stdout());
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_command_has_a_page_that_names_its_flags() {
        let program = Cli::command();
        for command in program.get_subcommands() {
            let page = page(Some(command.get_name())).expect("a page");
            let page = String::from_utf8(page).expect("text");
            assert!(page.contains(".SH SYNOPSIS"), "{page}");
        }
        let page = String::from_utf8(page(Some("connect")).expect("a page")).expect("text");
        assert!(page.contains("\\-\\-eager"), "{page}");
        assert!(page.contains("mcpServers"), "{page}");
        assert!(super::page(Some("nothing")).is_err());
    }

    #[test]
    fn every_shell_completes_every_command() {
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "recall", &mut script);
            let script = String::from_utf8(script).expect("text");
            for command in Cli::command()
                .get_subcommands()
                .filter(|it| !it.is_hide_set())
            {
                assert!(
                    script.contains(command.get_name()),
                    "{shell}: {}",
                    command.get_name()
                );
            }
        }
    }
}
