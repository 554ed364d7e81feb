//! The working state: merged field by field, versioned when it changes.

use recall_store::{Precondition, Record};

use crate::args::Fields;
use crate::change::{Change, Plan, found};
use crate::error::Error;
use crate::head::{Desk, Head};
use crate::limits::{MAX_ENTRY_BYTES, MAX_LIST, MAX_NAME_BYTES, MAX_TEXT_BYTES};
use crate::objects::WorkingState;
use crate::records::{Names, Place, read};

/// An update: what it names replaces, the rest stays.
#[derive(Debug, Default)]
pub(crate) struct Update {
    goal: Option<String>,
    plan: Option<Vec<String>>,
    progress: Option<String>,
    focus: Option<String>,
    decisions: Option<Vec<String>>,
    open_questions: Option<Vec<String>>,
    notes: Option<String>,
    step: Option<u64>,
    milestone: Option<String>,
}

pub(crate) fn update(mut fields: Fields) -> Result<Update, Error> {
    let step = fields.whole("step")?.map(u64::try_from).transpose();
    let update = Update {
        goal: fields.string("goal", MAX_TEXT_BYTES)?,
        plan: fields.list("plan", MAX_LIST, MAX_ENTRY_BYTES)?,
        progress: fields.string("progress", MAX_TEXT_BYTES)?,
        focus: fields.string("focus", MAX_TEXT_BYTES)?,
        decisions: fields.list("decisions", MAX_LIST, MAX_ENTRY_BYTES)?,
        open_questions: fields.list("open_questions", MAX_LIST, MAX_ENTRY_BYTES)?,
        notes: fields.string("notes", MAX_TEXT_BYTES)?,
        step: step.map_err(|_| Error::refused("step must not be negative"))?,
        milestone: None,
    };
    fields.finish()?;
    Ok(update)
}

pub(crate) fn milestone(mut fields: Fields) -> Result<Update, Error> {
    let update = Update {
        milestone: Some(fields.word("name", MAX_NAME_BYTES)?),
        progress: fields.string("progress", MAX_TEXT_BYTES)?,
        ..Update::default()
    };
    fields.finish()?;
    Ok(update)
}

impl Update {
    fn apply(&self, state: &mut WorkingState) {
        replace(&mut state.goal, self.goal.as_ref());
        replace(&mut state.plan, self.plan.as_ref());
        replace(&mut state.progress, self.progress.as_ref());
        replace(&mut state.focus, self.focus.as_ref());
        replace(&mut state.decisions, self.decisions.as_ref());
        replace(&mut state.open_questions, self.open_questions.as_ref());
        replace(&mut state.notes, self.notes.as_ref());
        replace(&mut state.step, self.step.as_ref());
        replace(&mut state.last_milestone, self.milestone.as_ref());
    }
}

fn replace<T: Clone>(old: &mut T, new: Option<&T>) {
    if let Some(new) = new {
        *old = new.clone();
    }
}

impl Change for Update {
    fn needs(&self, names: Names<'_>, _: &Head) -> Vec<Place> {
        vec![names.working_state()]
    }

    fn decide(
        &self,
        names: Names<'_>,
        head: &mut Head,
        records: &[Option<Record>],
        desk: &Desk,
    ) -> Result<Plan, Error> {
        let before: WorkingState = found(records, 0).map(read).transpose()?.unwrap_or_default();
        let mut after = before.clone();
        self.apply(&mut after);
        if after == before {
            return Plan::new(Vec::new(), &before);
        }
        head.version = head.version.max(before.version) + 1;
        after.version = head.version;
        after.turn_seq = head.turn_seq;
        after.action_seq = head.action_seq;
        after.updated_at = Some(desk.now);
        let writes = vec![
            names.write(
                names.working_state(),
                &after,
                desk.epoch,
                Precondition::None,
            )?,
            names.write(
                names.version(after.version),
                &after,
                desk.epoch,
                Precondition::Absent,
            )?,
        ];
        Plan::new(writes, &after)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(before: Value, arguments: Value, expected: Value) {
        let Value::Object(arguments) = arguments else {
            panic!("an object")
        };
        let outcome = update(Fields::new(arguments)).map(|update| {
            let mut state: WorkingState = serde_json::from_value(before).expect("a state");
            update.apply(&mut state);
            serde_json::to_value(state).expect("JSON")
        });
        let outcome = outcome.unwrap_or_else(|error| error.to_string().into());
        assert_eq!([outcome], [expected]);
    }

    #[test]
    fn fields_replace_and_the_rest_stays() {
        let before = json!({"goal": "g", "plan": ["a"], "step": 2, "version": 3});
        check(before.clone(), json!({}), before.clone());
        check(before.clone(), json!({"goal": null}), before.clone());
        check(
            before.clone(),
            json!({"goal": "", "plan": [], "step": 0, "notes": "n"}),
            json!({"notes": "n", "version": 3}),
        );
        check(
            before.clone(),
            json!({"bogus": 1}),
            "unknown field bogus".into(),
        );
        check(
            before.clone(),
            json!({"step": -1}),
            "step must not be negative".into(),
        );
        check(
            before.clone(),
            json!({"step": 1.5}),
            "step must be a whole number, got 1.5".into(),
        );
        check(
            before.clone(),
            json!({"plan": "x"}),
            "plan must be a list of strings, got a string".into(),
        );
        check(
            before,
            json!({"plan": [1]}),
            "plan must be a list of strings, got a number".into(),
        );
    }

    #[test]
    fn an_update_that_changes_nothing_makes_no_version() {
        let agent = "a".parse().expect("an agent");
        let names = Names(&agent);
        let desk = Desk {
            now: Timestamp::UNIX_EPOCH,
            key: String::new(),
            epoch: 1,
            threshold: -1,
        };
        let mut head = Head::default();
        let goal = Update {
            goal: Some("g".to_owned()),
            ..Update::default()
        };
        let first = goal
            .decide(names, &mut head, &[None], &desk)
            .expect("a plan");
        assert_eq!((first.writes.len(), head.version), (2, 1));
        let written = first.writes.first().expect("the state");
        let stored = Record {
            key: written.key.clone(),
            version: recall_store::Version(1),
            body: written.body.clone().expect("a body"),
        };
        let again = goal
            .decide(names, &mut head, &[Some(stored)], &desk)
            .expect("a plan");
        assert_eq!((again.writes.len(), head.version), (0, 1));
        assert_eq!(again.answer, first.answer);
    }
}
