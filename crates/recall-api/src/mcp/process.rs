//! Which process of a session calls, by the name that it has for itself.
//!
//! Several processes may work as one session. One that ends may give back only what no other still
//! works on, and the server alone knows of all of them.

use http::{HeaderMap, HeaderName};

use super::header::{Sent, sent};
use crate::error::ApiError;

static PROCESS: HeaderName = HeaderName::from_static("recall-process");
static LEAVES: HeaderName = HeaderName::from_static("recall-leaves");
/// The longest name of a process, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// A process of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Process {
    /// What it calls itself; `None` for clients that have no such name.
    pub(super) name: Option<String>,
    /// Whether it is about to end.
    pub(super) leaves: bool,
}

impl Process {
    /// # Errors
    ///
    /// 400 for a name that is none.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, ApiError> {
        let name = match sent(headers, &PROCESS) {
            Sent::Never => None,
            Sent::Once(name) if is_name(&name) => Some(name),
            Sent::Once(_) | Sent::Repeatedly => {
                return Err(ApiError::invalid(format!(
                    "Recall-Process: must be one name of 1 to {MAX_NAME_BYTES} letters, digits, _ and -"
                )));
            }
        };
        let leaves = match sent(headers, &LEAVES) {
            Sent::Never => false,
            Sent::Once(word) if word == "true" && name.is_some() => true,
            Sent::Once(_) | Sent::Repeatedly => {
                return Err(ApiError::invalid(
                    "Recall-Leaves: must be true, beside Recall-Process, or be left out",
                ));
            }
        };
        Ok(Self { name, leaves })
    }
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(sent: &[(&HeaderName, &str)], expected: Result<(Option<&str>, bool), ()>) {
        let headers = sent.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).expect("a value");
            ((*name).clone(), value)
        });
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        let found = Process::of(&map);
        let found = found.map(|process| (process.name, process.leaves));
        let expected = expected.map(|(name, leaves)| (name.map(str::to_owned), leaves));
        assert_eq!(
            found.map_err(|error| assert_eq!(error.status, 400)),
            expected,
            "{sent:?}"
        );
    }

    #[test]
    fn a_process_has_one_name_or_none() {
        check(&[], Ok((None, false)));
        check(&[(&PROCESS, "0a-F_1")], Ok((Some("0a-F_1"), false)));
        check(&[(&PROCESS, "p"), (&LEAVES, "true")], Ok((Some("p"), true)));
        for odd in ["", "a b", "a/b", &"p".repeat(65)] {
            check(&[(&PROCESS, odd)], Err(()));
        }
        check(&[(&PROCESS, "p"), (&PROCESS, "q")], Err(()));
        check(&[(&LEAVES, "true")], Err(()));
        check(&[(&PROCESS, "p"), (&LEAVES, "yes")], Err(()));
    }
}
