//! An image of one layer as an OCI archive: tar, SHA-256 and JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::tar::{Rights, Tar};
use crate::shell::say;

const ROOT_FOLDER: Rights = Rights {
    mode: 0o755,
    owner: 0,
};
const OCI: &str = "application/vnd.oci.image";

/// What an image is made of.
#[derive(Debug)]
pub(crate) struct Image {
    pub(super) name: String,
    /// Each file's path in the image, without the first slash, and where it is now.
    pub(super) files: BTreeMap<String, PathBuf>,
    /// Small files by their content.
    pub(super) texts: BTreeMap<String, String>,
    /// Folders that belong to a user.
    pub(super) folders: Vec<(String, Rights)>,
    /// The image's own configuration: user, entry point, variables, labels.
    pub(super) config: Value,
}

impl Image {
    /// An image of a static program alone.
    pub(crate) fn of_one_program(name: &str, program: &Path) -> Self {
        Self {
            name: name.to_owned(),
            files: BTreeMap::from([("program".to_owned(), program.to_owned())]),
            texts: BTreeMap::new(),
            folders: Vec::new(),
            config: json!({ "Entrypoint": ["/program"] }),
        }
    }

    /// Writes the archive and says how large it is.
    pub(crate) fn write(&self, file: &Path) -> anyhow::Result<()> {
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let archive = self.archive()?;
        std::fs::write(file, &archive)?;
        let megabytes = archive.len() as f64 / 1e6;
        say(&format!(
            "{}: {megabytes:.1} MB in {}",
            self.name,
            file.display()
        ));
        Ok(())
    }

    fn archive(&self) -> anyhow::Result<Vec<u8>> {
        let layer = self.layer()?;
        let platform = json!({ "architecture": architecture(), "os": "linux" });
        let config = json!({
            "architecture": architecture(), "os": "linux", "config": self.config,
            "rootfs": { "type": "layers", "diff_ids": [digest(&layer)] },
        });
        let config = serde_json::to_vec(&config)?;
        let manifest = json!({
            "schemaVersion": 2, "mediaType": format!("{OCI}.manifest.v1+json"),
            "config": described("config.v1+json", &config),
            "layers": [described("layer.v1.tar", &layer)],
        });
        let manifest = serde_json::to_vec(&manifest)?;
        let mut entry = described("manifest.v1+json", &manifest);
        entry["platform"] = platform;
        let tag = self.name.rsplit(':').next().unwrap_or_default();
        // The name by which containerd imports it, and the one by which others do.
        entry["annotations"] = json!({
            "io.containerd.image.name": format!("docker.io/library/{}", self.name),
            "org.opencontainers.image.ref.name": tag,
        });
        let index = json!({
            "schemaVersion": 2, "mediaType": format!("{OCI}.index.v1+json"), "manifests": [entry],
        });
        let mut tar = Tar::default();
        let readable = Rights {
            mode: 0o644,
            owner: 0,
        };
        tar.file("oci-layout", readable, br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        tar.file("index.json", readable, &serde_json::to_vec(&index)?)?;
        for blob in [&layer, &config, &manifest] {
            tar.file(&format!("blobs/sha256/{}", hash(blob)), readable, blob)?;
        }
        Ok(tar.finish())
    }

    fn layer(&self) -> anyhow::Result<Vec<u8>> {
        let mut tar = Tar::default();
        let owned: BTreeSet<&str> = self.folders.iter().map(|(name, _)| name.as_str()).collect();
        for folder in self
            .parents()
            .iter()
            .filter(|folder| !owned.contains(folder.as_str()))
        {
            tar.folder(folder, ROOT_FOLDER)?;
        }
        for (folder, rights) in &self.folders {
            tar.folder(folder, *rights)?;
        }
        for (name, text) in &self.texts {
            tar.file(
                name,
                Rights {
                    mode: 0o644,
                    owner: 0,
                },
                text.as_bytes(),
            )?;
        }
        for (name, path) in &self.files {
            let content =
                std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            tar.file(
                name,
                Rights {
                    mode: mode(path)?,
                    owner: 0,
                },
                &content,
            )?;
        }
        Ok(tar.finish())
    }

    /// The folders of all files, parents first.
    fn parents(&self) -> BTreeSet<String> {
        let folders = self.folders.iter().map(|(name, _)| name);
        let names = self.files.keys().chain(self.texts.keys()).chain(folders);
        names
            .flat_map(|name| name.match_indices('/').map(|(at, _)| name[..at].to_owned()))
            .collect()
    }
}

/// Everybody may read and, where the owner may, run it: the user of the container owns nothing.
fn mode(path: &Path) -> anyhow::Result<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path)?.permissions().mode();
    Ok(match mode & 0o100 {
        0 => 0o644,
        _ => 0o755,
    })
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn described(kind: &str, blob: &[u8]) -> Value {
    json!({ "mediaType": format!("{OCI}.{kind}"), "digest": digest(blob), "size": blob.len() })
}

fn digest(blob: &[u8]) -> String {
    format!("sha256:{}", hash(blob))
}

fn hash(blob: &[u8]) -> String {
    hex::encode(Sha256::digest(blob))
}
