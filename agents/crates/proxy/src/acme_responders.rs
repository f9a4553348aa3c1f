//! Answers to HTTP-01 challenges of certificate authorities (RFC 8555, 8.3). An answer needs only the token of the request
//! and the thumbprint of the account, so every server of a host answers the challenges of an order of any of them.

use std::collections::HashMap;

use fairlead_wire::local::AcmeResponder;

/// Maximum length of a token; authorities use 43 characters.
const TOKEN_BYTES_MAX: usize = 128;

/// Thumbprints of accounts by the hosts that they order certificates for.
#[derive(Debug, Default)]
pub(crate) struct AcmeResponders {
    by_host: HashMap<Box<[u8]>, Box<str>>,
}

impl AcmeResponders {
    pub(crate) fn new(responders: &[AcmeResponder]) -> Self {
        let with_thumbprint = responders.iter().filter(|one| !one.thumbprint.is_empty());
        let entries = with_thumbprint.map(|one| (one.host.as_bytes().into(), one.thumbprint.as_str().into()));
        Self { by_host: entries.collect() }
    }

    /// Returns the key authorization for a token; `None` for a host without an order, and for a token with other characters
    /// than those of base64url (RFC 4648, 5).
    pub(crate) fn key_authorization(&self, host: &[u8], token: &[u8]) -> Option<String> {
        let thumbprint = self.by_host.get(host)?;
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if token.is_empty() || token.len() > TOKEN_BYTES_MAX || !token.iter().all(is_token) {
            return None;
        }
        let token = std::str::from_utf8(token).ok()?;
        Some(format!("{token}.{thumbprint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_of_hosts_with_an_order_are_answered() {
        let responder =
            AcmeResponder { host: "shop.example.com".into(), thumbprint: "print".into(), ..AcmeResponder::default() };
        let responders = AcmeResponders::new(&[responder]);
        let answer = |host: &str, token: &str| responders.key_authorization(host.as_bytes(), token.as_bytes());
        assert_eq!(answer("shop.example.com", "a-Z_9").as_deref(), Some("a-Z_9.print"));
        assert_eq!(answer("other.example.com", "a"), None);
        for token in ["", "a/b", "a.b", "<script>", &"a".repeat(129)] {
            assert_eq!(answer("shop.example.com", token), None, "{token}");
        }
    }
}
