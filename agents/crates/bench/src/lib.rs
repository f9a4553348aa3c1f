//! Load generator and benchmark plans: closed loop, keepalive HTTP/1.1 and HTTP/2, rounds A B C A B C so that noise is shared.
//! Owns how load is made and measured. Never decides what is measured, and never touches a server that was not asked for.

mod campaign;
mod cell;
mod client;
mod error;
mod http1;
mod http2;
mod plan;
mod response;
mod tls;
mod worker;

pub use campaign::{Campaign, CampaignRow, Contender, run_campaign};
pub use error::BenchError;
pub use plan::{ProxyTarget, Targets, rows_total, run_plan};
