//! Password hashes for basic authentication: PBKDF2-HMAC-SHA256 (RFC 8018), written `pbkdf2-sha256:<iterations>:<salt,
//! base64>:<32 bytes, base64>`.

use std::num::NonZeroU32;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use aws_lc_rs::{error::Unspecified, pbkdf2};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const ALGORITHM: pbkdf2::Algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
const SCHEME: &str = "pbkdf2-sha256";
/// Iterations that OWASP's password storage cheat sheet recommends for this function (2023).
const ITERATIONS: NonZeroU32 = NonZeroU32::new(600_000).unwrap();
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// Error of a text that is not a password hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the password hash is not of the form pbkdf2-sha256:<iterations>:<salt>:<hash>")]
pub struct PasswordHashError;

/// Password hash with its salt and iterations.
#[derive(Clone)]
pub struct PasswordHash {
    iterations: NonZeroU32,
    salt: Box<[u8]>,
    hash: [u8; HASH_BYTES],
}

impl PasswordHash {
    /// Parses a hash in the form of `hash_password`.
    pub fn parse(text: &str) -> Result<Self, PasswordHashError> {
        let mut parts = text.split(':');
        let form = (parts.next(), parts.next(), parts.next(), parts.next(), parts.next());
        let (Some(SCHEME), Some(iterations), Some(salt), Some(hash), None) = form else {
            return Err(PasswordHashError);
        };
        let decode = |text: &str| STANDARD.decode(text).map_err(|_| PasswordHashError);
        Ok(Self {
            iterations: iterations.parse().map_err(|_| PasswordHashError)?,
            salt: decode(salt)?.into(),
            hash: decode(hash)?.try_into().map_err(|_| PasswordHashError)?,
        })
    }

    /// True if this is the hash of `password`. Slow by design (tens to hundreds of milliseconds): never call it on a proxy core's
    /// thread. The time does not depend on the password.
    pub fn verify(&self, password: &[u8]) -> bool {
        pbkdf2::verify(ALGORITHM, self.iterations, &self.salt, password, &self.hash).is_ok()
    }

    /// Returns a hash that matches no password and takes as long to verify, for unknown user names.
    pub fn decoy(&self) -> Self {
        // No known input has this output; the different salt reveals nothing about this hash.
        Self { iterations: self.iterations, salt: [0; SALT_BYTES].into(), hash: [0; HASH_BYTES] }
    }
}

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PasswordHash").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}

/// Hashes a new password with a new salt. Fails only if the system gives no random bytes.
pub fn hash_password(password: &[u8]) -> Result<String, Unspecified> {
    hash_with(password, ITERATIONS)
}

fn hash_with(password: &[u8], iterations: NonZeroU32) -> Result<String, Unspecified> {
    let mut salt = [0; SALT_BYTES];
    SystemRandom::new().fill(&mut salt)?;
    let mut hash = [0; HASH_BYTES];
    pbkdf2::derive(ALGORITHM, iterations, &salt, password, &mut hash);
    Ok(format!("{SCHEME}:{iterations}:{}:{}", STANDARD.encode(salt), STANDARD.encode(hash)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_its_password_alone_and_every_one_has_its_salt() {
        let few = NonZeroU32::new(10_000).unwrap();
        let (one, other) = (hash_with(b"open sesame", few).unwrap(), hash_with(b"open sesame", few).unwrap());
        assert_ne!(one, other);
        let hash = PasswordHash::parse(&one).unwrap();
        assert!(hash.verify(b"open sesame") && !hash.verify(b"open sesam") && !hash.verify(b""));
        assert!(!hash.decoy().verify(b"open sesame"));
        assert!(!format!("{hash:?}").contains(one.split(':').nth(3).unwrap()));
    }

    /// RFC 7914, 11: PBKDF2-HMAC-SHA256 of "Password" and "NaCl", 80000 iterations; its first 32 bytes.
    #[test]
    fn the_function_is_the_standard_one() {
        let hex = "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56";
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        let exact = format!("pbkdf2-sha256:80000:TmFDbA==:{}", STANDARD.encode(bytes));
        assert!(PasswordHash::parse(&exact).unwrap().verify(b"Password"));
        assert!(!PasswordHash::parse(&exact).unwrap().verify(b"password"));
    }

    #[test]
    fn an_invalid_hash_is_refused() {
        for text in [
            "",
            "secret",
            "pbkdf2-sha256:0:AAAA:AAAA",
            "pbkdf2-sha1:1:AAAA:AAAA",
            "pbkdf2-sha256:1:AAAA:AAAA",
            "pbkdf2-sha256:1:%:%",
        ] {
            assert!(PasswordHash::parse(text).is_err(), "{text}");
        }
        let mut long = hash_with(b"x", NonZeroU32::new(1).unwrap()).unwrap();
        long.push_str(":more");
        assert!(PasswordHash::parse(&long).is_err());
    }
}
