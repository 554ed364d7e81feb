use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::*;
use crate::decide::proof;
use crate::kube::answer::parse;

const EXTRA: &str = "authentication.kubernetes.io";

fn good() -> Value {
    json!({
        "kind": "TokenReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {},
        "spec": { "audiences": ["recall"], "token": "secret" },
        "status": {
            "authenticated": true,
            "audiences": ["recall"],
            "user": {
                "username": "system:serviceaccount:agents:runner",
                "uid": "u-1",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:agents"],
                "extra": {
                    "authentication.kubernetes.io/pod-name": ["demo-1"],
                    "authentication.kubernetes.io/pod-uid": ["p-1"],
                },
            },
        },
    })
}

/// Any JSON, with a bias to the words that matter.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("recall".to_owned()),
        Just("authenticated".to_owned()),
        Just("system:serviceaccount:agents:runner".to_owned()),
        "\\PC{0,8}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(word.clone(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The places of all values inside `value`.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, inner)| (format!("{at}/{}", escaped(name)), inner))
            .for_each(|(place, inner)| places(inner, &place, found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(n, inner)| places(inner, &format!("{at}/{n}"), found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found.push(at.to_owned());
}

/// What must hold in the plain JSON of a review that proves anything.
fn proves(review: &Value) -> bool {
    let (status, user) = (&review["status"], &review["status"]["user"]);
    let has = |list: &Value, text: &str| list.as_array().is_some_and(|l| l.contains(&json!(text)));
    let one = |key: &str| {
        let list = user["extra"][format!("{EXTRA}/{key}")].as_array();
        list.is_some_and(|list| list.len() == 1 && list[0].as_str().is_some_and(|t| !t.is_empty()))
    };
    let name = user["username"]
        .as_str()
        .and_then(|n| n.strip_prefix("system:serviceaccount:"));
    let namespace = name
        .and_then(|name| name.split_once(':'))
        .map(|(namespace, _)| namespace);
    review["kind"] == "TokenReview"
        && status["authenticated"] == true
        && (status["error"].is_null() || status["error"] == "")
        && has(&status["audiences"], "recall")
        && namespace.is_some_and(|n| has(&user["groups"], &format!("system:serviceaccounts:{n}")))
        && one("pod-name")
        && one("pod-uid")
}

fn is_proof(text: &[u8]) -> bool {
    let review = parse::<TokenReview>(text)
        .ok()
        .and_then(TokenReview::verdict);
    review.is_some_and(|review| proof(&review, "recall").is_ok())
}

#[test]
fn the_good_review_is_a_proof() {
    assert!(is_proof(good().to_string().as_bytes()));
    assert!(proves(&good()));
}

#[test]
fn a_member_given_twice_is_no_answer() {
    let twice = good().to_string().replace(
        "\"authenticated\":true",
        "\"authenticated\":false,\"authenticated\":true",
    );
    assert!(!is_proof(twice.as_bytes()));
}

#[test]
fn trouble_with_an_answer_does_not_repeat_it() {
    let trouble = parse::<TokenReview>(b"{\"kind\": \"secret\", \"status\": \"secret\"}");
    assert!(
        !trouble
            .expect_err("a text is no status")
            .detail
            .contains("secret")
    );
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_no_proof(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(!is_proof(&bytes));
        let _ = parse::<Pod>(&bytes);
    }

    #[test]
    fn json_of_any_kind_is_a_proof_only_if_it_says_so(json in any_json()) {
        let text = json.to_string();
        prop_assert!(!is_proof(text.as_bytes()) || proves(&json));
        let _ = parse::<Pod>(text.as_bytes()).map(facts::Pod::from);
        let _ = parse::<Claim>(text.as_bytes()).map(facts::SandboxClaim::from);
        let _ = parse::<WatchLine>(text.as_bytes());
        let _ = parse::<Page>(text.as_bytes());
    }

    #[test]
    fn a_good_review_with_one_value_replaced_is_a_proof_only_if_it_still_says_so(
        place: Index,
        value in any_json(),
    ) {
        let mut review = good();
        let mut all = Vec::new();
        places(&review, "", &mut all);
        let place: &String = place.get(&all);
        if let Some(target) = review.pointer_mut(place) {
            *target = value;
        }
        prop_assert!(!is_proof(review.to_string().as_bytes()) || proves(&review), "{review}");
    }
}
