//! BM25 as textbooks have it, to compare with: k1 1.2, b 0.75.

use std::collections::HashMap;

const STOP: &str = "a an and are as at be been but by did do does for from had has have he her his how \
    i in is it its me my of on or our she so that the their them they this to was we were what when \
    where which who whom why will with would you your";

/// An index over one conversation.
#[derive(Debug)]
pub(crate) struct Bm25 {
    clean: bool,
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    mean: f64,
}

impl Bm25 {
    /// With `clean`, common words are dropped and endings cut.
    pub(crate) fn new(texts: &[String], clean: bool) -> Self {
        let mut index = Self {
            clean,
            postings: HashMap::new(),
            lengths: Vec::new(),
            mean: 0.0,
        };
        for (no, text) in texts.iter().enumerate() {
            let words = index.cut(text);
            index.lengths.push(words.len() as f64);
            let mut counts: HashMap<String, f64> = HashMap::new();
            for word in words {
                *counts.entry(word).or_default() += 1.0;
            }
            for (word, times) in counts {
                index.postings.entry(word).or_default().push((no, times));
            }
        }
        index.mean = index.lengths.iter().sum::<f64>() / index.lengths.len().max(1) as f64;
        index
    }

    pub(crate) fn search(&self, question: &str, limit: usize) -> Vec<usize> {
        let mut scores: HashMap<usize, f64> = HashMap::new();
        let items = self.lengths.len() as f64;
        for word in self.cut(question) {
            let postings = self.postings.get(&word).map_or(&[][..], Vec::as_slice);
            let holders = postings.len() as f64;
            let idf = (1.0 + (items - holders + 0.5) / (holders + 0.5)).ln();
            for (no, times) in postings {
                let length = self.lengths.get(*no).copied().unwrap_or_default();
                let norm = 1.2 * (0.25 + 0.75 * length / self.mean);
                *scores.entry(*no).or_default() += idf * times * 2.2 / (times + norm);
            }
        }
        let mut best: Vec<_> = scores.into_iter().collect();
        best.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        best.into_iter().take(limit).map(|(no, _)| no).collect()
    }

    fn cut(&self, text: &str) -> Vec<String> {
        let text = text.to_lowercase().replace("'s", "");
        let words =
            text.split(|letter: char| !letter.is_ascii_lowercase() && !letter.is_ascii_digit());
        let words = words.filter(|word| !word.is_empty());
        match self.clean {
            false => words.map(str::to_owned).collect(),
            true => words
                .filter(|word| !STOP.split_whitespace().any(|stop| stop == *word))
                .map(light)
                .collect(),
        }
    }
}

/// Cuts the endings of plural, progressive and past.
fn light(word: &str) -> String {
    let mut word = word.to_owned();
    let ends = |word: &str, end: &str, least: usize| word.len() > least && word.ends_with(end);
    if ends(&word, "ies", 4) {
        word.replace_range(word.len() - 3.., "y");
    } else if ["ses", "xes", "zes"].iter().any(|end| ends(&word, end, 4)) {
        word.truncate(word.len() - 2);
    } else if ends(&word, "s", 3) && !word.ends_with("ss") && !word.ends_with("us") {
        word.pop();
    }
    if ends(&word, "ing", 5) {
        word.truncate(word.len() - 3);
    } else if ends(&word, "ed", 4) {
        word.truncate(word.len() - 2);
    }
    let letters = word.as_bytes();
    if let [.., one, two] = letters
        && letters.len() > 3
        && one == two
        && !b"aeiouls".contains(two)
    {
        word.pop();
    }
    if ends(&word, "e", 4) {
        word.pop();
    }
    word
}
