//! Load generator and benchmark plans: HTTP/1.1, HTTP/2, HTTP/3 and gRPC in a closed or an open loop. Rounds interleave the contenders
//! (A B C A B C), so that noise affects all alike.

mod campaign;
mod cell;
mod client;
mod connect;
mod deadline;
mod error;
mod failure;
mod gate;
mod grpc;
mod http1;
mod http2;
mod http3;
mod keepalive;
mod link;
mod mode;
mod multiplexed;
mod noise;
mod open_loop;
mod order;
mod pacer;
mod part;
mod plan;
mod plan_document;
mod plan_load;
mod plan_rules;
mod port_check;
mod probe;
mod response;
mod row;
mod run_document;
mod schedule;
mod statistics;
mod stream;
mod tally;
mod threshold;
mod tls;
mod transport;
mod turn;
mod worker;

pub use campaign::{Campaign, Contender, run_campaign};
pub use error::BenchError;
pub use failure::{FailureKind, Failures};
pub use gate::{GateError, run_gate};
pub use link::EmulatedLink;
pub use mode::Mode;
pub use part::{PartPlace, run_part};
pub use plan::{ProxyTarget, RunObserver, TargetEndpoint, Targets, resume_plan, rows_measurable, rows_total, run_plan};
pub use plan_document::{DOCUMENT_BYTES_MAX, DocumentError, LAB_HOST, PlanDocument, PlanSpec, PlanUpstream};
pub use row::{CampaignRow, LatencyHistogram, OpenLoopRow};
pub use run_document::{
    MachineFacts, RunDocument, RunEnd, RunRecord, has_passed, part_label, scenario_words, target_label,
};
pub use statistics::ConfidenceInterval;
pub use threshold::{PlanThreshold, ThresholdCell, ThresholdVerdict, evaluate_thresholds};
pub use turn::MeasurementTurns;
