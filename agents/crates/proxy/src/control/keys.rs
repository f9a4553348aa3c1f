//! Secrets that proxies of one server share: TLS session tickets, QUIC tokens and stateless resets. `run` generates
//! them and passes them on at each start and adoption. Invariant: they are never on disk and never printed.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::rand;
use fairlead_base::clock;
use fairlead_tls::{TICKET_LIFETIME, TicketSecret};
use fairlead_wire::local;

use super::ProxyError;

/// Number of ticket secrets: the current one, and the one before, because its tickets are still valid.
const TICKET_SECRETS: usize = 2;

/// Secrets of a proxy and its successors.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ProxyKeys {
    /// Newest first; never empty.
    pub(crate) tickets: Vec<TicketSecret>,
    ticket_made_unix_ms: u64,
    /// Secret of QUIC address validation tokens (Retry and NEW_TOKEN).
    pub(crate) quic_token: [u8; 32],
    /// Secret of QUIC stateless resets, by which an endpoint without state ends a connection (RFC 9000, 10.3).
    pub(crate) quic_reset: [u8; 64],
}

impl fmt::Debug for ProxyKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyKeys").field("tickets", &self.tickets.len()).finish_non_exhaustive()
    }
}

impl ProxyKeys {
    pub(crate) fn generate() -> Result<Self, ProxyError> {
        Ok(Self {
            tickets: vec![random()?],
            ticket_made_unix_ms: clock::unix_ms(),
            quic_token: random()?,
            quic_reset: random()?,
        })
    }

    /// Adds a new ticket secret. The one before stays valid for the lifetime of its tickets.
    pub(crate) fn rotate(&mut self) -> Result<(), ProxyError> {
        self.tickets.insert(0, random()?);
        self.tickets.truncate(TICKET_SECRETS);
        self.ticket_made_unix_ms = clock::unix_ms();
        Ok(())
    }

    /// Returns the time until the next rotation of the ticket secret.
    pub(crate) fn due_in(&self) -> Duration {
        let age = Duration::from_millis(clock::unix_ms().saturating_sub(self.ticket_made_unix_ms));
        TICKET_LIFETIME.saturating_sub(age)
    }

    /// Reads the secrets from a message; `None` if it is malformed.
    pub(crate) fn read(message: &local::ProxyKeys) -> Option<Self> {
        let tickets: Option<Vec<TicketSecret>> =
            message.ticket_secrets.iter().map(|secret| secret.as_slice().try_into().ok()).collect();
        Some(Self {
            tickets: tickets.filter(|tickets| !tickets.is_empty())?,
            ticket_made_unix_ms: message.ticket_made_unix_ms,
            quic_token: message.quic_token_secret.as_slice().try_into().ok()?,
            quic_reset: message.quic_reset_secret.as_slice().try_into().ok()?,
        })
    }

    /// Returns the message that carries the secrets.
    pub(crate) fn message(&self) -> local::ProxyKeys {
        local::ProxyKeys {
            ticket_secrets: self.tickets.iter().map(|secret| secret.to_vec()).collect(),
            ticket_made_unix_ms: self.ticket_made_unix_ms,
            quic_token_secret: self.quic_token.to_vec(),
            quic_reset_secret: self.quic_reset.to_vec(),
        }
    }
}

fn random<const N: usize>() -> Result<[u8; N], ProxyError> {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).map_err(|_| ProxyError::Protocol("the system has no randomness for keys"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_turn_over_and_the_last_one_is_kept() {
        let mut keys = ProxyKeys::generate().unwrap();
        let first = keys.tickets[0];
        keys.rotate().unwrap();
        assert_eq!((keys.tickets.len(), keys.tickets[1]), (2, first));
        assert_ne!(keys.tickets[0], first);
        assert!(keys.due_in() > TICKET_LIFETIME / 2);
        keys.ticket_made_unix_ms = 0;
        assert_eq!(keys.due_in(), Duration::ZERO);
        keys.rotate().unwrap();
        assert!(keys.tickets.len() == 2 && !keys.tickets.contains(&first));
    }

    #[test]
    fn keys_travel_whole_or_not_at_all_and_are_never_printed() {
        let keys = ProxyKeys::generate().unwrap();
        assert_eq!(ProxyKeys::read(&keys.message()), Some(keys.clone()));
        let without = |change: fn(&mut local::ProxyKeys)| {
            let mut message = keys.message();
            change(&mut message);
            ProxyKeys::read(&message)
        };
        assert_eq!(without(|keys| keys.ticket_secrets.clear()), None);
        assert_eq!(without(|keys| keys.ticket_secrets[0].truncate(31)), None);
        assert_eq!(without(|keys| keys.quic_reset_secret.clear()), None);
        assert_eq!(format!("{keys:?}"), "ProxyKeys { tickets: 1, .. }");
    }
}
