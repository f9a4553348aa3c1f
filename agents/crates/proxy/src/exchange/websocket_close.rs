//! WebSocket close during a drain: inserts a Close frame between two frames of the app, so that the client reconnects
//! elsewhere. Invariant: nothing follows that Close frame (RFC 6455, 5.5.1).

use fairlead_route::{CLOSE_FRAME, WebSocketFrames};

use crate::core::Core;
use crate::upstream::Instance;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CloseStage {
    /// The WebSocket is open and its close is not due.
    Open,
    /// The Close frame is due at the next frame boundary.
    Due,
    /// A Close frame was sent, by the proxy or the app: nothing more goes to the client.
    Closed,
}

/// Close state of one WebSocket, tracked on the bytes from the app.
#[derive(Debug)]
pub(crate) struct WebSocketClose {
    frames: WebSocketFrames,
    /// Random slot in the drain schedule, which spreads reconnects.
    jitter: u16,
    stage: CloseStage,
}

impl WebSocketClose {
    pub(crate) fn new(core: &Core) -> Self {
        Self { frames: WebSocketFrames::default(), jitter: core.jitter(), stage: CloseStage::Open }
    }

    /// Returns the time of the Close frame in a drain; `None` without a drain or once it is due.
    pub(crate) fn due_at(&self, core: &Core, instance: &Instance) -> Option<u64> {
        let leaves =
            || [core.close_tunnel_at(self.jitter), instance.close_tunnel_at(self.jitter)].into_iter().flatten().min();
        if self.stage == CloseStage::Open { leaves() } else { None }
    }

    /// Marks the Close frame as due.
    pub(crate) fn mark_due(&mut self) {
        self.stage = CloseStage::Due;
    }

    /// Returns the bytes to forward and the Close frame to send after them. Call it with empty data too when the close
    /// is due and the app is silent.
    pub(crate) fn pass<'b>(&mut self, data: &'b [u8]) -> (&'b [u8], Option<&'static [u8]>) {
        match self.stage {
            CloseStage::Open => {
                self.frames.track(data);
                (data, None)
            }
            CloseStage::Due => match self.frames.track_to_boundary(data) {
                None => (data, None),
                Some(border) => {
                    self.stage = CloseStage::Closed;
                    let close = (!self.frames.is_closed()).then_some(&CLOSE_FRAME[..]);
                    (&data[..border], close)
                }
            },
            CloseStage::Closed => (&[], None),
        }
    }
}
