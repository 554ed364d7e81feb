//! The trace that a request belongs to, as its sender names it (W3C Trace Context).

use http::HeaderMap;

/// The trace id of the request's header, if it has a good one.
pub(crate) fn of(headers: &HeaderMap) -> Option<&str> {
    let mut sent = headers.get_all("traceparent").iter();
    match (sent.next(), sent.next()) {
        (Some(parent), None) => id(parent.to_str().ok()?),
        _ => None,
    }
}

/// The trace id of a `traceparent`, if it is well formed: `00-<32 digits>-<16 digits>-<2 digits>`.
pub(crate) fn id(parent: &str) -> Option<&str> {
    let mut parts = parent.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let (span, flags) = (parts.next()?, parts.next()?);
    let hex = |text: &str, length: usize| {
        text.len() == length
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let known = hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    let says = |text: &str| text.bytes().any(|byte| byte != b'0');
    let good =
        known && hex(trace, 32) && says(trace) && hex(span, 16) && says(span) && hex(flags, 2);
    good.then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[track_caller]
    fn check(parent: &str, expected: Option<&str>) {
        assert_eq!(id(parent), expected, "{parent}");
    }

    #[test]
    fn only_a_well_formed_parent_names_a_trace() {
        check(&format!("00-{TRACE}-00f067aa0ba902b7-01"), Some(TRACE));
        check(&format!("01-{TRACE}-00f067aa0ba902b7-01-more"), Some(TRACE));
        check(&format!("00-{TRACE}-00f067aa0ba902b7-01-more"), None);
        check(&format!("ff-{TRACE}-00f067aa0ba902b7-01"), None);
        check(&format!("00-{TRACE}-0000000000000000-01"), None);
        check(
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            None,
        );
        check(
            &format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            None,
        );
        check(&format!("00-{TRACE}"), None);
        check("forged\nline", None);
        check("", None);
    }
}
