//! Cookie of a sticky session: parsed from a request's cookies and written for a response. Its value is opaque here.

/// Returns the value of a cookie in one Cookie field. The first counts: a browser sends the most specific one first
/// (RFC 6265, 5.4).
pub fn cookie<'a>(field: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    field.split(|byte| *byte == b';').find_map(|pair| {
        let value = pair.trim_ascii().strip_prefix(name)?.strip_prefix(b"=")?;
        Some(value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value))
    })
}

/// Returns the Set-Cookie field of a sticky session, valid until the browser closes. Scripts can't read it, and other
/// sites send it only along a link. `secure` keeps it off plain HTTP.
pub fn sticky_cookie(name: &str, value: &str, secure: bool) -> String {
    let secure = if secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let field = b"xfl=1; fl-x=2;fl=3 ; fl=4; q=\"5\"; flag";
        assert_eq!(cookie(field, b"fl"), Some(&b"3"[..]));
        assert_eq!(cookie(field, b"q"), Some(&b"5"[..]));
        assert_eq!(cookie(field, b"flag"), None);
        assert_eq!(cookie(b"", b"fl"), None);
        assert_eq!(sticky_cookie("fl", "ab", true), "fl=ab; Path=/; HttpOnly; SameSite=Lax; Secure");
        assert!(!sticky_cookie("fl", "ab", false).contains("Secure"));
    }
}
