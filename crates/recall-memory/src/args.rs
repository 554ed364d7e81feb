//! The arguments of an operation, read one by one with errors that name the field.

use jiff::Timestamp;
use serde_json::{Map, Value as Json};

use crate::error::Error;
use crate::time;
use crate::value::Value;

/// The arguments of an operation: one JSON object.
#[derive(Clone, Debug, Default)]
pub struct Args {
    map: Map<String, Json>,
    /// Fields that the caller may send and that were read before.
    taken: &'static [&'static str],
}

impl From<Map<String, Json>> for Args {
    fn from(map: Map<String, Json>) -> Self {
        Self { map, taken: &[] }
    }
}

impl Args {
    /// Reads a request body. An empty one and `null` are no arguments.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the body is no JSON object or has bytes after it.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        if body.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        match serde_json::from_slice(body) {
            Ok(Json::Object(map)) => Ok(map.into()),
            Ok(Json::Null) => Ok(Self::default()),
            Ok(_) => Err(Error::invalid("arguments must be a JSON object")),
            Err(error) => Err(Error::invalid(format!(
                "arguments must be a JSON object: {error}"
            ))),
        }
    }

    /// Names fields that were taken out already, so that a refusal of an unknown one lists them too.
    #[must_use]
    pub fn beside(self, taken: &'static [&'static str]) -> Self {
        Self { taken, ..self }
    }

    /// Starts reading; a field that `known` does not list is refused.
    pub(crate) fn read(self, known: &[&str]) -> Result<Fields, Error> {
        Fields::new(self.map, "", known, self.taken)
    }
}

/// Fields still to be read.
#[derive(Debug)]
pub(crate) struct Fields {
    map: Map<String, Json>,
    /// What stands before a field's name in an error: `statements[2].`.
    path: String,
}

impl Fields {
    fn new(
        map: Map<String, Json>,
        path: &str,
        known: &[&str],
        taken: &[&str],
    ) -> Result<Self, Error> {
        match map.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                let name: String = name.chars().take(64).collect();
                let known = match [known, taken].concat().as_slice() {
                    [] => "none is taken here".to_owned(),
                    known => format!("known are {}", known.join(", ")),
                };
                Err(Error::invalid(format!(
                    "unknown field {path}{name}; {known}"
                )))
            }
            None => Ok(Self {
                map,
                path: path.to_owned(),
            }),
        }
    }

    /// Whether a field was sent, `null` included.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// Whether a field holds something.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.map.get(name).is_some_and(|value| !value.is_null())
    }

    /// A field as it was sent, for an answer that repeats it.
    pub(crate) fn sent(&self, name: &str) -> Json {
        self.map.get(name).cloned().unwrap_or_default()
    }

    /// A string, kept as it was sent.
    pub(crate) fn string(&mut self, name: &str, limit: usize) -> Result<Option<String>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::String(text)) => {
                self.fits(name, &text, limit)?;
                Ok(Some(text))
            }
            Some(other) => Err(self.wrong(name, "a string", &other)),
        }
    }

    /// A string that must be there and say something.
    pub(crate) fn need_string(&mut self, name: &str, limit: usize) -> Result<String, Error> {
        match self.string(name, limit)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            Some(_) => Err(self.fault(name, "must not be empty")),
            None => Err(self.fault(name, "is required")),
        }
    }

    pub(crate) fn number(&mut self, name: &str) -> Result<Option<f64>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Number(number)) => number
                .as_f64()
                .filter(|number| number.is_finite())
                .map(Some)
                .ok_or_else(|| self.fault(name, "must be a finite number")),
            Some(other) => Err(self.wrong(name, "a number", &other)),
        }
    }

    /// A whole number; `5.0` counts as one.
    pub(crate) fn whole(&mut self, name: &str) -> Result<Option<i64>, Error> {
        let Some(number) = self.number(name)? else {
            return Ok(None);
        };
        if number.fract() != 0.0 {
            return Err(self.fault(name, "must be a whole number"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the cast saturates at the ends"
        )]
        Ok(Some(number as i64))
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.wrong(name, "true or false", &other)),
        }
    }

    /// An instant with a zone. An empty string counts as none.
    pub(crate) fn instant(&mut self, name: &str) -> Result<Option<Timestamp>, Error> {
        const LONGEST: usize = 64;
        match self.string(name, LONGEST)? {
            None => Ok(None),
            Some(text) if text.is_empty() => Ok(None),
            Some(text) => time::parse(&text)
                .map(Some)
                .map_err(|reason| self.fault(name, &reason)),
        }
    }

    /// One of a closed set of words. An empty string counts as none.
    pub(crate) fn word<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
        words: &str,
    ) -> Result<Option<T>, Error> {
        const LONGEST: usize = 64;
        match self.string(name, LONGEST)? {
            None => Ok(None),
            Some(text) if text.is_empty() => Ok(None),
            Some(text) => parse(&text)
                .map(Some)
                .ok_or_else(|| self.fault(name, &format!("must be {words}, got {text:?}"))),
        }
    }

    /// A value: a string, a finite number or a boolean. `null` and none are both `None`.
    pub(crate) fn value(&mut self, name: &str, limit: usize) -> Result<Option<Value>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::String(text)) => {
                self.fits(name, &text, limit)?;
                match text.trim().is_empty() {
                    true => Err(self.fault(name, "must not be empty")),
                    false => Ok(Some(Value::text(&text))),
                }
            }
            Some(Json::Bool(flag)) => Ok(Some(Value::Flag(flag))),
            Some(Json::Number(number)) => number
                .as_f64()
                .filter(|number| number.is_finite())
                .map(|number| Some(Value::number(number)))
                .ok_or_else(|| self.fault(name, "must be a finite number")),
            Some(other) => Err(self.wrong(name, "a string, number or boolean", &other)),
        }
    }

    /// A list of objects, each with its own known fields.
    pub(crate) fn list(
        &mut self,
        name: &str,
        limit: usize,
        known: &[&str],
    ) -> Result<Option<Vec<Self>>, Error> {
        let list = match self.take(name) {
            None => return Ok(None),
            Some(Json::Array(list)) => list,
            Some(other) => return Err(self.wrong(name, "a list of objects", &other)),
        };
        if list.len() > limit {
            return Err(self.fault(
                name,
                &format!("may have at most {limit} entries, got {}", list.len()),
            ));
        }
        let mut read = Vec::with_capacity(list.len());
        for (at, item) in list.into_iter().enumerate() {
            let path = format!("{}{name}[{at}]", self.path);
            match item {
                Json::Object(map) => read.push(Self::new(map, &format!("{path}."), known, &[])?),
                other => {
                    return Err(Error::invalid(format!(
                        "{path} must be an object, got {}",
                        kind(&other)
                    )));
                }
            }
        }
        Ok(Some(read))
    }

    /// An error about what a field says.
    pub(crate) fn fault(&self, name: &str, reason: &str) -> Error {
        Error::Refused(format!("{}{name} {reason}", self.path))
    }

    /// An error about what a field is.
    fn wrong(&self, name: &str, wanted: &str, got: &Json) -> Error {
        let got = kind(got);
        Error::Invalid(format!("{}{name} must be {wanted}, got {got}", self.path))
    }

    fn fits(&self, name: &str, text: &str, limit: usize) -> Result<(), Error> {
        if text.len() > limit {
            let reason = format!("may have at most {limit} bytes, got {}", text.len());
            return Err(self.fault(name, &reason));
        }
        match text.contains('\0') {
            true => Err(self.fault(name, "may not contain the NUL character")),
            false => Ok(()),
        }
    }

    fn take(&mut self, name: &str) -> Option<Json> {
        self.map.remove(name).filter(|value| !value.is_null())
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
