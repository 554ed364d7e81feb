//! From the public files, which the user supplies, to conversations and questions.

use std::path::Path;

use serde_json::Value;

use crate::set::{Item, Question, Talk};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

fn load(path: &Path) -> Result<Value, String> {
    let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read(path).map_err(|error| fault(&error))?;
    serde_json::from_slice(&text).map_err(|error| fault(&error))
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// LoCoMo: an item is a turn, a session one of its sessions.
pub(crate) fn locomo(path: &Path) -> Result<Vec<Talk>, String> {
    let samples = load(path)?;
    let samples = samples
        .as_array()
        .ok_or("LoCoMo's file is a list of conversations")?;
    Ok(samples.iter().map(locomo_talk).collect())
}

fn locomo_talk(sample: &Value) -> Talk {
    let talk = &sample["conversation"];
    let mut sessions: Vec<u32> = talk
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, _)| key.strip_prefix("session_")?.parse().ok())
        .collect();
    sessions.sort_unstable();
    let mut items = Vec::new();
    for no in sessions {
        let session = format!("session_{no}");
        let when = text(talk, &format!("{session}_date_time"));
        let observed_at = locomo_day(&when);
        items.extend(
            talk[&session]
                .as_array()
                .into_iter()
                .flatten()
                .map(|turn| Item {
                    id: text(turn, "dia_id"),
                    text: text(turn, "text"),
                    speaker: text(turn, "speaker"),
                    session: session.clone(),
                    observed_at: observed_at.clone(),
                }),
        );
    }
    let asked = sample["qa"].as_array().into_iter().flatten();
    let queries = asked.filter_map(|asked| {
        let gold = asked["evidence"].as_array().into_iter().flatten();
        let gold = gold.filter_map(Value::as_str).flat_map(turn_ids);
        question(
            text(asked, "question"),
            gold,
            locomo_class(&asked["category"]),
            &items,
        )
    });
    Talk {
        conv: text(sample, "sample_id"),
        queries: queries.collect(),
        items,
    }
}

fn locomo_class(category: &Value) -> &'static str {
    match category.as_i64() {
        Some(1) => "multi-hop",
        Some(2) => "temporal",
        Some(3) => "open-domain",
        Some(4) => "single-hop",
        _ => "adversarial",
    }
}

/// `1:56 pm on 8 May, 2023`
fn locomo_day(text: &str) -> Option<String> {
    let words: Vec<&str> = text
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect();
    words
        .windows(3)
        .find_map(|three| day(three[2], three[1], three[0]))
}

/// `March-15-2024`
fn beam_day(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('-').collect();
    parts.windows(3).find_map(|three| {
        let month = three[0].split_whitespace().last()?;
        let year = three[2].get(..4)?;
        day(year, month, three[1])
    })
}

fn day(year: &str, month: &str, day: &str) -> Option<String> {
    let month = MONTHS
        .iter()
        .position(|name| *name == month.to_lowercase())?
        + 1;
    let year: u16 = (year.len() == 4).then(|| year.parse().ok())??;
    let day: u8 = day.parse().ok()?;
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

/// The turns that an evidence names: `D8:6; D9:17`, `D:11:26`, `D30:05`.
fn turn_ids(evidence: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for part in evidence.split('D').skip(1) {
        let numbers: Vec<u32> = part
            .split(|letter: char| !letter.is_ascii_digit())
            .filter(|digits| !digits.is_empty())
            .filter_map(|digits| digits.parse().ok())
            .collect();
        if let [session, turn, ..] = numbers[..] {
            ids.push(format!("D{session}:{turn}"));
        }
    }
    ids
}

/// BEAM: an item is a message, a session one batch of them.
pub(crate) fn beam(base: &Path) -> Result<Vec<Talk>, String> {
    let fault = |error: std::io::Error| format!("{}: {error}", base.display());
    let entries = std::fs::read_dir(base).map_err(fault)?;
    let mut numbers: Vec<u32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let size = base
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("beam");
    let mut talks = Vec::new();
    for no in numbers {
        let folder = base.join(no.to_string());
        let (chat, asked) = (
            folder.join("chat.json"),
            folder.join("probing_questions/probing_questions.json"),
        );
        if chat.exists() && asked.exists() {
            talks.push(beam_talk(
                format!("{size}-{no}"),
                &load(&chat)?,
                &load(&asked)?,
            ));
        }
    }
    Ok(talks)
}

fn beam_talk(conv: String, chat: &Value, asked: &Value) -> Talk {
    let mut items = Vec::new();
    let mut when = None;
    for (session, batch) in (0..).zip(chat.as_array().into_iter().flatten()) {
        let turns = batch["turns"].as_array().into_iter().flatten();
        let messages = turns.flat_map(|turn| match turn {
            Value::Array(messages) => messages.as_slice(),
            one => std::slice::from_ref(one),
        });
        for message in messages {
            when = beam_day(&text(message, "time_anchor")).or(when);
            let content = text(message, "content");
            items.push(Item {
                id: message["id"].to_string(),
                text: content.split("->->").next().unwrap_or_default().to_owned(),
                speaker: text(message, "role"),
                session: format!("{session}"),
                observed_at: when.clone(),
            });
        }
    }
    let mut queries = Vec::new();
    for (class, group) in asked.as_object().into_iter().flatten() {
        for asked in group.as_array().into_iter().flatten() {
            let mut gold = Vec::new();
            numbers(&asked["source_chat_ids"], &mut gold);
            queries.extend(question(text(asked, "question"), gold, class, &items));
        }
    }
    Talk {
        conv,
        items,
        queries,
    }
}

/// All whole numbers in lists, objects and strings.
fn numbers(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Number(number) => found.push(number.to_string()),
        Value::String(text) if text.trim().parse::<u64>().is_ok() => {
            found.push(text.trim().to_owned())
        }
        Value::Array(list) => list.iter().for_each(|value| numbers(value, found)),
        Value::Object(map) => map.values().for_each(|value| numbers(value, found)),
        Value::String(_) | Value::Null | Value::Bool(_) => {}
    }
}

/// A question whose evidence is known; others cannot be measured.
fn question(
    q: String,
    gold: impl IntoIterator<Item = String>,
    class: &str,
    items: &[Item],
) -> Option<Question> {
    let mut known: Vec<String> = Vec::new();
    for id in gold {
        if !known.contains(&id) && items.iter().any(|item| item.id == id) {
            known.push(id);
        }
    }
    (!known.is_empty()).then(|| Question {
        q,
        gold: known,
        class: class.to_owned(),
    })
}
