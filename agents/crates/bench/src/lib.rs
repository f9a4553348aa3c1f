//! Load generator and benchmark plans: closed-loop HTTP/1.1, HTTP/2 and HTTP/3. Rounds interleave the contenders (A B C A B C),
//! so that noise affects all alike.

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
