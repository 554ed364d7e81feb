//! Loading what a briefing is made of.

use recall_store::{LeaseState, RecordKind};
use serde_json::Value;

use crate::agents::{Inner, Seat};
use crate::briefing::{self, Material};
use crate::error::Error;
use crate::head::{Head, Settings};
use crate::limits::{MAX_CONSIDERED, MAX_MEMORIES};
use crate::objects::{OutputRef, WorkingState};
use crate::ownership::holder_words;
use crate::records::read;
use crate::session::Session;

impl Inner {
    /// The context of a resume, for the owner or a reader.
    pub(crate) async fn context(
        &self,
        seat: &Seat,
        session: &Session,
        head: &Head,
    ) -> Result<Value, Error> {
        let hold = head.hold_of(session);
        let settings = hold
            .map(|hold| hold.settings.clone())
            .or_else(|| self.deferral(seat, session))
            .unwrap_or_else(|| Settings::of(session));
        let record = self.get(seat, &seat.names().working_state()).await?;
        let state: Option<WorkingState> = record.as_ref().map(read).transpose()?;
        let material = Material {
            agent: seat.agent.to_string(),
            fresh: head.fresh(),
            epoch: hold.map(|hold| hold.epoch),
            turn_seq: head.turn_seq,
            budget: settings.token_budget,
            pending: self.pending(seat, head).await?,
            pointers: self.pointers(seat).await?,
            turns: self
                .tail(seat, RecordKind::Turn, head.turn_seq, MAX_CONSIDERED)
                .await?,
            outputs: self.outputs(seat, head).await?,
            output_count: head.output_seq,
            memories: self.memories(seat, state.as_ref()).await?,
            state,
        };
        let mut context = briefing::build(&material);
        if hold.is_none() {
            self.name_holder(seat, &mut context).await?;
        }
        Ok(context)
    }

    /// Tells a reader who has the agent now, and until when.
    async fn name_holder(&self, seat: &Seat, context: &mut Value) -> Result<(), Error> {
        let lease = self.store.inspect(&seat.ns, seat.agent.as_str()).await?;
        if let Some(LeaseState { grant, live: true }) = lease {
            context["held_by"] = holder_words(&grant).into();
            context["held_until"] = grant.expires_at.to_string().into();
        }
        Ok(())
    }

    /// The newest outputs, newest first, each once.
    async fn outputs(&self, seat: &Seat, head: &Head) -> Result<Vec<OutputRef>, Error> {
        let last = head.output_seq;
        let mut outputs: Vec<OutputRef> = self
            .tail(seat, RecordKind::Output, last, MAX_CONSIDERED)
            .await?;
        outputs.reverse();
        let mut seen = std::collections::HashSet::new();
        outputs.retain(|output| seen.insert(output.reference.clone()));
        Ok(outputs)
    }

    async fn memories(
        &self,
        seat: &Seat,
        state: Option<&WorkingState>,
    ) -> Result<Vec<Value>, Error> {
        let Some(question) = state.and_then(question) else {
            return Ok(Vec::new());
        };
        let mut found = self
            .memory
            .relevant(&seat.ns, &question, MAX_MEMORIES)
            .await?;
        // How long ago something was said changes by itself; equal states brief equally.
        for belief in found.iter_mut().filter_map(Value::as_object_mut) {
            belief.remove("days_ago");
        }
        Ok(found)
    }
}

/// What to search the memory for: the focus and the open questions, else the goal.
fn question(state: &WorkingState) -> Option<String> {
    let mut words = vec![state.focus.as_str()];
    words.extend(state.open_questions.iter().map(String::as_str));
    words.retain(|words| !words.trim().is_empty());
    if words.is_empty() && !state.goal.trim().is_empty() {
        words.push(&state.goal);
    }
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(goal: &str, focus: &str, questions: &[&str], expected: Option<&str>) {
        let state = WorkingState {
            goal: goal.to_owned(),
            focus: focus.to_owned(),
            open_questions: questions.iter().copied().map(str::to_owned).collect(),
            ..WorkingState::default()
        };
        assert_eq!(question(&state).as_deref(), expected);
    }

    #[test]
    fn the_memory_is_asked_for_what_is_in_focus() {
        check("g", "f", &["q"], Some("f q"));
        check("g", " ", &["q"], Some("q"));
        check("g", "", &[], Some("g"));
        check(" ", "", &[], None);
    }
}
