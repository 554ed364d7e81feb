//! What the store holds in the end, read from an export.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde_json::Value;

/// The agents of a store.
pub type Stored = BTreeMap<String, Kept>;

/// What is kept of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// By number.
    pub turns: Vec<Written>,
    /// The versions of the working state; the text is the notes.
    pub states: Vec<Written>,
    /// The outputs by reference; numbers mean nothing here.
    pub outputs: BTreeMap<String, Written>,
    /// The actions by number.
    pub actions: BTreeMap<u64, KeptAction>,
}

/// A record that is written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its number.
    pub seq: u64,
    /// The epoch it was written under.
    pub epoch: u64,
    /// What its writer made it known by.
    pub text: String,
}

/// An action as it was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAction {
    /// Its arguments.
    pub job: String,
    /// Its key.
    pub key: String,
    /// How far it came.
    pub status: String,
    /// What it came to.
    pub result: String,
}

/// Reads what `recall-server export` wrote.
///
/// # Errors
///
/// If it is not a whole export.
pub fn read(export: &str) -> anyhow::Result<Stored> {
    let (mut stored, mut namespace, mut whole) = (Stored::new(), String::new(), false);
    for line in export.lines() {
        let line: Value = serde_json::from_str(line).context("a line of an export")?;
        if let Some(name) = line["namespace"].as_str() {
            name.clone_into(&mut namespace);
        }
        whole |= !line["end"].is_null();
        let record = &line["record"];
        // Ids of messages and the order of outputs have keys of other shapes.
        let name = record["key"].as_str().and_then(|key| key.split_once(':'));
        if let Some((agent, _)) = name {
            let kept = stored.entry(format!("{namespace}/{agent}")).or_default();
            keep(kept, record)?;
        }
    }
    ensure!(whole, "the export has no end");
    for kept in stored.values_mut() {
        kept.turns.sort_by_key(|turn| turn.seq);
        kept.states.sort_by_key(|state| state.seq);
    }
    Ok(stored)
}

fn keep(kept: &mut Kept, record: &Value) -> anyhow::Result<()> {
    let body = &record["body"];
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| {
        body[name]
            .as_u64()
            .with_context(|| format!("a record without {name}: {record}"))
    };
    let written = |seq, name: &str| {
        Ok::<_, anyhow::Error>(Written {
            seq,
            epoch: number("epoch")?,
            text: text(name),
        })
    };
    match record["kind"].as_str() {
        Some("turn") => kept.turns.push(written(number("seq")?, "content")?),
        Some("working_state") => kept.states.push(written(number("version")?, "notes")?),
        Some("output") => drop(kept.outputs.insert(text("ref"), written(0, "content")?)),
        Some("action") => {
            let action = KeptAction {
                job: text("args"),
                key: text("key"),
                status: text("status"),
                result: text("result"),
            };
            kept.actions.insert(number("seq")?, action);
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPORT: &str = r##"{"recall_export":{"version":1,"at":"2026-01-01T00:00:00Z"}}
{"namespace":"team:a"}
{"record":{"kind":"agent_head","key":"coder","body":{"turn_seq":1}}}
{"record":{"kind":"turn","key":"coder:000000000001","body":{"seq":1,"content":"c","epoch":3}}}
{"record":{"kind":"turn","key":"coder#0f","body":{"turn":{"seq":1},"epoch":3}}}
{"record":{"kind":"working_state","key":"coder:000000000001","body":{"version":1,"notes":"n","epoch":3}}}
{"record":{"kind":"output","key":"coder:out-1-1","body":{"ref":"out-1-1","content":"o","epoch":3}}}
{"record":{"kind":"output","key":"coder@000000000001","body":{"ref":"out-1-1","epoch":3}}}
{"record":{"kind":"action","key":"coder:000000000001","body":{"seq":1,"args":"j","key":"k","status":"done","result":"r","epoch":4}}}
{"end":{"namespaces":1,"events":0,"records":6}}"##;

    #[test]
    fn an_export_is_read_by_agent() {
        let stored = read(EXPORT).expect("an export");
        assert_eq!(stored.len(), 1);
        let kept = &stored["team:a/coder"];
        let texts = |written: &[Written]| -> Vec<_> {
            written
                .iter()
                .map(|w| (w.seq, w.epoch, w.text.clone()))
                .collect()
        };
        assert_eq!(texts(&kept.turns), [(1, 3, "c".to_owned())]);
        assert_eq!(texts(&kept.states), [(1, 3, "n".to_owned())]);
        assert_eq!(kept.outputs["out-1-1"].text, "o");
        assert_eq!(kept.actions[&1].status, "done");
    }

    #[test]
    fn half_an_export_is_none() {
        let (half, _) = EXPORT.rsplit_once('\n').expect("lines");
        assert!(read(half).is_err());
    }
}
