//! Reads values.yaml: the settings, their defaults, and the sentence above each.
//!
//! Not a YAML reader: it knows the few forms that this one file is written in, and refuses others.

use anyhow::{Context, bail};

use super::dir;

/// One setting of the chart.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its path, such as `image.tag`.
    pub(super) path: String,
    /// Its default on one line, if it fits on one.
    pub(super) default: Option<String>,
    pub(super) description: String,
}

/// Every setting, in the order of the file.
pub(super) fn read() -> anyhow::Result<Vec<Entry>> {
    parse(&std::fs::read_to_string(dir().join("values.yaml"))?)
}

fn parse(text: &str) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut parents: Vec<(usize, &str)> = Vec::new();
    let mut description: Option<String> = None;
    // Lines indented deeper than this belong to a setting that is described as a whole.
    let mut whole: Option<usize> = None;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if let Some(sentence) = trimmed.strip_prefix("# -- ") {
            anyhow::ensure!(description.is_none(), "line {}: two sentences", number + 1);
            description = Some(sentence.to_owned());
            whole = None;
            continue;
        }
        let outside = trimmed.is_empty() || trimmed.starts_with('#');
        if outside || whole.is_some_and(|depth| indent > depth) {
            continue;
        }
        whole = None;
        let (key, value) = trimmed
            .split_once(':')
            .with_context(|| format!("values.yaml, line {}: no setting", number + 1))?;
        parents.retain(|(depth, _)| *depth < indent);
        let names = parents.iter().map(|(_, name)| *name);
        let path = names.chain([key]).collect::<Vec<_>>().join(".");
        let value = value.trim();
        match description.take() {
            Some(description) => {
                whole = Some(indent);
                let default = (!value.is_empty()).then(|| value.to_owned());
                entries.push(Entry {
                    path,
                    default,
                    description,
                });
            }
            None if value.is_empty() => parents.push((indent, key)),
            None => bail!("values.yaml: {path} has no sentence that starts with `# --`"),
        }
    }
    Ok(entries)
}
