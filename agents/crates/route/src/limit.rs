//! Rate and concurrency limits of one client or of a whole route, shared by all cores without locks. Invariant: never
//! stricter than configured; a full table admits too many rather than too few.

mod clients;
mod rate;

pub use clients::{ClientPermit, ClientRates, ClientsInFlight, TooManyInFlight};
pub use rate::{Rate, SharedRate, TICKS_PER_SECOND};
