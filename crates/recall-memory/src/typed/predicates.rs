//! `predicates`: what statements may use.

use crate::answer::{Answer, Coverage, count};
use crate::json::Json;
use crate::registry::PredicateInfo;
use crate::view::View;

/// The predicates that new statements may use, by name.
pub(crate) fn list(view: &View) -> Vec<PredicateInfo> {
    let mut list: Vec<PredicateInfo> = view
        .predicates()
        .filter(|predicate| view.takes(&predicate.name))
        .map(|predicate| predicate.definition.info(&predicate.name))
        .collect();
    list.sort_by(|one, two| one.predicate.cmp(&two.predicate));
    list
}

pub(crate) fn answer(view: &View) -> Answer {
    let list = list(view);
    let mut json = Json::default();
    json.array(&list, |json, info| json.object(|json| write(json, info)));
    let known = count(list.len());
    Answer::new(
        json,
        view.revision(),
        list.len(),
        Coverage::of(known, known, known),
    )
}

fn write(json: &mut Json, info: &PredicateInfo) {
    json.key("predicate").string(&info.predicate);
    json.key("cardinality").string(info.cardinality.as_str());
    json.key("value_type").string(info.value_type.as_str());
    json.key("description").string(&info.description);
    if !info.excludes.is_empty() {
        json.key("excludes").strings(&info.excludes);
    }
    if info.historical {
        json.key("historical").bool(true);
    }
}
