//! Orders of certificates from a certificate authority (ACME, RFC 8555). Others answer its challenges: the
//! proxies of the hosts, or the control plane by DNS. Invariant: every order ends within a bounded time.

mod failure;
mod http_client;
mod order;

pub use failure::OrderError;
pub use order::{Account, IssuedChain, Order, OrderProgress, place_order};
