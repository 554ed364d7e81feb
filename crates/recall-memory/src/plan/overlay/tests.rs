use super::*;
use crate::plan::Author;
use crate::plan::remember::withdrawal;
use crate::registry::Registry;

fn instant(second: u8) -> Timestamp {
    format!("2026-01-01T00:00:{second:02}Z").parse().unwrap()
}

fn placed(second: u8) -> Placed {
    let (subject, predicate) = (Arc::from("ann"), Arc::from("lives_in"));
    Placed {
        event: withdrawal("ann", "lives_in", None, instant(second), instant(59)),
        subject,
        predicate,
        written_by: None,
        session: None,
    }
}

/// What a draft writes of withdrawals at these seconds, on a log that has some.
fn written(log: &[u8], pushed: &[u8]) -> Vec<Timestamp> {
    let mut view = View::new(Arc::new(Registry::open()));
    view.apply(log.iter().copied().map(placed));
    let mut stamp = Stamp::new(instant(59), &view, Author::nobody());
    let mut draft = Draft::new(&view, &mut stamp);
    for second in pushed {
        let Placed {
            subject,
            predicate,
            event,
            ..
        } = placed(*second);
        draft.push(&subject, &predicate, event);
    }
    let events = draft.into_events();
    events.iter().map(|placed| placed.event.observed).collect()
}

#[test]
fn an_id_is_written_once() {
    let at = |seconds: &[u8]| -> Vec<_> { seconds.iter().copied().map(instant).collect() };
    assert_eq!(written(&[], &[1, 2, 1]), at(&[1, 2]));
    assert_eq!(written(&[5], &[4, 5, 6]), at(&[4, 6]));
    // The log need not be in the order of what it tells.
    assert_eq!(written(&[5, 9, 3], &[3, 9, 5, 4]), at(&[4]));
}
