//! JSON in which no object has two members of one name: readers differ in which of them they take, and
//! what looked at a request before the server may have taken the other.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How much of a name an error repeats, in characters.
const SHOWN: usize = 64;

/// A value without doubled members, at any depth.
#[derive(Debug)]
pub(crate) struct Strict(pub(crate) Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

/// The members of an object in their order, each name once.
#[derive(Debug)]
pub(crate) struct Members<T>(pub(crate) Vec<(String, T)>);

impl<T> Members<T> {
    /// The first name that stands there twice.
    pub(crate) fn doubled(&self) -> Option<&str> {
        let mut names = std::collections::HashSet::new();
        let mut all = self.0.iter().map(|(name, _)| name.as_str());
        all.find(|name| !names.insert(*name))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<T> {
            type Value = Vec<(String, T)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        let each = Each(std::marker::PhantomData);
        deserializer.deserialize_map(each).map(Self)
    }
}

/// What is said of a name that stands in an object twice.
pub(crate) fn doubled(name: &str) -> String {
    let name: String = name.chars().take(SHOWN).collect();
    format!("{name}: given more than once in one object")
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Strict(value))) = members.next_entry::<String, Strict>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(doubled(&name)));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Result<(), &str>) {
        let found = serde_json::from_str::<Strict>(json);
        let found = found.map(drop).map_err(|error| error.to_string());
        match (&found, expected) {
            (Ok(()), Ok(())) => {}
            (Err(found), Err(name)) if found.starts_with(&doubled(name)) => {}
            _ => panic!("{json}: {found:?}"),
        }
    }

    #[test]
    fn a_member_stands_in_an_object_once() {
        check(r#"{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}"#, Ok(()));
        check(r#"{"a":1,"a":1}"#, Err("a"));
        check(r#"{"a":1,"\u0061":2}"#, Err("a"));
        check(r#"{"x":[{"y":{"b":1,"c":2,"b":3}}]}"#, Err("b"));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(".{0,3}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_the_library_reads(value in values()) {
            let text = value.to_string();
            let Strict(read) = serde_json::from_str(&text).expect("it is JSON");
            let plain: Value = serde_json::from_str(&text).expect("it is JSON");
            prop_assert_eq!(read, plain);
        }
    }
}
