//! Response bytes that the `h2` crate buffers until flow control and socket accept them. They count in the client's
//! backlog until they are sent.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Waker};

use bytes::{Buf, Bytes};

use crate::core::Backlog;

/// Buffered bytes of one stream.
#[derive(Debug)]
pub(super) struct StreamBacklog {
    connection: Rc<Backlog>,
    bytes: Cell<usize>,
    waker: RefCell<Option<Waker>>,
}

impl StreamBacklog {
    pub(super) fn new(connection: &Rc<Backlog>) -> Rc<Self> {
        Rc::new(Self { connection: Rc::clone(connection), bytes: Cell::new(0), waker: RefCell::default() })
    }

    pub(super) fn connection(&self) -> &Rc<Backlog> {
        &self.connection
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    pub(super) fn add(&self, count: usize) {
        self.bytes.set(self.bytes.get() + count);
        self.connection.add(count);
    }

    pub(super) fn remove(&self, count: usize) {
        self.bytes.set(self.bytes.get() - count);
        self.connection.remove(count);
        if self.bytes.get() == 0
            && let Some(waker) = self.waker.take()
        {
            waker.wake();
        }
    }

    /// Wakes the task, which may have to wait for this, once nothing is held.
    pub(super) fn wake_when_empty(&self, cx: &Context<'_>) {
        if self.bytes.get() > 0 && self.connection.is_short() {
            self.waker.replace(Some(cx.waker().clone()));
        }
    }
}

/// Bytes of one or more DATA frames, which their stream holds already.
#[derive(Debug)]
pub(crate) struct Payload {
    bytes: Bytes,
    held: Rc<StreamBacklog>,
}

impl Payload {
    pub(super) fn new(bytes: Bytes, held: &Rc<StreamBacklog>) -> Self {
        Self { bytes, held: Rc::clone(held) }
    }
}

impl Buf for Payload {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.held.remove(count);
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.held.remove(self.bytes.len());
    }
}
