//! How much may come: requests a second with a burst, and requests at once, of one client or of all. Shared by the cores, one
//! word of memory and no lock a counter. Never stricter than configured; where memory is bounded, it errs towards letting in.

mod clients;
mod rate;

pub use clients::{ClientRates, ClientsInFlight, Occupied, TooMany};
pub use rate::{Rate, TICKS_PER_SECOND, Window};
