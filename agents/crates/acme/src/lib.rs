//! Orders of certificates from a certificate authority (ACME, RFC 8555). An order proves control of its hosts by HTTP-01: the
//! proxies of the hosts answer the challenges. Invariant: every order ends within a bounded time.

mod failure;
mod http_client;
mod order;

pub use failure::OrderError;
pub use order::{Account, IssuedChain, Order, place_order};
