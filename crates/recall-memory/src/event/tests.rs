use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Written by the published server.
const REPLACING: &str = r#"{"confidence":1,"kind":"fact","observed_at":"2026-11-30T00:08:51.150447626Z",
"observed_ms":1795997331150,"predicate":"lives_in","replaces":"[{\"predicate\":\"email\",\"value\":\"Rome\",\"source\":\"user_stated\",\"observed_at\":\"2026-11-30T00:08:51.111959961Z\",\"event_id\":\"m-302437af7e7cb6b772571f12\"}]",
"retraction":false,"source":"user_stated","subject":"r","text":"r lives in Oslo","value":"Oslo","value_key":"s:oslo"}"#;

#[test]
fn a_record_of_the_published_server_is_read_and_written_alike() {
    let placed = Placed::decode("m-58669956dc0e1d8f79dac5d0", REPLACING.as_bytes()).unwrap();
    assert_eq!(placed.event.replaces().len(), 1);
    let mut written: Json = serde_json::from_slice(&placed.body()).unwrap();
    let mut original: Json = serde_json::from_str(REPLACING).unwrap();
    let told = |body: &mut Json| -> Json {
        serde_json::from_str(body["replaces"].take().as_str().unwrap()).unwrap()
    };
    assert_eq!(told(&mut written), told(&mut original));
    // Ours says when it was recorded; the other does not, so it is the observation.
    let recorded = written.as_object_mut().unwrap().remove("recorded_at");
    assert_eq!(recorded, Some(json!("2026-11-30T00:08:51.150447626Z")));
    assert_eq!(written, original);
}

#[test]
fn a_text_born_record_keeps_its_evidence() {
    let body = json!({
        "confidence": 0.8, "evidence": "y", "evidence_id": "m-dbfa8bee767f1c1bd9c0d31b",
        "kind": "fact", "observed_at": "2026-11-30T00:08:51.221547365Z", "predicate": "new_thing",
        "source": "agent_inferred", "subject": "x", "value": 7, "written_by": "k1",
        "role": "assistant", "of_another_version": [1],
    });
    let placed = Placed::decode("m-1", body.to_string().as_bytes()).unwrap();
    let written: Json = serde_json::from_slice(&placed.body()).unwrap();
    assert_eq!(written["text"], "x new thing 7\ny");
    assert_eq!(written["value"], 7);
    assert_eq!(written["retraction"], false);
    for key in [
        "confidence",
        "evidence",
        "evidence_id",
        "written_by",
        "role",
    ] {
        assert_eq!(written[key], body[key], "{key}");
    }
}

#[test]
fn withdrawals_have_their_own_sentences() {
    let body = |value: Option<&str>| {
        let mut body = json!({
            "kind": "fact", "source": "user_stated", "subject": "m", "predicate": "owns",
            "retraction": true, "observed_at": "2026-01-01T00:00:00Z",
        });
        if let Some(value) = value {
            body["value"] = value.into();
        }
        let placed = Placed::decode("x", body.to_string().as_bytes()).unwrap();
        serde_json::from_slice::<Json>(&placed.body()).unwrap()
    };
    assert_eq!(body(Some("B"))["text"], "not: m owns B");
    let all = body(None);
    assert_eq!(all["text"], "m no longer has any owns");
    assert!(all.get("value").is_none() && all.get("value_key").is_none());
}

#[test]
fn what_does_not_decode_says_why() {
    let good = json!({
        "kind": "fact", "source": "user_stated", "subject": "m", "predicate": "owns",
        "value": "x", "observed_at": "2026-01-01T00:00:00Z",
    });
    assert!(Placed::decode("x", good.to_string().as_bytes()).is_ok());
    for (key, value) in [
        ("kind", json!("rumour")),
        ("kind", json!(null)),
        ("source", json!("hearsay")),
        ("subject", json!(1)),
        ("predicate", json!(null)),
        ("value", json!(null)),
        ("value", json!(["a"])),
        ("observed_at", json!("2026-01-01")),
        ("observed_at", json!(null)),
        ("recorded_at", json!("now")),
        ("retraction", json!("yes")),
        ("replaces", json!("[{}]")),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        assert!(
            Placed::decode("x", bad.to_string().as_bytes()).is_err(),
            "{bad}"
        );
    }
    for body in ["", "[]", "{", "\u{0}"] {
        assert!(Placed::decode("x", body.as_bytes()).is_err(), "{body}");
    }
}

proptest! {
    #[test]
    fn decoding_never_panics(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Placed::decode("x", &body);
    }
}
