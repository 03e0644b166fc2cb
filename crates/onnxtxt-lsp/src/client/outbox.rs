//! Messages to the client.

use super::Log;
use crossbeam_channel::Sender;
use lsp_server::{Message, Notification};
use std::sync::Arc;

/// Messages to the client.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    sender: Sender<Message>,
    log: Arc<Log>,
}

impl Outbox {
    pub(crate) fn new(sender: Sender<Message>, log: Arc<Log>) -> Outbox {
        Outbox { sender, log }
    }

    pub(crate) fn send(&self, message: Message) {
        self.log.message("->", &message);
        // A client that is gone is seen where messages are read.
        _ = self.sender.send(message);
    }

    pub(crate) fn notify<N: gen_lsp_types::Notification>(&self, params: N::Params) {
        let method: String = N::METHOD.into();
        self.send(Message::Notification(Notification::new(method, params)));
    }
}
