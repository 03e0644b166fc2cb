//! Requests: who answers them, and what becomes of an answer.

use super::{Event, Pending, Server};
use crate::answer::{Answer, Demand, Failure};
use crate::document::Snapshot;
use crate::request::RequestContext;
use crate::workspace::View;
use gen_lsp_types::{Position, Request as LspRequest, Uri};
use lsp_server::{ErrorCode, Request, RequestId, Response};
use serde::Deserialize as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// Runs a function and returns the message of its panic, if it does.
pub(crate) fn guard<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    // A snapshot only fills its caches, each as a whole, so a panic leaves no part of it broken.
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown panic".to_owned())
    })
}

/// The response with an answer, a failure, or an internal error for a panic.
fn respond<T: serde::Serialize>(id: RequestId, run: impl FnOnce() -> Answer<T>) -> Response {
    let fail = |code: ErrorCode, message: String| Response::new_err(id.clone(), code as i32, message);
    match guard(|| run().map(|answer| serde_json::to_value(answer))) {
        Ok(Ok(Ok(value))) => Response { id, response_result: Ok(value) },
        Ok(Ok(Err(error))) => fail(ErrorCode::InternalError, error.to_string()),
        Ok(Err(Failure(message))) => fail(ErrorCode::RequestFailed, message),
        Err(panic) => fail(ErrorCode::InternalError, format!("this is a bug of onnxtxt: {panic}")),
    }
}

/// The response to a request that failed.
pub(super) fn failed(id: RequestId, failure: Failure) -> Response {
    Response::new_err(id, ErrorCode::RequestFailed as i32, failure.0)
}

impl Server {
    /// Answers a request about a document in a worker.
    pub(super) fn answer<R: LspRequest>(
        &mut self,
        request: Request,
        handle: fn(&RequestContext, R::Params) -> Answer<R::Result>,
    ) {
        self.answer_as::<R::Params, R::Result>(request, handle);
    }

    pub(super) fn answer_as<P, T>(&mut self, request: Request, handle: fn(&RequestContext, P) -> Answer<T>)
    where
        P: serde::de::DeserializeOwned + Send + 'static,
        T: serde::Serialize + 'static,
    {
        let Request { id, method, params } = request;
        let uri = ["/textDocument/uri", "/item/uri"].iter().find_map(|path| params.pointer(path)?.as_str());
        let uri = uri.map(|uri| Uri(uri.to_owned()));
        let position = params.get("position").and_then(|position| Position::deserialize(position).ok());
        let params: P = match serde_json::from_value(params) {
            Ok(params) => params,
            Err(error) => {
                let code = ErrorCode::InvalidParams as i32;
                self.connection.send(Response::new_err(id, code, format!("{method}: {error}")).into());
                return;
            }
        };
        let snapshot = match &uri {
            Some(uri) => self.snapshot(uri),
            None => Ok(Arc::new(self.nothing())),
        };
        let snapshot = match snapshot {
            Ok(snapshot) => snapshot,
            Err(message) => {
                let code = ErrorCode::InvalidParams as i32;
                self.connection.send(Response::new_err(id, code, message).into());
                return;
            }
        };
        let snapshot = match (snapshot.embedded(), position) {
            (Some(_), Some(position)) => {
                snapshot.embedded_at(position).unwrap_or_else(|| Arc::new(self.nothing()))
            }
            _ => snapshot,
        };
        let is_about_findings = method == "textDocument/diagnostic";
        let interim = uri.as_ref().filter(|_| is_about_findings).and_then(|uri| self.interim(uri));
        let demand = Demand::default();
        let pending =
            Pending { demand: demand.clone(), document: uri.map(|uri| uri.0), method, begun: Instant::now() };
        if self.pending.insert(id.clone(), pending).is_some() {
            self.log.write(&format!("the client used the id {id} twice"));
        }
        let is_urgent = interim.is_some();
        let context = RequestContext { snapshot, view: self.view(), demand, interim };
        let task = move || {
            let ended = context.demand.ended();
            let response = match ended {
                Some(code) => Response::new_err(id, code as i32, super::ended_message(code).to_owned()),
                None => respond(id, || handle(&context, params)),
            };
            Some(Event::Answered(response))
        };
        if is_urgent { self.workers.run_urgently(task) } else { self.workers.run(task) }
    }

    /// An open document, or the file.
    fn snapshot(&mut self, uri: &Uri) -> Result<Arc<Snapshot>, String> {
        if let Some(snapshot) = self.documents.snapshot(uri) {
            return Ok(snapshot);
        }
        let settings = self.settings_of(uri);
        let snapshot = crate::workspace::read(uri, self.encoding, settings)?;
        Ok(Arc::new(snapshot))
    }

    /// The document of requests that have none.
    fn nothing(&self) -> Snapshot {
        Snapshot::of_text(Uri(String::new()), String::new(), self.encoding, Arc::default())
    }

    pub(super) fn view(&mut self) -> View {
        View {
            folders: self.workspace.folders().to_vec(),
            open: self.documents.snapshots(),
            encoding: self.encoding,
            client: self.client,
            configs: self.workspace.configs(),
            outbox: self.connection.clone(),
        }
    }

    pub(super) fn refuse(&self, request: Request) {
        let code = ErrorCode::MethodNotFound as i32;
        let message = format!("unknown method `{}`", request.method);
        self.connection.send(Response::new_err(request.id, code, message).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error() {
        let id = || RequestId::from(1);
        let response = respond::<()>(id(), || panic!("no {}", "way"));
        let error = response.response_result.unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (-32603, "this is a bug of onnxtxt: no way"));
        let response = respond::<()>(id(), || Err(Failure("taken".to_owned())));
        assert_eq!(response.response_result.unwrap_err().code, -32803);
        assert_eq!(respond(id(), || Ok(7)).response_result.unwrap(), 7);
    }
}
