//! Both servers on one polign_db, each with collections of its own.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use recall_testkit::polign::Polign;

use super::compare::{Asked, Comparison};
use super::load::{self, Load};
use super::report::{Bound, Report};
use super::requests::{self, Dice};
use super::sides::{Side, address, start_ours};
use super::{Plan, Scenario};
use crate::http;
use crate::python;
use crate::shell::say;

/// What is compared, its name in the report, and how many times the published server's rate is asked
/// for.
const LOADS: [(Scenario, &str, f64); 3] = [
    (Scenario::Recall, "recall, polign_db", 300.0),
    (Scenario::Query, "query, polign_db", 150.0),
    (Scenario::Remember, "remember, polign_db", 20.0),
];
/// The larger memory, on which ours must be about as quick.
const LARGE: u64 = 24_000;
/// The longest that the store is waited for: it works on for a while by itself, on the processors that the
/// load needs.
const SETTLING: Duration = Duration::from_secs(300);
/// Places of a vector of the published layout.
const PLACES: usize = 256;

pub(super) fn run(
    plan: &Plan,
    dir: &Path,
    admin_key_file: &Path,
    beside: bool,
    report: &mut Report,
) -> anyhow::Result<()> {
    say("polign_db");
    let environment = python::environment(python::CURRENT)?;
    let program = python::program(&environment, "polign-server")?;
    let folder = dir.join("bench-polign");
    std::fs::create_dir_all(&folder)?;
    let mut db = Polign::start(&program, &folder, &[])?;
    let url = db.url();
    let comparison = |facts| Comparison {
        plan,
        connections: plan.connections,
        callers: false,
        facts,
        tokens: &[],
        bare: None,
    };
    let ours = |name: &str| {
        let flags = flags(&url, name);
        Ok::<_, anyhow::Error>(Asked::new(
            Side::ours(name, dir, admin_key_file, &flags)?,
            plan.seed,
        ))
    };
    let mut small = ours("polign-small")?;
    let few = comparison(plan.facts);
    few.load("ours", &mut small, false)?;
    let mut theirs = None;
    if beside {
        let flags = [
            "-typed",
            "-backend",
            "polign",
            "-url",
            &url,
            "-collection",
            "published",
        ];
        let flags = flags.map(str::to_owned);
        let side = Side::theirs("polign-published", dir, admin_key_file, &flags)?;
        let theirs = theirs.insert(Asked::new(side, plan.seed));
        few.load("published", theirs, false)?;
    }
    db.settle(SETTLING);
    let mut rates = Vec::new();
    for (scenario, name, floor) in LOADS {
        let bare = match scenario {
            Scenario::Remember => Some(bare_puts(&url, plan)?),
            _ => None,
        };
        let row = few.rounds(scenario, &mut small, theirs.as_mut())?;
        rates.push(row.rate());
        if let Some(bare) = bare {
            report.figure("polign_db: puts of a bare client", bare, "/s", Bound::None);
            let name = "polign_db: remember rate / bare client's";
            report.figure(name, row.rate() / bare, "", Bound::AtLeast(0.6));
        }
        report.rows.push(row.named(name, Some(floor)));
    }
    drop((small, theirs));

    let many = comparison(LARGE.min(plan.large));
    // Asked for the first time before statements are added to the facts.
    let mut filled = ours("polign-large")?;
    many.load("ours", &mut filled, false)?;
    let key = filled.side.key.clone();
    drop(filled);
    db.settle(SETTLING);
    let first = first_touch(dir, admin_key_file, &flags(&url, "polign-large"), &key)?;
    let name = format!("polign_db: first answer from {} facts", many.facts);
    report.figure(name, first, "s", Bound::AtMost(1.5));

    let mut large = ours("polign-large")?;
    for ((scenario, name, _), small) in LOADS.into_iter().zip(rates) {
        let row = many.rounds(scenario, &mut large, None)?;
        let name = format!("{name}: rate at {} facts / at {}", many.facts, plan.facts);
        report.figure(name, row.rate() / small, "", Bound::AtLeast(0.8));
    }
    Ok(())
}

fn flags(url: &str, collection: &str) -> Vec<String> {
    vec![
        "--surface=typed".to_owned(),
        "--backend=polign".to_owned(),
        format!("--backend-url={url}"),
        format!("--collection={collection}"),
    ]
}

/// The single puts a second of a client that does nothing else, with as many callers.
fn bare_puts(url: &str, plan: &Plan) -> anyhow::Result<f64> {
    let places = vec!["0"; PLACES - 1].join(",");
    let load = Load {
        count: plan.most_writes,
        ..Load::during(plan.round, plan.connections)
    };
    let mut write = |number: u64, out: &mut Vec<u8>| {
        let body = format!(
            r#"{{"values":[1,{places}],"metadata":{{"kind":"fact","subject":"s{number}","predicate":"prefers_editor","value":"v{number}","text":"s{number} prefers editor v{number}","observed_ms":{number}}}}}"#
        );
        let path = format!("/v1/collections/bare/vectors/m-{number}");
        requests::put(out, &path, &body);
    };
    Ok(load::run(address(url)?, load, &mut write)?
        .all_served()?
        .rate())
}

/// How long a server that has just started takes for the first question to a memory.
fn first_touch(
    dir: &Path,
    admin_key_file: &Path,
    flags: &[String],
    key: &str,
) -> anyhow::Result<f64> {
    let server = start_ours("polign-large", dir, admin_key_file, flags)?;
    let began = Instant::now();
    while !http::ok(&format!("{}/readyz", server.admin_url)) {
        ensure!(began.elapsed() < Duration::from_secs(60), "never ready");
    }
    let began = Instant::now();
    let body = requests::query(&mut Dice::new(1));
    let url = format!("{}/v1/recall", server.url);
    let (status, text) = http::request("POST", &url, Some(key), &body)?;
    ensure!(status == 200, "the first query: {status} {text}");
    Ok(began.elapsed().as_secs_f64())
}
