//! Parser of HTTP basic credentials in Authorization (RFC 7617). It does not verify them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Longest value to parse: long passwords only cost time.
const VALUE_BYTES_MAX: usize = 1024;

/// User name and password. Neither is ever printed.
pub struct Credentials {
    text: Vec<u8>,
    colon: usize,
}

impl Credentials {
    /// Parses the value of an Authorization field; `None` if it has another scheme or is malformed.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let (scheme, token) = value.split_at_checked(6)?;
        if !scheme.eq_ignore_ascii_case(b"basic ") || value.len() > VALUE_BYTES_MAX {
            return None;
        }
        let text = STANDARD.decode(token.trim_ascii()).ok()?;
        let colon = memchr::memchr(b':', &text)?;
        Some(Self { text, colon })
    }

    /// Returns the user name.
    pub fn user(&self) -> &[u8] {
        &self.text[..self.colon]
    }

    /// Returns the password as bytes.
    pub fn password(&self) -> &[u8] {
        &self.text[self.colon + 1..]
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_password_may_hold_colons_and_the_scheme_is_in_any_case() {
        let found = Credentials::parse(b"bAsIc QW5uOmE6Yg==").unwrap();
        assert_eq!((found.user(), found.password()), (&b"Ann"[..], &b"a:b"[..]));
        for value in ["", "Basic", "Basic ", "Basic QW5u", "Bearer QW5uOmE6Yg==", "Basic QW5uOmE6Yg=", "Basic Q\u{e9}"]
        {
            assert!(Credentials::parse(value.as_bytes()).is_none(), "{value}");
        }
        assert!(!format!("{found:?}").contains("Ann"));
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_read(user in "[^:]{0,20}", password in ".{0,20}") {
            let value = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
            let found = Credentials::parse(value.as_bytes()).unwrap();
            prop_assert_eq!((found.user(), found.password()), (user.as_bytes(), password.as_bytes()));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(value in prop::collection::vec(any::<u8>(), 0..60)) {
            drop(Credentials::parse(&value));
        }
    }
}
