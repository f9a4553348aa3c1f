//! Load generator and benchmark plans: closed loop, HTTP/1.1 (connections kept, fresh, resumed or idle), HTTP/2 and HTTP/3,
//! rounds A B C A B C so that noise is shared.
//! Owns how load is made and measured. Never decides what is measured, and never touches a server that was not asked for.

mod campaign;
mod cell;
mod client;
mod connect;
mod error;
mod http1;
mod http2;
mod http3;
mod mode;
mod plan;
mod response;
mod tls;
mod worker;

pub use campaign::{Campaign, CampaignRow, Contender, run_campaign};
pub use error::BenchError;
pub use mode::Mode;
pub use plan::{ProxyTarget, Targets, rows_total, run_plan};
