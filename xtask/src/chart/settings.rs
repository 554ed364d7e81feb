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
    let settings = rows(table).map(|(kind, body)| {
        let literals = literals(body);
        let name = literals.first().context("a setting has a name")?;
        let help = literals.last().context("a setting has a help text")?;
        Ok(Setting {
            name: name.clone(),
            switch: kind == "switch",
            secret: kind == "secret",
            help: help.clone(),
        })
    });
    settings.collect()
}

/// Each row is a call at the indent of the table, on one line or on several: its name and the rest.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    const INDENT: &str = "\n    ";
    let begins = |at: &usize| {
        let row = table.get(at + INDENT.len()..).unwrap_or_default();
        row.starts_with(|letter: char| letter.is_ascii_lowercase())
    };
    let starts: Vec<usize> = table
        .match_indices(INDENT)
        .map(|(at, _)| at)
        .filter(begins)
        .collect();
    let ends: Vec<usize> = starts
        .iter()
        .skip(1)
        .copied()
        .chain([table.len()])
        .collect();
    starts.into_iter().zip(ends).filter_map(|(start, end)| {
        let row = table.get(start + INDENT.len()..end)?;
        row.split_once('(')
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_on_one_line_is_no_part_of_the_one_before() {
        let table = "\n    value(\n        \"a\",\n        \"A, and\\\n         more\",\n    ),\n    switch(\"b\", \"B\"),\n    secret(\n        \"c\",\n        \"C\",\n    ),";
        let found: Vec<_> = rows(table)
            .map(|(kind, body)| (kind, literals(body)))
            .collect();
        let both = |first: &str, second: &str| vec![first.to_owned(), second.to_owned()];
        assert_eq!(
            found,
            [
                ("value", both("a", "A, andmore")),
                ("switch", both("b", "B")),
                ("secret", both("c", "C"))
            ]
        );
    }
}
