//! The ledger of actions: noted before a tool runs, closed after, settled when their owner is gone.

use recall_store::{Precondition, Record, RecordWrite};

use crate::args::Fields;
use crate::change::{Change, Plan, found};
use crate::error::Error;
use crate::head::{Desk, Head};
use crate::limits::{MAX_NAME_BYTES, MAX_OPEN_ACTIONS, MAX_OUTPUT_BYTES, MAX_TEXT_BYTES};
use crate::objects::{Action, Class, Status};
use crate::outputs;
use crate::records::{Names, Place, read};

const CLASSES: [(&str, Class); 3] = [
    ("pure", Class::Pure),
    ("idempotent", Class::Idempotent),
    ("external", Class::External),
];
const ENDS: [(&str, Status); 4] = [
    ("done", Status::Done),
    ("failed", Status::Failed),
    ("abandoned", Status::Abandoned),
    ("unknown", Status::Unknown),
];

/// `begin_action`.
#[derive(Debug)]
pub(crate) struct Begin {
    tool: String,
    class: Class,
    args: String,
}

/// `end_action`.
#[derive(Debug)]
pub(crate) struct End {
    seq: u64,
    status: Status,
    result: String,
    error: String,
    resolution: String,
}

pub(crate) fn begin(mut fields: Fields) -> Result<Begin, Error> {
    let begin = Begin {
        tool: fields.word("tool", MAX_NAME_BYTES)?,
        class: fields.choice("class", &CLASSES)?,
        args: fields.string("args", MAX_OUTPUT_BYTES)?.unwrap_or_default(),
    };
    fields.finish()?;
    Ok(begin)
}

pub(crate) fn end(mut fields: Fields) -> Result<End, Error> {
    let seq = fields
        .whole("seq")?
        .ok_or_else(|| Error::refused("seq is required"))?;
    let end = End {
        seq: u64::try_from(seq).map_err(|_| no_action(seq))?,
        status: fields.choice("status", &ENDS)?,
        result: fields
            .string("result", MAX_OUTPUT_BYTES)?
            .unwrap_or_default(),
        error: fields.string("error", MAX_TEXT_BYTES)?.unwrap_or_default(),
        resolution: fields
            .string("resolution", MAX_TEXT_BYTES)?
            .unwrap_or_default(),
    };
    fields.finish()?;
    Ok(end)
}

fn no_action(seq: impl std::fmt::Display) -> Error {
    Error::refused(format!("there is no action {seq}"))
}

/// Stores a long text as an output of this name; answers what stays inline and the reference.
fn shorten(
    names: Names<'_>,
    head: &mut Head,
    text: &str,
    (reference, tool): (String, &str),
    desk: &Desk,
    writes: &mut Vec<RecordWrite>,
) -> Result<(String, String), Error> {
    if !outputs::over(text, desk.threshold) {
        return Ok((text.to_owned(), String::new()));
    }
    let output = outputs::output(reference.clone(), tool, text, desk);
    writes.extend(outputs::keep(
        names,
        head,
        &output,
        desk,
        Precondition::None,
    )?);
    Ok((outputs::shortened(text, &reference), reference))
}

impl Change for Begin {
    fn needs(&self, _: Names<'_>, _: &Head) -> Vec<Place> {
        Vec::new()
    }

    fn decide(
        &self,
        names: Names<'_>,
        head: &mut Head,
        _: &[Option<Record>],
        desk: &Desk,
    ) -> Result<Plan, Error> {
        if head.open.len() >= MAX_OPEN_ACTIONS {
            let text = format!(
                "an agent may have at most {MAX_OPEN_ACTIONS} open actions; end some with end_action"
            );
            return Err(Error::refused(text));
        }
        head.action_seq += 1;
        let seq = head.action_seq;
        let mut writes = Vec::new();
        let place = (format!("act-{seq}-args"), self.tool.as_str());
        let (args, args_ref) = shorten(names, head, &self.args, place, desk, &mut writes)?;
        let action = Action {
            seq,
            tool: self.tool.clone(),
            class: self.class,
            args,
            key: desk.key.clone(),
            status: Status::Started,
            result: String::new(),
            error: String::new(),
            args_ref,
            result_ref: String::new(),
            resolution: String::new(),
            epoch: desk.epoch,
            started_at: desk.now,
            ended_at: None,
        };
        head.open.push(seq);
        writes.push(names.write(names.action(seq), &action, desk.epoch, Precondition::Absent)?);
        Plan::new(writes, &action)
    }
}

impl Change for End {
    fn needs(&self, names: Names<'_>, _: &Head) -> Vec<Place> {
        vec![names.action(self.seq)]
    }

    fn decide(
        &self,
        names: Names<'_>,
        head: &mut Head,
        records: &[Option<Record>],
        desk: &Desk,
    ) -> Result<Plan, Error> {
        let mut action: Action = match found(records, 0) {
            Some(record) => read(record)?,
            None => return Err(no_action(self.seq)),
        };
        if !action.status.open() {
            let text = format!(
                "action {} has ended already: {}",
                self.seq,
                action.status.as_str()
            );
            return Err(Error::refused(text));
        }
        let mut writes = Vec::new();
        let place = (format!("act-{}-result", self.seq), action.tool.as_str());
        let (result, result_ref) = shorten(names, head, &self.result, place, desk, &mut writes)?;
        action.result = result;
        action.result_ref = result_ref;
        action.error.clone_from(&self.error);
        action.resolution.clone_from(&self.resolution);
        close(&mut action, self.status, desk, head);
        writes.push(names.write(
            names.action(self.seq),
            &action,
            desk.epoch,
            Precondition::None,
        )?);
        Plan::new(writes, &action)
    }
}

fn close(action: &mut Action, status: Status, desk: &Desk, head: &mut Head) {
    action.status = status;
    action.epoch = desk.epoch;
    if !status.open() {
        action.ended_at = Some(desk.now);
        head.open.retain(|open| *open != action.seq);
    }
}

/// What becomes of the actions that an owner left open. `whole` is said when the owner is another:
/// if it is the same session after a restart of its process, its pure actions stay, for a second
/// process of the session may still run them, and nothing is lost if they run twice.
pub(crate) fn settle(
    names: Names<'_>,
    head: &mut Head,
    open: Vec<Action>,
    desk: &Desk,
    whole: bool,
) -> Result<Vec<RecordWrite>, Error> {
    let mut writes = Vec::new();
    for mut action in open {
        let (status, resolution) = match (action.class, action.status) {
            (Class::Pure, Status::Started | Status::Unknown) if whole => (
                Status::Abandoned,
                "its process ended before the action did; it only reads, so run it again if needed",
            ),
            (Class::External, Status::Started) => (
                Status::Unknown,
                "its process ended before the action did; it may or may not have happened",
            ),
            _ => continue,
        };
        resolution.clone_into(&mut action.resolution);
        close(&mut action, status, desk, head);
        writes.push(names.write(
            names.action(action.seq),
            &action,
            desk.epoch,
            Precondition::None,
        )?);
    }
    Ok(writes)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn action(seq: u64, class: Class, status: Status) -> Action {
        Action {
            seq,
            tool: "t".to_owned(),
            class,
            args: String::new(),
            key: "k".to_owned(),
            status,
            result: String::new(),
            error: String::new(),
            args_ref: String::new(),
            result_ref: String::new(),
            resolution: String::new(),
            epoch: 1,
            started_at: Timestamp::UNIX_EPOCH,
            ended_at: None,
        }
    }

    #[track_caller]
    fn check(class: Class, whole: bool, expected: Option<Status>) {
        let agent = "a".parse().expect("an agent");
        let desk = Desk {
            now: Timestamp::UNIX_EPOCH,
            key: String::new(),
            epoch: 2,
            threshold: -1,
        };
        let mut head = Head {
            open: vec![7],
            ..Head::default()
        };
        let open = vec![action(7, class, Status::Started)];
        let writes = settle(Names(&agent), &mut head, open, &desk, whole).expect("writes");
        let settled = writes
            .first()
            .and_then(|write| write.body.as_ref())
            .map(|body| {
                let action: Action = serde_json::from_slice(body).expect("an action");
                assert_eq!(action.key, "k", "the key stays");
                action.status
            });
        assert_eq!(settled, expected, "{class:?}");
        assert_eq!(head.open.is_empty(), expected == Some(Status::Abandoned));
    }

    #[test]
    fn an_owner_that_is_gone_leaves_actions_settled_by_class() {
        check(Class::Pure, true, Some(Status::Abandoned));
        check(Class::External, true, Some(Status::Unknown));
        check(Class::Idempotent, true, None);
        check(Class::Pure, false, None);
        check(Class::External, false, Some(Status::Unknown));
        check(Class::Idempotent, false, None);
    }
}
