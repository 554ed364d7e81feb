//! A plot of latency against the size of a memory, both on logarithmic scales, as SVG.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 4] = ["#1b6ca8", "#52a447", "#c0392b", "#8e44ad"];

/// One line of the plot: its name, and facts with milliseconds.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// The powers of ten that hold all values.
fn decades(values: impl Iterator<Item = f64>) -> (i32, i32) {
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let (low, high) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    (low, high.max(low + 1))
}

/// The picture. Points that are not above zero have no place on it.
pub(super) fn svg(series: &[Series]) -> String {
    let points = || {
        let all = series.iter().flat_map(|series| series.points.iter());
        all.filter(|(facts, ms)| *facts > 0.0 && *ms > 0.0)
    };
    if points().next().is_none() {
        return String::new();
    }
    let (left, right) = decades(points().map(|(facts, _)| *facts));
    let (low, high) = decades(points().map(|(_, ms)| *ms));
    let x = |facts: f64| {
        let share = (facts.log10() - f64::from(left)) / f64::from(right - left);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    };
    let y = |ms: f64| {
        let share = (ms.log10() - f64::from(low)) / f64::from(high - low);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Time of one call against the number of facts</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    // Writing to a string does not fail.
    for power in left..=right {
        let at = x(10f64.powi(power));
        let (from, to) = (TOP, HEIGHT - BOTTOM);
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{from}\" x2=\"{at:.1}\" y2=\"{to}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            to + 18.0,
            10f64.powi(power)
        );
    }
    for power in low..=high {
        let at = y(10f64.powi(power));
        let to = WIDTH - RIGHT;
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{to}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{} ms</text>",
            LEFT - 6.0,
            at + 4.0,
            10f64.powi(power)
        );
    }
    for (number, series) in series.iter().enumerate() {
        line(&mut out, number, series, &x, &y);
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">facts in one memory</text>\n</svg>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 10.0
    );
    out
}

fn line(
    out: &mut String,
    number: usize,
    series: &Series,
    x: &impl Fn(f64) -> f64,
    y: &impl Fn(f64) -> f64,
) {
    let colour = COLOURS
        .get(number % COLOURS.len())
        .copied()
        .unwrap_or("black");
    let shown = series
        .points
        .iter()
        .filter(|(facts, ms)| *facts > 0.0 && *ms > 0.0);
    let at: Vec<(f64, f64)> = shown.map(|(facts, ms)| (x(*facts), y(*ms))).collect();
    let path: Vec<String> = at.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        path.join(" ")
    );
    for (x, y) in &at {
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
        );
    }
    let (x, y) = (WIDTH - RIGHT + 12.0, TOP + 20.0 * (number as f64 + 0.5));
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
         <text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
        y - 9.0,
        x + 16.0,
        series.name
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_times_as_much_lies_one_decade_further() {
        let points = vec![(1_000.0, 0.1), (10_000.0, 1.0), (100_000.0, 10.0)];
        let name = "query".to_owned();
        let picture = svg(&[Series { name, points }]);
        // Three points on a line from corner to corner.
        assert!(
            picture.contains("points=\"70.0,350.0 300.0,190.0 530.0,30.0\""),
            "{picture}"
        );
        for label in ["1000<", "100000<", ">0.1 ms<", ">10 ms<", ">query<"] {
            assert!(picture.contains(label), "{label} in {picture}");
        }
    }

    #[test]
    fn nothing_measured_is_no_picture() {
        assert_eq!(svg(&[]), "");
        let points = vec![(0.0, 1.0)];
        let name = String::new();
        assert_eq!(svg(&[Series { name, points }]), "");
    }
}
