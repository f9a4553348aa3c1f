//! HTTP/1 connection loop: reads a request head, runs its exchange, and repeats until one side closes.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use fairlead_route::{HttpVersion, Malformed};

use super::downstream::H1Client;
use super::head::{fields, header_slots, may_have_ended, parse_request};
use crate::core::{Alarm, Core};
use crate::exchange::{self, Downstream, ExchangeOutcome, Origin, Reply, RequestDispatch};
use crate::limits::Limits;
use crate::transport::{Transport, TransportRead};

/// Maximum number of bytes of a refused request that are read and discarded before the close.
const LINGER_BYTES_MAX: usize = 256 * 1024;

/// Reason to end a connection between two requests.
enum Stop {
    /// The connection ended in order, or no client is left to answer.
    Quiet,
    /// The idle timeout passed.
    Idle,
    /// The client gets this reply first.
    Tell(Reply),
}

impl From<Malformed> for Stop {
    fn from(error: Malformed) -> Self {
        Self::Tell(Reply::malformed(error))
    }
}

/// Serves a client until its connection ends. `input` holds bytes that were read with the handshake.
pub(crate) async fn serve(core: Rc<Core>, transport: Transport, origin: Origin, input: Vec<u8>, alarm: Alarm) {
    let mut client = H1Client::new(core, transport, input, origin.client.ip());
    loop {
        if !client.input.is_empty() {
            // Pipelined requests need no I/O operation that would end the turn, so the budget is checked here.
            poll_fn(|_| fairlead_reactor::poll_turn()).await;
        }
        let mut parsed_bytes = 0;
        alarm.set(client.core.limits.idle_timeout);
        alarm.idles();
        let (mut in_head, mut leaves) = (false, false);
        let dispatch =
            poll_fn(|cx| poll_begin(&mut client, &origin, &alarm, &mut parsed_bytes, (&mut in_head, &mut leaves), cx))
                .await;
        let ended = match dispatch {
            // Boxed: its state is several times as large as that of an idle connection.
            Ok(RequestDispatch::Forward(exchange)) => Box::pin(exchange.run(&mut client, &alarm)).await,
            Ok(RequestDispatch::Answer(reply)) => ExchangeOutcome::Answer(reply),
            Err(Stop::Quiet | Stop::Idle) => break,
            Err(Stop::Tell(reply)) => {
                let malformed = &client.core.malformed_requests;
                malformed.set(malformed.get() + 1);
                client.closing = true;
                ExchangeOutcome::Answer(reply)
            }
        };
        match ended {
            ExchangeOutcome::Complete => {}
            ExchangeOutcome::Answer(reply) => {
                client.answer(&reply);
                alarm.set(client.core.limits.write_stall_timeout);
                if poll_fn(|cx| or_alarm(client.poll_flush(cx), &alarm, cx))
                    .await
                    .is_none_or(|flushed| flushed.is_err())
                {
                    return;
                }
            }
            ExchangeOutcome::Broken | ExchangeOutcome::Reset(_) => return,
        }
        if client.closing || !client.request_has_ended() {
            break;
        }
    }
    Box::pin(close(client, &alarm)).await;
}

/// Ready with a request, or with why there is none.
fn poll_begin(
    client: &mut H1Client,
    origin: &Origin,
    alarm: &Alarm,
    parsed_bytes: &mut usize,
    (in_head, leaves): (&mut bool, &mut bool),
    cx: &mut Context<'_>,
) -> Poll<Result<RequestDispatch, Stop>> {
    loop {
        if !client.input.is_empty() {
            if !std::mem::replace(in_head, true) {
                alarm.works();
                alarm.set(client.core.limits.head_timeout);
            }
            if is_worth_parsing(&client.input, *parsed_bytes, &client.core.limits)
                && let Some(dispatch) = begin(client, origin)?
            {
                return Poll::Ready(Ok(dispatch));
            }
            *parsed_bytes = client.input.len();
        } else if client.core.is_draining() && !std::mem::replace(leaves, true) {
            alarm.set_at(client.core.close_idle_at());
        }
        if client.ended {
            return Poll::Ready(Err(Stop::Quiet));
        }
        match client.transport.poll_read(cx, &client.core, &mut client.input) {
            Poll::Ready(Ok(TransportRead::Some)) => {}
            Poll::Ready(Ok(TransportRead::End)) => client.ended = true,
            Poll::Ready(Err(_)) => return Poll::Ready(Err(Stop::Quiet)),
            Poll::Pending => {
                ready!(alarm.poll(cx));
                let stop = if *in_head { Stop::Tell(Reply::request_timeout()) } else { Stop::Idle };
                return Poll::Ready(Err(stop));
            }
        }
    }
}

/// True if a head that was parsed up to `parsed` may have changed its result. Each parse reads the whole head, so a
/// client that sends single bytes must not cause one for each. The first piece is always parsed, later ones when they
/// may end the head or exceed a limit.
fn is_worth_parsing(input: &[u8], parsed: usize, limits: &Limits) -> bool {
    let outgrew = |bound: usize| (parsed..input.len()).contains(&bound);
    parsed == 0
        || may_have_ended(input, parsed)
        || outgrew(limits.target_bytes_max)
        || input.len() > limits.head_bytes_max
}

/// Parses and removes a whole head from the input, if there is one.
fn begin(client: &mut H1Client, origin: &Origin) -> Result<Option<RequestDispatch>, Malformed> {
    let mut slots = header_slots();
    let Some(head) = parse_request(&client.input, &mut slots, &client.core.limits)? else { return Ok(None) };
    let (dispatch, framing) = exchange::begin(&client.core, origin, &head.line, || fields(head.headers))?;
    let (is_http_1_0, is_head) = (head.line.version == HttpVersion::Http10, head.line.method == b"HEAD");
    let length = head.length;
    client.begin(framing.body, is_http_1_0, is_head, framing.close);
    if length == client.input.len() {
        client.input.clear();
    } else {
        client.input.drain(..length);
    }
    client.core.buffers.reclaim(&mut client.input);
    Ok(Some(dispatch))
}

/// Ends a connection so that the client gets to read everything: an end with unread bytes is a reset (RFC 9112, 9.6).
async fn close(mut client: H1Client, alarm: &Alarm) {
    alarm.set(client.core.limits.linger_timeout);
    let core = Rc::clone(&client.core);
    let mut has_room = true;
    let closed = poll_fn(|cx| {
        let closed = client.transport.poll_close(cx, &core);
        // The socket was full only when the queued end of the response was sent.
        if client.transport.unsent() > 0 && std::mem::take(&mut has_room) {
            alarm.set(core.limits.write_stall_timeout);
        }
        or_alarm(closed, alarm, cx)
    })
    .await;
    if !has_room {
        alarm.set(core.limits.linger_timeout);
    }
    if client.ended || client.request_has_ended() && client.input.is_empty() || !matches!(closed, Some(Ok(()))) {
        return;
    }
    let mut discarded = 0;
    while discarded < LINGER_BYTES_MAX {
        client.input.clear();
        let read = poll_fn(|cx| or_alarm(client.transport.poll_read(cx, &core, &mut client.input), alarm, cx)).await;
        match read {
            Some(Ok(TransportRead::Some)) => discarded += client.input.len(),
            Some(Ok(TransportRead::End) | Err(_)) | None => return,
        }
    }
}

/// `None` when the alarm rings first.
pub(crate) fn or_alarm<T>(poll: Poll<T>, alarm: &Alarm, cx: &mut Context<'_>) -> Poll<Option<T>> {
    match poll {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => alarm.poll(cx).map(|()| None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_head_that_comes_byte_by_byte_is_looked_at_a_few_times_only() {
        let limits = Limits::default();
        let head = format!("GET / HTTP/1.1\r\nhost: a.test\r\nx: {}\r\n\r\n", "x".repeat(limits.head_bytes_max - 100));
        assert!(head.len() > limits.target_bytes_max);
        let looks = |bytes: &[u8]| {
            (0..bytes.len()).filter(|parsed| is_worth_parsing(&bytes[..parsed + 1], *parsed, &limits)).count()
        };
        assert!((2..8).contains(&looks(head.as_bytes())), "{} looks", looks(head.as_bytes()));
        // And one that never ends is looked at as soon as it is too long.
        let endless = "x".repeat(limits.head_bytes_max + 1);
        assert!(is_worth_parsing(endless.as_bytes(), limits.head_bytes_max, &limits));
        assert!(is_worth_parsing(
            &endless.as_bytes()[..limits.target_bytes_max + 1],
            limits.target_bytes_max - 7,
            &limits
        ));
    }
}
