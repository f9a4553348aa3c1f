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

#[cfg(test)]
mod tests {
    use super::*;

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
