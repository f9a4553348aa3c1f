//! Stateless session tickets with keys derived from given secrets, so that every core and the next process accept them.
//! Invariant: never stores a key; the owner of the secrets rotates them (RFC 8446, C.4; RFC 5077, 5.5).

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac;
use rustls::Error;
use rustls::server::ProducesTickets;

/// Lifetime of a ticket, and the time after which a key only decrypts tickets.
pub const TICKET_LIFETIME: Duration = Duration::from_secs(12 * 3600);

/// Secret that a ticket key is derived from.
pub type TicketSecret = [u8; 32];

/// Length of a key's name.
const NAME_BYTES: usize = 16;

/// Encrypts tickets with the newest key and decrypts those of all keys.
pub struct Tickets {
    keys: RwLock<Arc<[TicketKey]>>,
}

/// Key of tickets. A ticket is the key's name, a nonce, and the encrypted session state.
struct TicketKey {
    name: [u8; NAME_BYTES],
    key: RandomizedNonceKey,
}

impl Tickets {
    /// Creates the keys from `secrets`, the newest first. Fails without secrets.
    pub fn new(secrets: &[TicketSecret]) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self { keys: RwLock::new(read(secrets)?) }))
    }

    /// Replaces the secrets without affecting running handshakes. An error changes nothing.
    pub fn swap(&self, secrets: &[TicketSecret]) -> Result<(), Error> {
        let keys = read(secrets)?;
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(())
    }

    fn keys(&self) -> Arc<[TicketKey]> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn read(secrets: &[TicketSecret]) -> Result<Arc<[TicketKey]>, Error> {
    if secrets.is_empty() {
        return Err(Error::General("there is no secret for session tickets".to_owned()));
    }
    secrets.iter().map(TicketKey::derive).collect()
}

impl TicketKey {
    fn derive(secret: &TicketSecret) -> Result<Self, Error> {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let (name, key) =
            (hmac::sign(&secret, b"fairlead ticket key name"), hmac::sign(&secret, b"fairlead ticket key"));
        let name = name.as_ref().first_chunk().copied().unwrap_or_default();
        let key = RandomizedNonceKey::new(&AES_256_GCM, key.as_ref())
            .map_err(|_| Error::General("a ticket key cannot be made".to_owned()))?;
        Ok(Self { name, key })
    }

    fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let mut sealed = plain.to_vec();
        let nonce = self.key.seal_in_place_append_tag(Aad::from(self.name), &mut sealed).ok()?;
        Some([&self.name[..], nonce.as_ref(), &sealed].concat())
    }

    fn open(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = ticket.split_first_chunk::<NONCE_LEN>()?;
        let mut opened = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self.key.open_in_place(nonce, Aad::from(self.name), &mut opened).ok()?.len();
        opened.truncate(length);
        Some(opened)
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        u32::try_from(TICKET_LIFETIME.as_secs()).unwrap_or(u32::MAX)
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.keys().first()?.seal(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let (name, rest) = cipher.split_first_chunk::<NAME_BYTES>()?;
        self.keys().iter().find(|key| key.name == *name)?.open(rest)
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").field("keys", &self.keys().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: TicketSecret = [1; 32];
    const NEW: TicketSecret = [2; 32];

    #[test]
    fn a_ticket_is_taken_by_all_who_have_its_key_until_that_is_gone() {
        let (here, there) = (Tickets::new(&[OLD]).unwrap(), Tickets::new(&[OLD]).unwrap());
        let ticket = here.encrypt(b"state").unwrap();
        assert_ne!(here.encrypt(b"state").unwrap(), ticket);
        assert_eq!(there.decrypt(&ticket).as_deref(), Some(&b"state"[..]));
        there.swap(&[NEW, OLD]).unwrap();
        assert_eq!(there.decrypt(&ticket).as_deref(), Some(&b"state"[..]));
        assert_eq!(here.decrypt(&there.encrypt(b"state").unwrap()), None);
        there.swap(&[NEW]).unwrap();
        assert_eq!(there.decrypt(&ticket), None);
    }

    #[test]
    fn a_changed_ticket_is_rejected() {
        let tickets = Tickets::new(&[NEW, OLD]).unwrap();
        let ticket = tickets.encrypt(b"state").unwrap();
        for at in 0..ticket.len() {
            let mut touched = ticket.clone();
            touched[at] ^= 1;
            assert_eq!(tickets.decrypt(&touched), None);
            assert_eq!(tickets.decrypt(&ticket[..at]), None);
        }
    }

    #[test]
    fn without_a_secret_nothing_changes() {
        assert!(Tickets::new(&[]).is_err());
        let tickets = Tickets::new(&[OLD]).unwrap();
        let ticket = tickets.encrypt(b"state").unwrap();
        assert!(tickets.swap(&[]).is_err());
        assert_eq!(tickets.decrypt(&ticket).as_deref(), Some(&b"state"[..]));
    }
}
