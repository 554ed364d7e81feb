//! Turns: the messages of a run, numbered without a gap.

use recall_store::{Precondition, Record};
use serde::{Deserialize, Serialize};

use crate::args::Fields;
use crate::change::{Change, Plan, found};
use crate::error::Error;
use crate::head::{Desk, Head};
use crate::limits::{MAX_BRIEF_BYTES, MAX_MESSAGE_ID_BYTES, MAX_NAME_BYTES, MAX_TURN_BYTES};
use crate::objects::Turn;
use crate::outputs;
use crate::records::{Names, Place, read};

const ROLES: [(&str, &str); 4] = [
    ("system", "system"),
    ("user", "user"),
    ("assistant", "assistant"),
    ("tool", "tool"),
];

/// `record_turn`.
#[derive(Debug)]
pub(crate) struct NewTurn {
    role: &'static str,
    content: String,
    name: String,
    message_id: String,
    brief: String,
}

/// What a message became: kept so that the same message is one turn however often it is sent.
#[derive(Debug, Serialize, Deserialize)]
struct Message {
    turn: Turn,
}

pub(crate) fn record(mut fields: Fields) -> Result<NewTurn, Error> {
    let turn = NewTurn {
        role: fields.choice("role", &ROLES)?,
        content: fields.required("content", MAX_TURN_BYTES)?,
        name: fields.string("name", MAX_NAME_BYTES)?.unwrap_or_default(),
        message_id: fields
            .string("message_id", MAX_MESSAGE_ID_BYTES)?
            .unwrap_or_default(),
        brief: fields.string("brief", MAX_BRIEF_BYTES)?.unwrap_or_default(),
    };
    fields.finish()?;
    Ok(turn)
}

impl Change for NewTurn {
    fn needs(&self, names: Names<'_>, head: &Head) -> Vec<Place> {
        let message = (!self.message_id.is_empty()).then(|| names.message(&self.message_id));
        let output = names.output(&outputs::next_reference(head));
        std::iter::once(output).chain(message).collect()
    }

    fn decide(
        &self,
        names: Names<'_>,
        head: &mut Head,
        records: &[Option<Record>],
        desk: &Desk,
    ) -> Result<Plan, Error> {
        if let Some(known) = found(records, 1) {
            let known: Message = read(known)?;
            return Plan::new(Vec::new(), &known.turn);
        }
        let mut writes = Vec::new();
        let (mut content, mut output_ref) = (self.content.clone(), String::new());
        if outputs::over(&content, desk.threshold) {
            output_ref = match found(records, 0) {
                None => outputs::next_reference(head),
                Some(_) => {
                    let salt = outputs::opening(&desk.key, 8);
                    format!("{}-{salt}", outputs::next_reference(head))
                }
            };
            let output = outputs::output(output_ref.clone(), &self.name, &content, desk);
            writes.extend(outputs::keep(
                names,
                head,
                &output,
                desk,
                Precondition::Absent,
            )?);
            content = outputs::shortened(&content, &output_ref);
        }
        head.turn_seq += 1;
        let turn = Turn {
            seq: head.turn_seq,
            role: self.role.to_owned(),
            name: self.name.clone(),
            content,
            message_id: self.message_id.clone(),
            brief: self.brief.clone(),
            output_ref,
            at: desk.now,
        };
        writes.push(names.write(
            names.turn(turn.seq),
            &turn,
            desk.epoch,
            Precondition::Absent,
        )?);
        if !turn.message_id.is_empty() {
            let place = names.message(&turn.message_id);
            let message = Message { turn: turn.clone() };
            writes.push(names.write(place, &message, desk.epoch, Precondition::Absent)?);
        }
        Plan::new(writes, &turn)
    }
}
