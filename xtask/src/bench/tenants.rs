//! Many memories on one server: more than may stay resident at once.

use std::path::Path;

use super::load::{self, Load};
use super::report::{Bound, Report};
use super::requests::{self, Dice};
use super::sides::{Side, mint_for};
use super::{MEBIBYTE, Plan};
use crate::shell::say;
use crate::test::read_line;

const VIEWS: &str = "256MiB";

pub(super) fn run(
    plan: &Plan,
    dir: &Path,
    admin_key_file: &Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    let (tenants, each) = (plan.tenants, plan.facts_a_tenant);
    say(&format!("{tenants} memories of {each} facts"));
    let flags = [
        "--surface=typed".to_owned(),
        format!("--view-memory={VIEWS}"),
    ];
    let mut side = Side::ours("tenants", dir, admin_key_file, &flags)?;
    let admin = read_line(admin_key_file)?;
    let url = format!("http://{}", side.address);
    let keys: Vec<String> = (0..tenants)
        .map(|number| mint_for(&format!("tenant-{number}:agent"), &url, &admin))
        .collect::<anyhow::Result<_>>()?;
    let key = |number: u64| {
        keys.get((number % tenants) as usize)
            .map_or("", String::as_str)
    };
    let mut dice = Dice::new(plan.seed);
    let filling = Load::of(tenants * each, plan.connections);
    // One memory after the other, as they would be if each belonged to an agent at work.
    let mut write = |number: u64, out: &mut Vec<u8>| {
        let body = requests::fact(number % each, &mut dice);
        requests::post(out, "/v1/remember", key(number / each), &body);
    };
    let filled = load::run(side.address, filling, &mut write)?
        .all_served()?
        .rate();
    let ask = |kind: fn(u64, &mut Dice) -> String| {
        let mut dice = Dice::new(plan.seed);
        let load = Load::during(plan.round, plan.connections);
        let mut write = |_: u64, out: &mut Vec<u8>| {
            let whose = dice.below(tenants);
            requests::post(out, "/v1/recall", key(whose), &kind(each, &mut dice));
        };
        load::run(side.address, load, &mut write)?.all_served()
    };
    let recalled = ask(requests::pair)?;
    let queried = ask(|_, dice| requests::query(dice))?;
    let all = tenants * each;
    let mut figure = |name: &str, value, unit, bound| {
        let name = format!("{all} facts in {tenants} memories: {name}");
        report.figure(name, value, unit, bound);
    };
    figure("filled at", filled, "/s", Bound::None);
    figure("exact recall", recalled.rate(), "/s", Bound::None);
    figure(
        "exact recall p99",
        recalled.percentile(0.99),
        "ms",
        Bound::None,
    );
    figure("query", queried.rate(), "/s", Bound::None);
    figure("query p99", queried.percentile(0.99), "ms", Bound::None);
    let resident = side.resident_bytes() as f64 / MEBIBYTE;
    figure(
        &format!("resident, views {VIEWS}"),
        resident,
        "MB",
        Bound::AtMost(450.0),
    );
    Ok(())
}
