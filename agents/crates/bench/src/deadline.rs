//! Timeout of a client's requests. One timer serves them all: it expires at the deadline of a request or earlier, so that a
//! request does not reset it.

use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::time::Sleep;

use crate::failure::RequestError;

#[derive(Debug)]
pub(crate) struct Deadline {
    timeout: Duration,
    timer: Pin<Box<Sleep>>,
}

impl Deadline {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { timeout, timer: Box::pin(tokio::time::sleep(timeout)) }
    }

    /// Returns the output of `future`, or a failure once the timeout has passed since `started`.
    pub(crate) async fn limit<T>(
        &mut self,
        started: Instant,
        future: impl Future<Output = Result<T, RequestError>>,
    ) -> Result<T, RequestError> {
        let mut future = pin!(future);
        std::future::poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(output);
            }
            while self.timer.as_mut().poll(cx).is_ready() {
                let deadline = started + self.timeout;
                if Instant::now() >= deadline {
                    return Poll::Ready(Err(RequestError::late(self.timeout)));
                }
                self.timer.as_mut().reset(deadline.into());
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;

    #[tokio::test]
    async fn a_timer_that_expires_early_does_not_fail_a_request() {
        let mut deadline = Deadline::new(Duration::from_millis(1));
        let answered = async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok(())
        };
        let later = Instant::now() + Duration::from_secs(3600);
        deadline.limit(later, answered).await.unwrap();
    }

    #[tokio::test]
    async fn a_request_without_a_response_fails_at_its_deadline() {
        let mut deadline = Deadline::new(Duration::from_millis(1));
        let never = deadline.limit(Instant::now(), std::future::pending::<Result<(), _>>()).await;
        assert_eq!(never.unwrap_err().kind, FailureKind::Timeout);
    }
}
