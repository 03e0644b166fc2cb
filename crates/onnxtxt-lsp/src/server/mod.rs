//! The server: reads messages, owns the documents, and gives requests to workers.

mod capabilities;
mod dispatch;
mod documents;
mod requests;
mod workers;

use crate::answer::Demand;
use crate::answer::Stage;
use crate::client::{Client, Log, Outbox};
use crate::document::Encoding;
use crate::settings::ClientSettings;
use crate::workspace::Workspace;
use crossbeam_channel::{Receiver, after, never, select, unbounded};
use documents::Documents;
use gen_lsp_types::{
    InitializeParams, InitializeResult, LogTraceNotification, LogTraceParams, ServerInfo, TraceValue,
    WorkspaceFolders,
};
use lsp_server::{Connection, ErrorCode, Message, ProtocolError, RequestId, Response};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use workers::Workers;

/// Options of a server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A file to which messages and their times are appended.
    pub log: Option<PathBuf>,
    /// The number of workers; 0 is the number of cores, at most four.
    pub workers: usize,
}

/// Why a server ended before the client told it to.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerError {
    /// The client broke the protocol, or is gone.
    Protocol(String),
    /// The streams or the log cannot be read or written.
    Io(std::io::Error),
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ServerError::Protocol(error) => f.write_str(error),
            ServerError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ServerError {}

impl From<ProtocolError> for ServerError {
    fn from(error: ProtocolError) -> Self {
        ServerError::Protocol(error.to_string())
    }
}

impl From<std::io::Error> for ServerError {
    fn from(error: std::io::Error) -> Self {
        ServerError::Io(error)
    }
}

/// Serves a client on stdin and stdout until it ends the server.
///
/// # Errors
///
/// The client ended without asking for it, or a stream failed.
pub fn serve_stdio(options: Options) -> Result<(), ServerError> {
    let (connection, threads) = Connection::stdio();
    let served = serve(connection, options);
    // The streams end with the connection; a client that is gone cannot be waited for.
    served.and_then(|()| threads.join().map_err(ServerError::Io))
}

/// Serves a client on a connection until it ends the server.
///
/// # Errors
///
/// The client ended without asking for it.
pub fn serve(connection: Connection, options: Options) -> Result<(), ServerError> {
    let log = Arc::new(Log::open(options.log.as_deref())?);
    let (id, params) = connection.initialize_start()?;
    let params: InitializeParams = serde_json::from_value(params)
        .map_err(|error| ServerError::Protocol(format!("initialize: {error}")))?;
    let client = Client::new(&params);
    let offered =
        params.capabilities.general.as_ref().and_then(|general| general.position_encodings.as_deref());
    let encoding = Encoding::of(offered);
    let result = InitializeResult {
        capabilities: capabilities::capabilities(encoding, &client),
        server_info: Some(ServerInfo {
            name: "onnxtxt".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    };
    let result = serde_json::to_value(result)
        .map_err(|error| ServerError::Protocol(format!("initialize: {error}")))?;
    connection.initialize_finish(id, result)?;
    log.write("initialized");
    let (events, received) = unbounded();
    let mut server = Server {
        workspace: Workspace::new(folders(&params)),
        documents: Documents::new(encoding),
        workers: Workers::new(options.workers, events.clone()),
        pending: HashMap::new(),
        settings: ClientSettings::default(),
        next_request: 0,
        asked: HashMap::new(),
        connection: Outbox::new(connection.sender.clone(), Arc::clone(&log)),
        client,
        encoding,
        log,
        trace: params.trace.unwrap_or(TraceValue::Off),
        check_at: None,
    };
    let initial = params.initialization_options.unwrap_or_default();
    server.configure(&initial);
    server.register();
    server.run(&connection.receiver, &received)
}

#[allow(deprecated, reason = "clients before 3.6 have one folder")]
fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    let folders = &params.workspace_folders_initialize_params.workspace_folders;
    let uris: Vec<_> = match folders {
        Some(WorkspaceFolders::WorkspaceFolderList(folders)) => {
            folders.iter().map(|folder| &folder.uri).collect()
        }
        Some(WorkspaceFolders::Null) | None => params.root_uri.iter().collect(),
    };
    uris.into_iter().filter_map(crate::uri::path_of).collect()
}

/// Messages of workers to the loop.
pub(crate) enum Event {
    /// A request is answered.
    Answered(Response),
    /// The findings of a version of a document.
    Found(gen_lsp_types::PublishDiagnosticsParams, Stage),
}

/// A request that a worker is answering.
struct Pending {
    demand: Demand,
    /// The document whose change makes the answer stale.
    document: Option<String>,
    method: String,
    begun: Instant,
}

/// The use of the client's answer to a request of the server.
type Continuation = Box<dyn FnOnce(&mut Server, serde_json::Value)>;

struct Server {
    connection: Outbox,
    client: Client,
    encoding: Encoding,
    log: Arc<Log>,
    /// How much of its work the server reports to the client.
    trace: TraceValue,
    workspace: Workspace,
    documents: Documents,
    workers: Workers,
    pending: HashMap<RequestId, Pending>,
    settings: ClientSettings,
    next_request: i32,
    /// Requests of the server that the client has not answered.
    asked: HashMap<RequestId, Continuation>,
    /// When changed documents are checked as a whole.
    check_at: Option<Instant>,
}

impl Server {
    fn run(mut self, messages: &Receiver<Message>, events: &Receiver<Event>) -> Result<(), ServerError> {
        loop {
            let pause =
                self.check_at.map_or_else(never, |at| after(at.saturating_duration_since(Instant::now())));
            select! {
                recv(messages) -> message => {
                    let Ok(message) = message else {
                        return Err(ServerError::Protocol("the client is gone".to_owned()));
                    };
                    self.log.message("<-", &message);
                    match message {
                        Message::Request(request) if request.method == "shutdown" => {
                            self.connection.send(Response::new_ok(request.id, ()).into());
                            return self.shut_down(messages);
                        }
                        Message::Request(request) => self.request(request),
                        Message::Notification(notification) if notification.method == "exit" => {
                            return Err(ServerError::Protocol("exit without shutdown".to_owned()));
                        }
                        Message::Notification(notification) => self.notification(notification),
                        Message::Response(response) => self.answered_by_client(response),
                    }
                }
                recv(events) -> event => {
                    // The workers hold a sender as long as the loop runs.
                    if let Ok(event) = event {
                        self.event(event);
                    }
                }
                recv(pause) -> _ => {
                    self.check_at = None;
                    self.check_changed();
                }
            }
        }
    }

    /// After `shutdown`, only `exit` is accepted.
    fn shut_down(self, messages: &Receiver<Message>) -> Result<(), ServerError> {
        self.pending.values().for_each(|pending| pending.demand.cancel());
        loop {
            match messages.recv() {
                Ok(Message::Notification(notification)) if notification.method == "exit" => return Ok(()),
                Ok(Message::Request(request)) => {
                    let code = ErrorCode::InvalidRequest as i32;
                    let message = "the server has received `shutdown`".to_owned();
                    self.connection.send(Response::new_err(request.id, code, message).into());
                }
                Ok(_) => {}
                Err(_) => return Err(ServerError::Protocol("the client is gone".to_owned())),
            }
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Answered(response) => {
                let Some(pending) = self.pending.remove(&response.id) else { return };
                self.log.time(&pending.method, pending.begun.elapsed());
                self.trace(&pending, &response);
                self.connection.send(response.into());
            }
            Event::Found(found, stage) => self.publish(found, stage),
        }
    }

    /// Tells a client that asks for it how long a request took; the messages themselves are traced by clients.
    fn trace(&self, pending: &Pending, response: &Response) {
        if self.trace == TraceValue::Off {
            return;
        }
        let time = pending.begun.elapsed().as_secs_f64() * 1e3;
        let outcome = match &response.response_result {
            Ok(_) => "answered",
            Err(error) => error.message.as_str(),
        };
        let message = format!("{} {}: {time:.1} ms", pending.method, response.id);
        let document = pending.document.as_deref().unwrap_or("no document");
        let verbose = (self.trace == TraceValue::Verbose).then(|| format!("{outcome}; {document}"));
        self.connection.notify::<LogTraceNotification>(LogTraceParams { message, verbose });
    }

    /// Ends a request whose answer is not wanted any more. The client need not wait until the worker sees it.
    fn end(&mut self, id: &RequestId, end: impl FnOnce(&Demand)) {
        let Some(pending) = self.pending.remove(id) else { return };
        end(&pending.demand);
        if let Some(code) = pending.demand.ended() {
            self.log.write(&format!("{}: {}", pending.method, ended_message(code)));
            self.connection
                .send(Response::new_err(id.clone(), code as i32, ended_message(code).to_owned()).into());
        }
    }

    /// Asks the client.
    fn ask<R: gen_lsp_types::Request>(
        &mut self,
        params: R::Params,
        then: impl FnOnce(&mut Server, serde_json::Value) + 'static,
    ) {
        let id = RequestId::from(self.next_request);
        self.next_request += 1;
        let method: String = R::METHOD.into();
        self.asked.insert(id.clone(), Box::new(then));
        self.connection.send(Message::Request(lsp_server::Request::new(id, method, params)));
    }

    fn answered_by_client(&mut self, response: Response) {
        let Some(then) = self.asked.remove(&response.id) else { return };
        let value = response.response_result.unwrap_or_default();
        then(self, value);
    }
}

fn ended_message(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::ContentModified => "the document has changed",
        _ => "cancelled",
    }
}
