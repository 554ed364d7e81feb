//! Outputs: large contents kept whole and named by a reference.

use recall_store::{Precondition, Record, RecordWrite};

use crate::args::Fields;
use crate::change::{Change, Plan, found};
use crate::error::Error;
use crate::head::{Desk, Head};
use crate::limits::{MAX_BRIEF_BYTES, MAX_NAME_BYTES, MAX_OUTPUT_BYTES};
use crate::objects::{Output, OutputRef};
use crate::records::{Names, Place};

/// What a summary shows of a content that came without one, in bytes.
const SUMMARY_BYTES: usize = 200;
/// What stays inline of a content that became an output, in bytes.
const OPENING_BYTES: usize = 400;

/// A rough count of tokens: four bytes each, rounded up.
pub(crate) fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

/// Whether a content is long enough to be stored as an output.
pub(crate) fn over(content: &str, threshold: i64) -> bool {
    u64::try_from(threshold).is_ok_and(|threshold| tokens(content.len()) > threshold)
}

/// The opening of a content and where the rest is.
pub(crate) fn shortened(content: &str, reference: &str) -> String {
    let opening = opening(content, OPENING_BYTES);
    format!(
        "{opening}\n[cut here; all {} tokens are in output {reference}: read it with fetch_output]",
        tokens(content.len())
    )
}

/// At most `limit` bytes, whole characters.
pub(crate) fn opening(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Writes an output: its content by reference, and its place in the order of outputs.
pub(crate) fn keep(
    names: Names<'_>,
    head: &mut Head,
    output: &Output,
    desk: &Desk,
    precondition: Precondition,
) -> Result<[RecordWrite; 2], Error> {
    head.output_seq += 1;
    let place = names.output(&output.head.reference);
    Ok([
        names.write(place, output, desk.epoch, precondition)?,
        names.write(
            names.stored(head.output_seq),
            &output.head,
            desk.epoch,
            Precondition::Absent,
        )?,
    ])
}

/// An output out of a content.
pub(crate) fn output(reference: String, tool: &str, content: &str, desk: &Desk) -> Output {
    let summary = match content.len() <= SUMMARY_BYTES {
        true => content.to_owned(),
        false => format!("{}...", opening(content, SUMMARY_BYTES)),
    };
    Output {
        head: OutputRef {
            reference,
            tool: tool.to_owned(),
            summary,
            tokens: tokens(content.len()),
            at: desk.now,
        },
        content: content.to_owned(),
    }
}

/// The reference of the next output. The counter is the agent's, over all sessions, so a reference
/// never comes twice.
pub(crate) fn next_reference(head: &Head) -> String {
    format!("out-{}-{}", head.turn_seq + 1, head.output_seq + 1)
}

/// `store_output`.
#[derive(Debug)]
pub(crate) struct Store {
    content: String,
    tool: String,
    summary: Option<String>,
    reference: Option<String>,
}

pub(crate) fn store(mut fields: Fields) -> Result<Store, Error> {
    let store = Store {
        content: fields.required("content", MAX_OUTPUT_BYTES)?,
        tool: fields.string("tool", MAX_NAME_BYTES)?.unwrap_or_default(),
        summary: fields.string("summary", MAX_BRIEF_BYTES)?,
        reference: fields.name("ref")?,
    };
    fields.finish()?;
    Ok(store)
}

impl Change for Store {
    fn needs(&self, names: Names<'_>, head: &Head) -> Vec<Place> {
        match &self.reference {
            // What it takes the place of.
            Some(reference) => vec![names.output(reference)],
            None => vec![names.output(&next_reference(head))],
        }
    }

    fn decide(
        &self,
        names: Names<'_>,
        head: &mut Head,
        records: &[Option<Record>],
        desk: &Desk,
    ) -> Result<Plan, Error> {
        let reference = match &self.reference {
            Some(reference) => reference.clone(),
            // A caller may have used that very name for an output of its own.
            None => match found(records, 0) {
                None => next_reference(head),
                Some(_) => format!("{}-{}", next_reference(head), opening(&desk.key, 8)),
            },
        };
        let mut output = output(reference, &self.tool, &self.content, desk);
        if let Some(summary) = &self.summary {
            output.head.summary.clone_from(summary);
        }
        let writes = keep(names, head, &output, desk, Precondition::None)?;
        Plan::new(writes.into(), &output.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_cut_between_characters() {
        assert_eq!(opening("aé", 2), "a");
        assert_eq!(opening("aé", 3), "aé");
        assert_eq!(opening("", 3), "");
    }

    #[test]
    fn the_threshold_is_in_tokens_and_a_negative_one_is_none() {
        for (bytes, threshold, expected) in [
            (40, 10, false),
            (41, 10, true),
            (1 << 20, -1, false),
            (0, 0, false),
            (1, 0, true),
        ] {
            assert_eq!(
                over(&"x".repeat(bytes), threshold),
                expected,
                "{bytes} {threshold}"
            );
        }
    }
}
