//! What goes into each image when it is made of this machine's own parts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::json;

use super::archive::Image;
use super::tar::Rights;
use super::{program_version, revision};
use crate::python;
use crate::shell::{output, root};

/// The server's image, the demo's agent, and a shell with curl for `helm test`.
pub(super) const SERVER: &str = "recall:dev";
const AGENT: &str = "recall-demo-agent:dev";
const TOOLS: &str = "recall-demo-tools:dev";

/// The packages of the demo's agent.
const AGENT_PACKAGES: &str = "deploy/agent-sandbox/agent/requirements.txt";
/// Of Python's own library, what an agent never needs and is large.
const LEFT_OUT: [&str; 9] = [
    "__pycache__",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "pydoc_data",
    "site-packages",
    "test",
    "tkinter",
    "turtledemo",
];

const SCRATCH: Rights = Rights {
    mode: 0o1777,
    owner: 0,
};

/// Both programs, from a folder.
pub(crate) fn server(programs: &Path) -> anyhow::Result<Image> {
    let mut files = BTreeMap::new();
    for name in ["recall-server", "recall"] {
        add_program(
            &mut files,
            &programs.join(name),
            &format!("usr/local/bin/{name}"),
        )?;
    }
    let version = program_version(&programs.join("recall-server"))?;
    add_certificates(&mut files);
    let config = json!({
        "User": "65532:65532",
        "Entrypoint": ["/usr/local/bin/recall-server"],
        "Env": [
            "PATH=/usr/local/bin", "RECALL_DATA_DIR=/var/lib/recall",
            "RECALL_LISTEN=0.0.0.0:8080", "RECALL_ADMIN_LISTEN=0.0.0.0:9090",
        ],
        "ExposedPorts": { "8080/tcp": {}, "9090/tcp": {} },
        "Volumes": { "/var/lib/recall": {} },
        "Labels": {
            "org.opencontainers.image.title": "Recall",
            "org.opencontainers.image.description": "Memory for AI agents in disposable pods",
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.version": version,
            "org.opencontainers.image.revision": revision(),
        },
    });
    let data = Rights {
        mode: 0o700,
        owner: 65532,
    };
    let folders = vec![
        ("tmp".to_owned(), SCRATCH),
        ("var/lib/recall".to_owned(), data),
    ];
    Ok(Image {
        name: SERVER.to_owned(),
        files,
        texts: names(),
        folders,
        config,
    })
}

/// Python with the published client, the bridge, and the script.
pub(crate) fn agent(programs: &Path) -> anyhow::Result<Image> {
    let environment = python::environment(AGENT_PACKAGES)?;
    let mut files = BTreeMap::new();
    add_program(&mut files, &programs.join("recall"), "usr/local/bin/recall")?;
    for script in ["agent.py", "probe.py"] {
        let from = root().join("deploy/agent-sandbox/agent").join(script);
        files.insert(format!("usr/local/bin/{script}"), from);
    }
    let facts = "import os, sys, sysconfig\n\
        print(os.path.realpath(sys._base_executable))\n\
        print(sysconfig.get_path('stdlib'))\n\
        print(sysconfig.get_path('purelib'))\n\
        print('python%d.%d' % sys.version_info[:2])";
    let facts = output(Command::new(environment.join("bin/python")).args(["-c", facts]))?;
    let mut facts = facts.lines();
    let mut fact = || facts.next().context("Python says where it is");
    let (program, library, packages, version) = (fact()?, fact()?, fact()?, fact()?);
    add_program(&mut files, Path::new(program), "usr/local/bin/python3")?;
    let place = format!("usr/local/lib/{version}");
    add_tree(&mut files, Path::new(library), &place)?;
    let client = Path::new(packages).join("polign_recall");
    add_tree(
        &mut files,
        &client,
        &format!("{place}/site-packages/polign_recall"),
    )?;
    add_certificates(&mut files);
    let config = json!({
        "User": "10001:10001",
        "Entrypoint": ["/usr/local/bin/python3", "/usr/local/bin/agent.py"],
        "Cmd": ["work"],
        "Env": ["PATH=/usr/local/bin", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1"],
    });
    let folders = vec![("tmp".to_owned(), SCRATCH)];
    Ok(Image {
        name: AGENT.to_owned(),
        files,
        texts: names(),
        folders,
        config,
    })
}

/// A shell and curl.
pub(crate) fn tools() -> anyhow::Result<Image> {
    let mut files = BTreeMap::new();
    for name in ["sh", "cat", "curl", "sed"] {
        let found = output(Command::new("sh").args(["-c", &format!("command -v {name}")]))?;
        let program = std::fs::canonicalize(found.trim())?;
        add_program(&mut files, &program, &format!("bin/{name}"))?;
    }
    add_certificates(&mut files);
    let config = json!({ "User": "65532:65532", "Entrypoint": ["/bin/sh"], "Env": ["PATH=/bin"] });
    let folders = vec![("tmp".to_owned(), SCRATCH)];
    Ok(Image {
        name: TOOLS.to_owned(),
        files,
        texts: names(),
        folders,
        config,
    })
}

/// How names are resolved and who the users are.
fn names() -> BTreeMap<String, String> {
    let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    BTreeMap::from([
        text("etc/nsswitch.conf", "hosts: files dns\n"),
        text(
            "etc/passwd",
            "root:x:0:0:root:/:/\nagent:x:10001:10001::/tmp:/\nnonroot:x:65532:65532::/tmp:/\n",
        ),
    ])
}

fn add_certificates(files: &mut BTreeMap<String, PathBuf>) {
    let bundle = Path::new("/etc/ssl/certs/ca-certificates.crt");
    if bundle.exists() {
        files.insert(
            "etc/ssl/certs/ca-certificates.crt".to_owned(),
            bundle.to_owned(),
        );
    }
}

/// A program and what it is linked with.
fn add_program(
    files: &mut BTreeMap<String, PathBuf>,
    program: &Path,
    place: &str,
) -> anyhow::Result<()> {
    for library in libraries(program)? {
        files.insert(
            library.trim_start_matches('/').to_owned(),
            PathBuf::from(&library),
        );
    }
    files.insert(place.to_owned(), program.to_owned());
    Ok(())
}

/// The absolute paths of the libraries that the loader would load.
fn libraries(program: &Path) -> anyhow::Result<BTreeSet<String>> {
    let said = Command::new("ldd")
        .arg(program)
        .output()
        .context("ldd cannot be started")?;
    // It fails for a static program, which needs nothing.
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let paths = text
        .split_whitespace()
        .filter(|word| word.starts_with('/') && !word.ends_with(':'));
    Ok(paths.map(str::to_owned).collect())
}

/// A folder of Python files with the libraries of its compiled modules.
fn add_tree(files: &mut BTreeMap<String, PathBuf>, from: &Path, place: &str) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let place = format!("{place}/{name}");
        let left_out = LEFT_OUT.contains(&name.as_str()) || name.starts_with("config-");
        if path.is_dir() && !left_out {
            add_tree(files, &path, &place)?;
        } else if name.contains(".so") {
            add_program(files, &path, &place)?;
        } else if path.is_file() {
            files.insert(place, path);
        }
    }
    Ok(())
}
