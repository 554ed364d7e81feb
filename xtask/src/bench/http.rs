//! Where an HTTP/1.1 answer ends, and what it says.

/// A whole answer at the start of what was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    /// The status code; 0 if there is none to read.
    pub(super) status: u16,
    /// Where its body begins.
    pub(super) body: usize,
    /// Its length with head and body.
    pub(super) length: usize,
}

/// The first answer in `received`, once all of it is there.
pub(super) fn answer(received: &[u8]) -> Option<Answer> {
    let body = position(received, b"\r\n\r\n")? + 4;
    let head = received.get(..body)?;
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let status = lines.next().and_then(|line| number(line.get(9..12)?));
    let length = match framing(lines) {
        Framing::Length(length) => body + length,
        Framing::Chunked => body + chunked(received.get(body..)?)?,
    };
    (received.len() >= length).then_some(Answer {
        status: status.unwrap_or(0),
        body,
        length,
    })
}

enum Framing {
    Length(usize),
    Chunked,
}

fn framing<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Framing {
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            return Framing::Length(number(value).unwrap_or(0));
        }
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            return Framing::Chunked;
        }
    }
    Framing::Length(0)
}

/// The length of a whole chunked body.
fn chunked(body: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = body.get(at..)?;
        let line = position(rest, b"\r\n")?;
        let digits = std::str::from_utf8(rest.get(..line)?).ok()?;
        let size = usize::from_str_radix(digits.trim(), 16).ok()?;
        at += line + 2 + size + 2;
        if size == 0 {
            return (body.len() >= at).then_some(at);
        }
    }
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn position(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(received: &str, expected: Option<(u16, usize)>) {
        let found = answer(received.as_bytes()).map(|answer| (answer.status, answer.length));
        assert_eq!(found, expected, "{received:?}");
    }

    #[test]
    fn an_answer_ends_where_its_head_says() {
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc";
        check(whole, Some((200, whole.len())));
        check(&format!("{whole}HTTP/1.1"), Some((200, whole.len())));
        check(&whole[..whole.len() - 1], None);
        check("HTTP/1.1 200 OK\r\n", None);
        let empty = "HTTP/1.1 503 X\r\n\r\n";
        check(empty, Some((503, empty.len())));
    }

    #[test]
    fn a_chunked_answer_ends_with_its_last_chunk() {
        let head = "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n";
        let whole = format!("{head}3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n");
        check(&whole, Some((201, whole.len())));
        check(&whole[..whole.len() - 2], None);
        check(&format!("{head}3\r\nab"), None);
        check(head, None);
    }
}
