//! The reserved argument names: what a caller may say about whom it is.

use recall_keys::{Grant, Reach};
use serde_json::{Map, Value};

use crate::body::take_string;
use crate::error::ApiError;

/// Compares `namespace`, `agent_id` and `session` with the key and takes out those that only say
/// what the key says already. `agent_id` stays for the tools that take it. Answers with the session
/// that the caller names and the key does not: what is written under it belongs together.
///
/// # Errors
///
/// 403 `namespace_mismatch` if one of them names something else than the key.
pub(crate) fn settle(
    arguments: &mut Map<String, Value>,
    grant: &Grant,
) -> Result<Option<String>, ApiError> {
    if let Some(namespace) = take_string(arguments, "namespace")? {
        let ours = match &grant.reach {
            Reach::Namespace(ours) => ours.as_str() == namespace,
            Reach::Admin => false,
        };
        if !ours {
            return Err(ApiError::namespace_mismatch(
                "the key reaches another namespace",
            ));
        }
    }
    let session = match (take_string(arguments, "session")?, &grant.session) {
        (Some(named), Some(ours)) if named != *ours => {
            return Err(ApiError::namespace_mismatch(
                "the key is for another session",
            ));
        }
        (_, Some(_)) => None,
        (named, None) => named,
    };
    match (&grant.agent, arguments.get("agent_id")) {
        (None, _) | (Some(_), None | Some(Value::Null)) => Ok(session),
        (Some(fixed), Some(Value::String(agent))) if agent == fixed => Ok(session),
        (Some(_), Some(_)) => Err(ApiError::namespace_mismatch("the key is for another agent")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn grant(agent: Option<&str>, session: Option<&str>) -> Grant {
        Grant {
            key: None,
            reach: Reach::Namespace("team:a".parse().expect("a namespace")),
            agent: agent.map(str::to_owned),
            session: session.map(str::to_owned),
            pod_uid: None,
        }
    }

    #[track_caller]
    fn check(grant: &Grant, arguments: Value, expected: Result<Value, &'static str>) {
        let expected = expected.map_err(str::to_owned);
        let Value::Object(mut arguments) = arguments else {
            panic!("an object")
        };
        let outcome = settle(&mut arguments, grant).map(|_| Value::Object(arguments));
        assert_eq!(outcome.map_err(|error| error.code.to_owned()), expected);
    }

    #[test]
    fn a_key_says_who_asks_and_arguments_may_only_agree() {
        let bound = grant(Some("a1"), Some("s1"));
        let free = grant(None, None);
        check(
            &bound,
            json!({"namespace": "team:a", "x": 1}),
            Ok(json!({"x": 1})),
        );
        check(
            &bound,
            json!({"session": "s1", "agent_id": "a1"}),
            Ok(json!({"agent_id": "a1"})),
        );
        check(
            &free,
            json!({"session": "any", "agent_id": "any"}),
            Ok(json!({"agent_id": "any"})),
        );
        for foreign in ["team:b", "team", "team:a:b", "team:A", "", "*", "team%3Aa"] {
            check(
                &bound,
                json!({"namespace": foreign}),
                Err("namespace_mismatch"),
            );
        }
        check(&bound, json!({"session": "s2"}), Err("namespace_mismatch"));
        check(
            &bound,
            json!({"agent_id": "a10"}),
            Err("namespace_mismatch"),
        );
        check(&bound, json!({"agent_id": 1}), Err("namespace_mismatch"));
        check(&free, json!({"namespace": 1}), Err("invalid_argument"));
    }

    #[test]
    fn a_session_that_the_key_does_not_fix_is_the_writers_to_name() {
        let named = |grant: &Grant| {
            let mut arguments = Map::new();
            arguments.insert("session".to_owned(), "s1".into());
            settle(&mut arguments, grant).expect("the key agrees")
        };
        assert_eq!(named(&grant(None, None)).as_deref(), Some("s1"));
        assert_eq!(named(&grant(None, Some("s1"))), None);
    }
}
