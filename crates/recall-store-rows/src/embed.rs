//! The vector that every record carries: words hashed into 256 places, as the published server does
//! without a model. What it finds by vector, it then finds among our records too.

/// The places of a vector.
pub const PLACES: usize = 256;

/// Hashes the words of a text. A text without any is one in the first place, for a vector of
/// nothing has no direction.
pub(crate) fn embed(text: &str) -> Vec<f32> {
    let mut places = vec![0f32; PLACES];
    let lower = text.to_lowercase();
    for word in lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let hash = fnv1a(word.as_bytes());
        let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
        if let Some(place) = places.get_mut((hash % PLACES as u64) as usize) {
            *place += sign;
        }
    }
    let length = places.iter().map(|place| place * place).sum::<f32>().sqrt();
    if length == 0.0 {
        return unit();
    }
    places.iter_mut().for_each(|place| *place /= length);
    places
}

/// One in the first place: the vector of keys.
pub(crate) fn unit() -> Vec<f32> {
    let mut places = vec![0f32; PLACES];
    if let Some(first) = places.first_mut() {
        *first = 1.0;
    }
    places
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(usize, f32)]) {
        let found: Vec<(usize, f32)> = embed(text)
            .into_iter()
            .enumerate()
            .filter(|(_, place)| *place != 0.0)
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    /// Vectors that the published server wrote for these sentences.
    #[test]
    fn vectors_of_the_published_server() {
        check(
            "user dislikes green tea",
            &[(73, 0.5), (101, 0.5), (188, 0.5), (242, 0.5)],
        );
        check(
            "user likes green tea",
            &[(73, 0.5), (95, -0.5), (188, 0.5), (242, 0.5)],
        );
        check(
            "user prefers editor helix",
            &[(108, 0.5), (135, -0.5), (152, -0.5), (242, 0.5)],
        );
        check(
            "user age 42.5",
            &[(35, 0.5), (48, -0.5), (92, -0.5), (242, 0.5)],
        );
        check("hello", &[(11, -1.0)]);
        check("", &[(0, 1.0)]);
    }
}
