//! The client: its capabilities, and the messages to it.

mod capabilities;
mod log;
mod outbox;

pub(crate) use capabilities::Client;
pub(crate) use log::Log;
pub(crate) use outbox::Outbox;
