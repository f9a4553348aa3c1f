//! Whether a failed attempt may be made again without the app seeing a request twice.

/// How far an attempt came before its connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// No byte was sent: the connection could not be made.
    Unsent,
    /// The request went out on a connection that had served before; no byte came back.
    SentOnReused,
    /// The request went out on a new connection, or a byte came back.
    Processed,
}

/// A request whose body (if any) is untouched may go again when it surely did not run, or may run twice and most likely
/// hit the moment in which an idle connection was closed. Safe methods only: RFC 9110, 9.2.1 and 9.2.2.
pub fn may_retry(method: &[u8], body_touched: bool, attempt: Attempt) -> bool {
    match attempt {
        _ if body_touched => false,
        Attempt::Unsent => true,
        Attempt::SentOnReused => matches!(method, b"GET" | b"HEAD" | b"OPTIONS"),
        Attempt::Processed => false,
    }
}

/// A token's worth: a percent of one is what each request may add.
const TOKEN: u32 = 100;
/// Tokens that time gives when requests are few, one a second: else a quiet app could never try twice.
const FLOOR: u32 = 10 * TOKEN;
/// Most that a busy time can leave to a bad one.
const MOST: u32 = 100 * TOKEN;

/// How many second attempts an app may cause: a share of its requests, and a few besides. When everything fails, attempts
/// must not double the load that made it fail.
#[derive(Debug, Clone, Copy)]
pub struct RetryBudget {
    hundredths: u32,
    filled_ms: u64,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self { hundredths: FLOOR, filled_ms: 0 }
    }
}

impl RetryBudget {
    /// A request came; `percent` of one second attempt are added.
    pub fn add(&mut self, percent: u32) {
        self.hundredths = (self.hundredths + percent.min(TOKEN)).min(MOST);
    }

    /// Takes one attempt off; `false` when there is none. With zero percent there never is.
    pub fn take(&mut self, percent: u32, now_ms: u64) -> bool {
        let seconds = now_ms.saturating_sub(self.filled_ms) / 1000;
        if seconds > 0 {
            self.filled_ms = now_ms;
            let given = u32::try_from(seconds).unwrap_or(u32::MAX).saturating_mul(TOKEN);
            self.hundredths = self.hundredths.max(self.hundredths.saturating_add(given).min(FLOOR));
        }
        let enough = percent > 0 && self.hundredths >= TOKEN;
        if enough {
            self.hundredths -= TOKEN;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_attempts_are_a_share_of_requests_and_a_few_besides() {
        let mut budget = RetryBudget::default();
        let mut attempts = 0;
        for _ in 0..1000 {
            budget.add(20);
            attempts += u32::from(budget.take(20, 1));
        }
        assert_eq!(attempts, 210);
        // Time gives a few back, never more than the floor.
        assert!(!budget.take(20, 1) && budget.take(20, 1_500) && !budget.take(20, 1_600));
        assert_eq!((0..100).filter(|_| budget.take(20, 1_000_000)).count(), 10);
        assert!(!RetryBudget::default().take(0, 1));
    }

    #[test]
    fn what_may_have_run_is_never_sent_twice_unless_it_is_safe() {
        assert!(may_retry(b"POST", false, Attempt::Unsent));
        assert!(may_retry(b"GET", false, Attempt::SentOnReused));
        assert!(!may_retry(b"POST", false, Attempt::SentOnReused));
        assert!(!may_retry(b"get", false, Attempt::SentOnReused));
        assert!(!may_retry(b"GET", true, Attempt::SentOnReused));
        assert!(!may_retry(b"GET", false, Attempt::Processed));
    }
}
