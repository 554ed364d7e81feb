//! The settings of the server, read from the source of its table: this crate uses no product crate.

use anyhow::Context;

use crate::shell::root;

const TABLE: &str = "crates/recall-server/src/config/table.rs";

/// A setting of the server.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) switch: bool,
    /// Never in a ConfigMap.
    pub(super) secret: bool,
    pub(super) help: String,
}

pub(super) fn read() -> anyhow::Result<Vec<Setting>> {
    let text = std::fs::read_to_string(root().join(TABLE))?;
    let (_, table) = text
        .split_once("static SETTINGS")
        .context("the server has a table of settings")?;
    let table = table.split("\n];").next().unwrap_or_default();
    // Each row is a call that begins a line, such as `value(` or `switch(`.
    let rows = table.split("\n    ").filter_map(|line| {
        let name = line.trim_end().strip_suffix('(')?;
        let call = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase());
        call.then_some((name == "switch", name == "secret"))
    });
    let bodies = table
        .split("(\n        \"")
        .skip(1)
        .map(|body| format!("\"{body}"));
    let settings = rows.zip(bodies).map(|((switch, secret), body)| {
        let literals = literals(&body);
        let name = literals.first().context("a setting has a name")?;
        let help = literals.last().context("a setting has a help text")?;
        Ok(Setting {
            name: name.clone(),
            switch,
            secret,
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
