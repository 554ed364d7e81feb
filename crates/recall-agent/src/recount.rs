//! What another program left behind: it writes the same records and keeps no head.

use std::collections::HashSet;

use recall_store::{Precondition, RecordKind, RecordWrite};

use crate::agents::{Inner, Seat};
use crate::error::Error;
use crate::head::Head;
use crate::limits::MAX_POINTERS;
use crate::objects::{Action, OutputRef, Pointer, Turn, WorkingState};
use crate::records::{list, read};

impl Inner {
    /// Brings the counters of an agent that passes on up to what is there. Answers what has to be
    /// written for it: the order of the outputs, which such a program does not keep. A store that is
    /// ours alone holds nothing of others.
    pub(crate) async fn recount(
        &self,
        seat: &Seat,
        head: &mut Head,
    ) -> Result<Vec<RecordWrite>, Error> {
        if self.store.capabilities().exclusive {
            return Ok(Vec::new());
        }
        let (store, ns, names) = (&*self.store, &seat.ns, seat.names());
        let (prefix, every) = (names.prefix(), u64::MAX);
        let after = Some(names.turn(head.turn_seq).key);
        let turns: Vec<Turn> = list(store, ns, RecordKind::Turn, &prefix, after, every).await?;
        head.turn_seq = turns.last().map_or(head.turn_seq, |turn| turn.seq);
        let after = Some(names.action(head.action_seq).key);
        let actions: Vec<Action> =
            list(store, ns, RecordKind::Action, &prefix, after, every).await?;
        head.action_seq = actions.last().map_or(head.action_seq, |action| action.seq);
        let open = actions.iter().filter(|action| action.status.open());
        head.open.extend(open.map(|action| action.seq));
        let pointers: Vec<Pointer> =
            list(store, ns, RecordKind::Pointer, &prefix, None, every).await?;
        head.pointers = u32::try_from(pointers.len()).unwrap_or(MAX_POINTERS);
        if let Some(record) = self.get(seat, &names.working_state()).await? {
            head.version = head.version.max(read::<WorkingState>(&record)?.version);
        }
        self.order_outputs(seat, head).await
    }

    /// Numbers the outputs that have no number yet, by age.
    async fn order_outputs(&self, seat: &Seat, head: &mut Head) -> Result<Vec<RecordWrite>, Error> {
        let (store, ns, names) = (&*self.store, &seat.ns, seat.names());
        let (kind, every) = (RecordKind::Output, u64::MAX);
        let mut outputs: Vec<OutputRef> =
            list(store, ns, kind, &names.prefix(), None, every).await?;
        let numbered = format!("{}@", seat.agent);
        let known: Vec<OutputRef> = list(store, ns, kind, &numbered, None, every).await?;
        let known: HashSet<&str> = known
            .iter()
            .map(|output| output.reference.as_str())
            .collect();
        outputs.retain(|output| !known.contains(output.reference.as_str()));
        outputs.sort_by(|a, b| (a.at, &a.reference).cmp(&(b.at, &b.reference)));
        let epoch = head.hold.as_ref().map_or(0, |hold| hold.epoch);
        let mut writes = Vec::with_capacity(outputs.len());
        for output in outputs {
            head.output_seq += 1;
            let place = names.stored(head.output_seq);
            writes.push(names.write(place, &output, epoch, Precondition::Absent)?);
        }
        Ok(writes)
    }
}
