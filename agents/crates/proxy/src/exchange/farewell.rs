//! A WebSocket that has to end because its proxy or its instance leaves: its client is told so between two frames, and comes
//! back to the successor. What the app still sends after that has no place any more (RFC 6455, 5.5.1).

use fairlead_route::{CLOSE_FRAME, WebSocketFrames};

use crate::core::Core;
use crate::upstream::Instance;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing is the matter, or its turn has not come.
    Open,
    /// To be told at the next border.
    Due,
    /// Told, by us or by its app: nothing more goes to the client.
    Told,
}

/// The app's direction of one WebSocket.
#[derive(Debug)]
pub(crate) struct Farewell {
    frames: WebSocketFrames,
    /// Its place among all that are told.
    jitter: u16,
    stage: Stage,
}

impl Farewell {
    pub(crate) fn new(core: &Core) -> Self {
        Self { frames: WebSocketFrames::default(), jitter: core.jitter(), stage: Stage::Open }
    }

    /// When it is to be told; `None` when it is not, or is already.
    pub(crate) fn due_at(&self, core: &Core, instance: &Instance) -> Option<u64> {
        let leaves =
            || [core.close_tunnel_at(self.jitter), instance.close_tunnel_at(self.jitter)].into_iter().flatten().min();
        if self.stage == Stage::Open { leaves() } else { None }
    }

    /// Its time has come.
    pub(crate) fn is_due(&mut self) {
        self.stage = Stage::Due;
    }

    /// Splits what the app sent: what goes on to the client, and whether a Close of ours follows it. To be asked with nothing
    /// too, for one that is due and sends nothing.
    pub(crate) fn pass<'b>(&mut self, data: &'b [u8]) -> (&'b [u8], Option<&'static [u8]>) {
        match self.stage {
            Stage::Open => {
                self.frames.track(data);
                (data, None)
            }
            Stage::Due => match self.frames.track_to_boundary(data) {
                None => (data, None),
                Some(border) => {
                    self.stage = Stage::Told;
                    let close = (!self.frames.is_closed()).then_some(&CLOSE_FRAME[..]);
                    (&data[..border], close)
                }
            },
            Stage::Told => (&[], None),
        }
    }
}
