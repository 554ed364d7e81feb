//! An answer that never ends, line by line.

use http_body_util::BodyExt;

use super::client::AnswerBody;
use crate::trouble::{Trouble, TroubleKind};

/// One line is one object without spec and status; no real one comes near it.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// Reads lines and holds back at most one that is not complete.
#[derive(Debug)]
pub(super) struct Lines {
    body: AnswerBody,
    buffer: Vec<u8>,
    /// Up to here the buffer holds no end of line.
    searched: usize,
}

impl Lines {
    pub(super) fn new(body: AnswerBody) -> Self {
        Self {
            body,
            buffer: Vec::new(),
            searched: 0,
        }
    }

    /// The next line, or `None` at the proper end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, Trouble> {
        loop {
            if let Some(line) = self.complete() {
                return Ok(Some(line));
            }
            if self.buffer.len() > MAX_LINE_BYTES {
                let detail = format!("a line over {MAX_LINE_BYTES} bytes");
                return Err(Trouble::new(TroubleKind::TooLarge, detail));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.buffer.extend_from_slice(data);
                    }
                }
                Some(Err(error)) => {
                    return Err(Trouble::new(TroubleKind::Unreachable, error.to_string()));
                }
                None => return Ok(None),
            }
        }
    }

    fn complete(&mut self) -> Option<Vec<u8>> {
        let new = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(end) = new.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let rest = self.buffer.split_off(self.searched + end + 1);
        self.searched = 0;
        Some(std::mem::replace(&mut self.buffer, rest))
    }
}

#[cfg(test)]
mod tests {
    use kube::client::Body;

    use super::*;

    async fn check(chunks: &[&[u8]], expected: &[&str]) {
        let whole: Vec<u8> = chunks.concat();
        let mut lines = Lines::new(AnswerBody::Left(Body::from(whole)));
        let mut read = Vec::new();
        while let Ok(Some(line)) = lines.next().await {
            read.push(String::from_utf8(line).expect("text"));
        }
        assert_eq!(read, expected);
    }

    #[tokio::test]
    async fn lines_are_told_apart_and_a_torn_one_is_none() {
        check(&[b"a\nb", b"c\n\nd"], &["a\n", "bc\n", "\n"]).await;
        check(&[b""], &[]).await;
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_given_up() {
        let mut lines = Lines::new(AnswerBody::Left(Body::from(vec![b'x'; MAX_LINE_BYTES + 1])));
        let trouble = lines.next().await.expect_err("too long");
        assert_eq!(trouble.kind, TroubleKind::TooLarge);
    }
}
