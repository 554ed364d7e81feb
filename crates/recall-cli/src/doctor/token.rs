//! What a projected token says of itself. Nothing of it is believed by the server on this ground; it
//! tells a person what is wrong before anybody is asked.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use secrecy::ExposeSecret;
use serde_json::Value;

use super::fix;
use super::report::Finding;
use crate::credential;

pub(super) fn examine(path: &Path) -> Finding<()> {
    let token = match credential::read(path) {
        Ok(token) => token,
        Err(error) => return Err((format!("{error:#}"), fix::TOKEN_FILE.to_owned())),
    };
    let Some(claims) = claims(token.expose_secret()) else {
        return Err((
            format!("{} holds no service-account token", path.display()),
            fix::TOKEN_FILE.to_owned(),
        ));
    };
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    judge(&claims, Timestamp::now(), mounted_alone(path, &mounts))
}

/// Judges the claims. `alone`: the file is a mount of its own, as subPath makes it.
fn judge(claims: &Value, now: Timestamp, alone: bool) -> Finding<()> {
    let subpath = "mount the volume's directory instead of the one file (no subPath): a file mounted alone \
                   is never renewed";
    let left = claims["exp"].as_i64().map(|end| end - now.as_second());
    match left {
        Some(left) if left <= 0 => {
            let fix = match alone {
                true => subpath,
                false => {
                    "kubelet renews a projected token by itself: see that the file is the one in the \
                          projected volume, not a copy of it"
                }
            };
            return Err((format!("expired {} s ago", -left), fix.to_owned()));
        }
        _ if alone => {
            let wrong = "mounted with subPath: good now, and never renewed".to_owned();
            return Err((wrong, subpath.to_owned()));
        }
        _ => {}
    }
    let audiences = match &claims["aud"] {
        Value::String(one) => vec![one.as_str()],
        several => several
            .as_array()
            .map(|several| several.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default(),
    };
    let pod = claims["kubernetes.io"]["pod"]["name"].as_str();
    let Some(pod) = pod else {
        return Err((
            "bound to no pod".to_owned(),
            fix::of("not_pod_bound").to_owned(),
        ));
    };
    let left = left.map_or_else(|| "without end".to_owned(), |left| format!("{left} s left"));
    Ok((
        (),
        format!("of pod {pod}, audience {}, {left}", audiences.join(" and ")),
    ))
}

/// The second part of a JWT, unverified.
fn claims(token: &str) -> Option<Value> {
    let mut parts = token.split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    let bytes = URL_SAFE_NO_PAD.decode(payload).ok()?;
    serde_json::from_slice(&bytes).ok().filter(Value::is_object)
}

/// Whether the file itself is a mount point, by the kernel's table of mounts.
fn mounted_alone(path: &Path, mounts: &str) -> bool {
    let path = path.to_string_lossy();
    mounts
        .lines()
        .any(|line| line.split(' ').nth(4) == Some(path.as_ref()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn good() -> Value {
        json!({"aud": ["recall"], "exp": 2000, "kubernetes.io": {"pod": {"name": "demo", "uid": "u"}}})
    }

    #[track_caller]
    fn check(claims: &Value, alone: bool, expected: Result<&str, &str>) {
        let now = Timestamp::from_second(1000).expect("a time");
        let found = judge(claims, now, alone)
            .map(|((), detail)| detail)
            .map_err(|(wrong, fix)| {
                assert!(!fix.is_empty());
                wrong
            });
        let as_texts = found.as_ref().map(String::as_str).map_err(String::as_str);
        assert_eq!(as_texts, expected);
    }

    #[test]
    fn a_token_is_judged_by_what_it_says() {
        let detail = "of pod demo, audience recall, 1000 s left";
        check(&good(), false, Ok(detail));
        let alone = "mounted with subPath: good now, and never renewed";
        check(&good(), true, Err(alone));
        let mut expired = good();
        expired["exp"] = 990.into();
        check(&expired, false, Err("expired 10 s ago"));
        check(&expired, true, Err("expired 10 s ago"));
        let mut unbound = good();
        unbound["kubernetes.io"] = json!({"serviceaccount": {"name": "runner"}});
        check(&unbound, false, Err("bound to no pod"));
        let mut several = good();
        several["aud"] = json!(["recall", "vault"]);
        let detail = "of pod demo, audience recall and vault, 1000 s left";
        check(&several, false, Ok(detail));
    }

    #[test]
    fn only_a_jwt_is_a_token() {
        let payload = URL_SAFE_NO_PAD.encode(good().to_string());
        assert_eq!(claims(&format!("h.{payload}.s")), Some(good()));
        for bad in [
            "",
            "x",
            "a.b",
            "a.b.c",
            &format!("{payload}.x.y"),
            "e.WzFd.s",
        ] {
            assert_eq!(claims(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_file_mounted_alone_is_found_in_the_table_of_mounts() {
        let table = "36 35 98:0 /mnt1 /mnt2 rw,noatime - ext3 /dev/root rw\n\
                     40 35 0:51 /token /var/run/secrets/recall/token ro - tmpfs tmpfs rw\n";
        let path = Path::new("/var/run/secrets/recall/token");
        assert!(mounted_alone(path, table));
        let folder = "40 35 0:51 / /var/run/secrets/recall ro - tmpfs tmpfs rw\n";
        assert!(!mounted_alone(path, folder));
    }
}
