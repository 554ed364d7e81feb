//! The settings of the server, read from the source of its table: this crate uses no product crate.

use anyhow::Context;

use crate::shell::root;

const TABLE: &str = "crates/recall-server/src/config/table.rs";

/// A setting of the server.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) switch: bool,
    pub(super) help: String,
}

pub(super) fn read() -> anyhow::Result<Vec<Setting>> {
    let text = std::fs::read_to_string(root().join(TABLE))?;
    let (_, table) = text
        .split_once("static SETTINGS:")
        .context("the server has a table of settings")?;
    let rows = table.split("\n    ").filter_map(|line| {
        let switch = line.starts_with("switch(");
        (switch || line.starts_with("value(")).then_some(switch)
    });
    let starts = table
        .match_indices("\n    value(")
        .chain(table.match_indices("\n    switch("));
    let mut starts: Vec<usize> = starts.map(|(at, _)| at).collect();
    starts.sort_unstable();
    let ends = starts.iter().skip(1).copied().chain([table.len()]);
    let bodies = starts
        .iter()
        .zip(ends)
        .map(|(start, end)| table.get(*start..end));
    let settings = rows.zip(bodies).map(|(switch, body)| {
        let literals = literals(body.unwrap_or_default());
        let name = literals.first().context("a setting has a name")?;
        let help = literals.last().context("a setting has a help text")?;
        Ok(Setting {
            name: name.clone(),
            switch,
            help: help.clone(),
        })
    });
    settings.collect()
}

/// The string literals of a piece of Rust, in their order.
fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut letters = text.chars().peekable();
    while letters.any(|letter| letter == '"') {
        let mut literal = String::new();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => break,
                '\\' => match letters.next() {
                    // A line that goes on on the next.
                    Some('\n') => {
                        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
                    }
                    Some(escaped) => literal.push(escaped),
                    None => break,
                },
                other => literal.push(other),
            }
        }
        found.push(literal);
    }
    found
}
