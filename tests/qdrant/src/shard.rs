//! One collection: the engine, and the log from which it is built anew at every start.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;

use anyhow::Context;
use qdrant_edge::{
    DEFAULT_VECTOR_NAME, Distance, EdgeConfig, EdgeShard, EdgeVectorParams, OperationError,
    UpdateOperation, WalOptions,
};
use serde_json::{Value, json};
use tonic::Status;

/// The engine keeps a log too, which is not relied on here.
const WAL_BYTES: usize = 1024 * 1024;

pub struct Shard {
    pub places: u64,
    pub distance: i32,
    engine: EdgeShard,
    /// Held by the one write that is under way.
    log: Mutex<File>,
}

impl Shard {
    /// Makes a collection; there must be none in this folder.
    pub fn create(dir: &Path, name: &str, places: u64, distance: i32) -> anyhow::Result<Self> {
        fs::create_dir_all(dir)?;
        let about = json!({ "name": name, "places": places, "distance": distance });
        fs::write(dir.join("about.json"), about.to_string())?;
        Ok(Self::open(dir)?.1)
    }

    /// Replays a collection. Answers its name too.
    pub fn open(dir: &Path) -> anyhow::Result<(String, Self)> {
        let about: Value = serde_json::from_slice(&fs::read(dir.join("about.json"))?)?;
        let name = about["name"].as_str().context("a name")?.to_owned();
        let places = about["places"].as_u64().context("a length")?;
        let distance = about["distance"].as_i64().context("a distance")?;
        let built = dir.join("engine");
        if built.exists() {
            fs::remove_dir_all(&built)?;
        }
        fs::create_dir_all(&built)?;
        let metric = match distance {
            1 => Distance::Cosine,
            2 => Distance::Euclid,
            3 => Distance::Dot,
            _ => Distance::Manhattan,
        };
        let params = EdgeVectorParams::builder(usize::try_from(places)?, metric).build();
        let wal = WalOptions {
            segment_capacity: WAL_BYTES,
            ..WalOptions::default()
        };
        let config = EdgeConfig::builder()
            .vector(DEFAULT_VECTOR_NAME, params)
            .wal_options(wal)
            .build();
        let engine = EdgeShard::new(&built, config).map_err(|error| anyhow::anyhow!("{error}"))?;
        let log = replay(&dir.join("log.jsonl"), &engine)?;
        let shard = Self {
            places,
            distance: i32::try_from(distance)?,
            engine,
            log: Mutex::new(log),
        };
        Ok((name, shard))
    }

    pub fn engine(&self) -> &EdgeShard {
        &self.engine
    }

    /// Writes: into the log first, so that what is answered survives the process.
    pub fn update(&self, operation: UpdateOperation) -> Result<(), Status> {
        let mut line = serde_json::to_vec(&operation).map_err(|error| internal(&error))?;
        line.push(b'\n');
        let mut log = self.log.lock().map_err(|error| internal(&error))?;
        log.write_all(&line).map_err(|error| internal(&error))?;
        // What the engine refuses it refuses again when it is replayed.
        self.engine
            .update(operation)
            .map_err(|error| refusal(&error))
    }
}

fn replay(path: &Path, engine: &EdgeShard) -> anyhow::Result<File> {
    let mut log = OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .open(path)?;
    let mut whole = 0;
    let mut lines = BufReader::new(&log);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        // A line that ends without its end was never answered.
        let Ok(operation) = serde_json::from_slice(&line) else {
            break;
        };
        if !line.ends_with(b"\n") {
            break;
        }
        whole += line.len() as u64;
        // Refused when it was written, too.
        let _ = engine.update(operation);
        line.clear();
    }
    drop(lines);
    log.set_len(whole)?;
    log.seek(SeekFrom::End(0))?;
    Ok(log)
}

fn internal(error: &dyn std::fmt::Display) -> Status {
    Status::internal(format!("Service internal error: {error}"))
}

/// As the server around the engine answers.
pub fn refusal(error: &OperationError) -> Status {
    match error {
        OperationError::WrongVectorDimension { .. }
        | OperationError::VectorNameNotExists { .. }
        | OperationError::TypeError { .. }
        | OperationError::TypeInferenceError { .. }
        | OperationError::ValidationError { .. }
        | OperationError::WrongSparse
        | OperationError::WrongMulti => Status::invalid_argument(format!("Wrong input: {error}")),
        OperationError::PointIdError { .. } => Status::not_found(format!("Not found: {error}")),
        _ => internal(error),
    }
}
