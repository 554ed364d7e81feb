//! Writing a tar archive: the few forms that a layer and an OCI layout need.

use anyhow::{Context, ensure};

const BLOCK: usize = 512;

/// An archive under construction. Times are zero, so that equal content makes an equal archive.
#[derive(Debug, Default)]
pub(super) struct Tar {
    bytes: Vec<u8>,
}

/// Who owns an entry, and who may do what with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rights {
    pub(super) mode: u32,
    pub(super) owner: u32,
}

impl Tar {
    pub(super) fn file(
        &mut self,
        name: &str,
        rights: Rights,
        content: &[u8],
    ) -> anyhow::Result<()> {
        self.header(name, rights, content.len(), b'0')?;
        self.bytes.extend_from_slice(content);
        self.pad();
        Ok(())
    }

    pub(super) fn folder(&mut self, name: &str, rights: Rights) -> anyhow::Result<()> {
        self.header(&format!("{name}/"), rights, 0, b'5')
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend([0; 2 * BLOCK]);
        self.bytes
    }

    fn pad(&mut self) {
        let full = self.bytes.len().next_multiple_of(BLOCK);
        self.bytes.resize(full, 0);
    }

    fn header(&mut self, name: &str, rights: Rights, size: usize, kind: u8) -> anyhow::Result<()> {
        let (prefix, name) = split(name)?;
        let mut header = Vec::with_capacity(BLOCK);
        let mut field = |text: &str, width: usize| {
            let end = header.len() + width;
            header.extend_from_slice(text.as_bytes());
            header.resize(end, 0);
        };
        let octal = |number: usize, digits: usize| format!("{number:0digits$o}");
        let owner = octal(rights.owner as usize, 7);
        field(name, 100);
        field(&octal(rights.mode as usize, 7), 8);
        field(&owner, 8);
        field(&owner, 8);
        field(&octal(size, 11), 12);
        field(&octal(0, 11), 12);
        // The checksum counts itself as blanks.
        field("        ", 8);
        field(&char::from(kind).to_string(), 1);
        field("", 100);
        field("ustar\u{0}00", 8);
        field("", 64 + 16);
        field(prefix, 155);
        field("", 12);
        let sum: usize = header.iter().map(|byte| usize::from(*byte)).sum();
        let checksum = format!("{sum:06o}\u{0} ");
        header.splice(148..156, checksum.into_bytes());
        ensure!(
            header.len() == BLOCK,
            "{name}: a size or number does not fit"
        );
        self.bytes.extend(header);
        Ok(())
    }
}

/// A long name is cut at a slash into two fields.
fn split(name: &str) -> anyhow::Result<(&str, &str)> {
    if name.len() <= 100 {
        return Ok(("", name));
    }
    let mut cuts = name
        .match_indices('/')
        .filter(|(at, _)| *at <= 155 && name.len() - at - 1 <= 100);
    let (at, _) = cuts
        .next()
        .with_context(|| format!("the path is too long: {name}"))?;
    let (prefix, rest) = name.split_at(at);
    Ok((prefix, rest.trim_start_matches('/')))
}
