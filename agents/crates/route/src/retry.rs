//! Retry policy: decides if a failed attempt may be retried without the app processing a request twice, and limits
//! retries by a budget.

/// Progress of an attempt when its connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// No byte was sent: the connection failed.
    Unsent,
    /// The request was sent on a reused connection; no byte of a response came.
    SentOnReused,
    /// The request was sent on a new connection, or a byte of a response came.
    Processed,
}

/// True if a request may be retried: its body (if any) is unread, and it surely did not run, or may run twice. The
/// latter are safe methods (RFC 9110, 9.2.1 and 9.2.2) on a connection that most likely closed as idle at that moment.
pub fn may_retry(method: &[u8], body_touched: bool, attempt: Attempt) -> bool {
    match attempt {
        _ if body_touched => false,
        Attempt::Unsent => true,
        Attempt::SentOnReused => matches!(method, b"GET" | b"HEAD" | b"OPTIONS"),
        Attempt::Processed => false,
    }
}

/// Size of a token; each request adds a percentage of one.
const TOKEN: u32 = 100;
/// Tokens that time adds if requests are few, one a second: otherwise a quiet app could never retry.
const FLOOR: u32 = 10 * TOKEN;
/// Maximum number of tokens that a busy time can save.
const MOST: u32 = 100 * TOKEN;

/// Retry budget of an app: a percentage of its requests, and a few besides. If everything fails, retries must not
/// double the load that caused it.
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
    /// Adds `percent` of a retry for a new request.
    pub fn add(&mut self, percent: u32) {
        self.hundredths = (self.hundredths + percent.min(TOKEN)).min(MOST);
    }

    /// Takes one retry from the budget; returns false if it is used up. With zero percent it is always empty.
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
        // Time adds a few tokens, never more than the floor.
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
