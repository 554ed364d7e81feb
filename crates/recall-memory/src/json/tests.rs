use proptest::prelude::*;
use serde_json::Value as Parsed;

use super::*;

#[test]
fn commas_stand_between_and_nowhere_else() {
    let mut json = Json::default();
    json.object(|json| {
        json.key("a").array([1, 2], |json, number| json.int(number));
        json.key("b").object(|_| {});
        json.key("c").strings(["x{", "y["]);
        json.key("d").raw("null");
        json.key("e").bool(false);
    });
    assert_eq!(
        String::from_utf8(json.into_bytes()).unwrap(),
        r#"{"a":[1,2],"b":{},"c":["x{","y["],"d":null,"e":false}"#
    );
}

struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In pieces, as most that can be shown writes itself.
        self.0.chars().try_for_each(|letter| write!(f, "{letter}"))
    }
}

proptest! {
    #[test]
    fn every_string_is_read_back(text in any::<String>(), name in any::<String>()) {
        let mut json = Json::default();
        json.object(|json| {
            json.key(&name).string(&text);
            json.key("shown").display(&Shown(&text));
        });
        let parsed: Parsed = serde_json::from_slice(&json.into_bytes()).unwrap();
        prop_assert_eq!(&parsed["shown"], &Parsed::from(&*text));
        if name != "shown" {
            prop_assert_eq!(&parsed[&name], &Parsed::from(text));
        }
    }
}
