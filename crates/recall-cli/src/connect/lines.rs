//! One message a line, both ways.

use tokio::io::{AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// The longest line that is read. The server takes 4 MiB; this only bounds memory.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// What stood between two line ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    /// More than is read; it was skipped.
    TooLong,
}

/// The next line; `None` at the end of the input.
pub(super) async fn read_line(
    input: &mut (impl AsyncBufReadExt + Unpin),
) -> std::io::Result<Option<Line>> {
    let (mut line, mut too_long) = (Vec::new(), false);
    loop {
        let chunk = input.fill_buf().await?;
        let ended = chunk.is_empty();
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(chunk.len(), |end| end + 1);
        let text = chunk.get(..end.unwrap_or(taken)).unwrap_or_default();
        too_long |= line.len() + text.len() > MAX_LINE_BYTES;
        match too_long {
            // What is too long is not held while the rest of it arrives.
            true => line = Vec::new(),
            false => line.extend_from_slice(text),
        }
        input.consume(taken);
        match (end, ended) {
            (None, false) => {}
            (None, true) if line.is_empty() && !too_long => return Ok(None),
            (Some(_), _) | (None, true) => {
                let whole = Line::Whole(line);
                return Ok(Some(if too_long { Line::TooLong } else { whole }));
            }
        }
    }
}

/// One writer, so that lines never mix.
pub(super) async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<String>,
) -> anyhow::Result<()> {
    while let Some(mut line) = queue.recv().await {
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    async fn lines(input: &[u8]) -> Vec<Line> {
        let mut input = BufReader::with_capacity(7, input);
        let mut found = Vec::new();
        while let Some(line) = read_line(&mut input).await.expect("memory is read") {
            found.push(line);
        }
        found
    }

    #[tokio::test]
    async fn lines_end_with_a_line_end_or_the_input() {
        let whole = |text: &str| Line::Whole(text.into());
        assert_eq!(lines(b"").await, []);
        assert_eq!(lines(b"a").await, [whole("a")]);
        assert_eq!(
            lines(b"a\n\nlonger than it\nb\n").await,
            [whole("a"), whole(""), whole("longer than it"), whole("b")]
        );
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_to_its_end() {
        let mut input = vec![b'x'; MAX_LINE_BYTES];
        input.extend(b"\n");
        input.extend(vec![b'x'; MAX_LINE_BYTES + 1]);
        input.extend(b"\nb");
        let found = lines(&input).await;
        assert!(matches!(&found[0], Line::Whole(line) if line.len() == MAX_LINE_BYTES));
        assert_eq!(found[1..], [Line::TooLong, Line::Whole(b"b".to_vec())]);
    }
}
