//! What the parts of a request to a memory cost without HTTP and without a disk. Run and compared by
//! `cargo xtask bench micro`.

use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use jiff::Timestamp;
use recall_memory::search::{Index, NewItem, Query};
use recall_memory::{Args, Config, Memory, Operation, Quota, Registry, Surface, Writer};
use recall_store::{MemoryStore, Namespace, SystemClock};
use tokio::runtime::Runtime;

const SIZES: [usize; 2] = [2_000, 24_000];
/// A query must grow slowly with the memory.
const QUERIED: [usize; 4] = [2_000, 24_000, 100_000, 1_000_000];
/// The most statements of one text.
const A_TEXT: usize = 500;
/// Their choice repeats only after all were met, whatever the number of items.
const STRIDE: usize = 7_919;
const WORDS: [&str; 16] = [
    "anchor", "basil", "canyon", "compiler", "copper", "deadline", "falcon", "glacier", "harbour",
    "invoice", "kernel", "lantern", "marble", "monsoon", "orchid", "paprika",
];

fn main() {
    divan::main();
}

/// Twelve words and a number of their own.
fn note(number: usize) -> String {
    let words = (0..12).map(|place| WORDS[(number * 7 + place * place * 3) % WORDS.len()]);
    format!("{} {number}", words.collect::<Vec<_>>().join(" "))
}

fn statement(number: usize) -> String {
    match number % 2 {
        0 => {
            format!(r#"{{"subject":"u{number}","predicate":"prefers_editor","value":"e{number}"}}"#)
        }
        _ => format!(
            r#"{{"subject":"proj","predicate":"note","value":"{}"}}"#,
            note(number)
        ),
    }
}

struct Ground {
    runtime: Runtime,
    store: Arc<MemoryStore>,
    memory: Memory,
    ns: Namespace,
    writer: Writer,
}

impl Ground {
    fn new(facts: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let store = Arc::new(MemoryStore::new());
        let ground = Self {
            memory: over(&store),
            runtime,
            store,
            ns: "team:bench".parse().expect("a namespace"),
            writer: Writer {
                key_id: "k_bench".to_owned(),
                session: None,
            },
        };
        for number in 0..facts {
            ground.call(Operation::Remember, &statement(number));
        }
        ground
    }

    fn call(&self, operation: Operation, body: &str) -> usize {
        self.call_on(&self.memory, operation, body)
    }

    fn call_on(&self, memory: &Memory, operation: Operation, body: &str) -> usize {
        let args = Args::parse(body.as_bytes()).expect("an object");
        let call = memory.call(&self.ns, &self.writer, operation, args);
        let answer = self.runtime.block_on(call);
        answer.expect("an answer").json.len()
    }
}

fn over(store: &Arc<MemoryStore>) -> Memory {
    let config = Config {
        surface: Surface::Typed,
        registry: Registry::closed(),
        view_memory: 1 << 30,
        freshness: Duration::ZERO,
        quota: Quota::default(),
    };
    Memory::new(Arc::clone(store) as _, Arc::new(SystemClock), config)
}

/// A log read, folded and indexed: the first touch of a namespace.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1)]
fn fold_a_log(bencher: Bencher<'_, '_>, facts: usize) {
    let ground = Ground::new(facts);
    bencher
        .counter(ItemsCount::new(facts))
        .with_inputs(|| over(&ground.store))
        .bench_values(|memory| {
            ground.call_on(&memory, Operation::Recall, r#"{"subject":"u0"}"#);
            memory
        });
}

/// A request's bytes to its answer's: JSON in, a look into the view, JSON out.
#[divan::bench(args = SIZES)]
fn recall_a_pair(bencher: Bencher<'_, '_>, facts: usize) {
    let ground = Ground::new(facts);
    let mut number = 0;
    let next = || {
        number = (number + STRIDE * 2) % facts;
        format!(r#"{{"subject":"u{number}","predicate":"prefers_editor"}}"#)
    };
    bencher
        .with_inputs(next)
        .bench_local_values(|body| ground.call(Operation::Recall, &body));
}

/// Three words, ten answers, in JSON.
#[divan::bench(args = SIZES)]
fn recall_a_query(bencher: Bencher<'_, '_>, facts: usize) {
    let ground = Ground::new(facts);
    let mut number = 0;
    let next = || {
        number += 1;
        let word = |place: usize| WORDS[(number * place + place) % WORDS.len()];
        format!(
            r#"{{"query":"{} {} {}","limit":10}}"#,
            word(1),
            word(3),
            word(5)
        )
    };
    bencher
        .with_inputs(next)
        .bench_local_values(|body| ground.call(Operation::Recall, &body));
}

/// Decided, appended to a log in memory, applied.
#[divan::bench]
fn remember(bencher: Bencher<'_, '_>) {
    let ground = Ground::new(2_000);
    let mut number = 2_000;
    let next = || {
        number += 2;
        statement(number)
    };
    bencher
        .with_inputs(next)
        .bench_local_values(|body| ground.call(Operation::Remember, &body));
}

/// A body of many statements, parsed.
#[divan::bench]
fn parse_arguments(bencher: Bencher<'_, '_>) {
    let statements: Vec<String> = (0..A_TEXT).map(statement).collect();
    let body = format!(r#"{{"statements":[{}]}}"#, statements.join(","));
    bencher
        .counter(divan::counter::BytesCount::of_str(&body))
        .bench(|| Args::parse(divan::black_box(body.as_bytes())).expect("an object"));
}

fn index(items: usize) -> Index {
    let mut index = Index::default();
    for number in 0..items {
        insert(&mut index, &note(number));
    }
    index
}

fn insert(index: &mut Index, text: &str) {
    index.insert(&NewItem {
        text,
        speaker: None,
        assistant: false,
        session: None,
        observed_at: Timestamp::UNIX_EPOCH,
    });
}

#[divan::bench(args = SIZES)]
fn index_insert(bencher: Bencher<'_, '_>, items: usize) {
    let mut index = index(items);
    let mut number = items;
    let next = || {
        number += 1;
        note(number)
    };
    bencher
        .with_inputs(next)
        .bench_local_values(|text| insert(&mut index, &text));
}

/// Twelve words of 24 in every other item, so that each is in a fifth of all; three of them asked for.
#[divan::bench(args = QUERIED)]
fn index_query(bencher: Bencher<'_, '_>, items: usize) {
    const VOCABULARY: usize = 24;
    let mut dice = 1_u64;
    let mut word = move || {
        // Knuth's linear congruential generator; its high bits are the random ones.
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("word{}", (dice >> 33) as usize % VOCABULARY)
    };
    let mut words = |count: usize| (0..count).map(|_| word()).collect::<Vec<_>>().join(" ");
    let mut index = Index::default();
    for number in 0..items {
        match number % 2 {
            0 => insert(&mut index, &format!("u{number} prefers editor e{number}")),
            _ => insert(&mut index, &format!("{} {number}", words(12))),
        }
    }
    let questions: Vec<String> = (0..64).map(|_| words(3)).collect();
    let mut next = questions.iter().cycle();
    bencher.bench_local(|| {
        let query = Query {
            text: next.next().map_or("", String::as_str),
            limit: 10,
            now: Timestamp::UNIX_EPOCH,
        };
        index.search(divan::black_box(&query), &|_| true)
    });
}
