//! Reading a request: path, query, headers, body. Parse, don't validate: what leaves here is of the domain's types.

mod body;
mod credential;
mod headers;
mod names;
mod passage;
mod query;

use std::sync::{Arc, Mutex, PoisonError};
use std::{iter, mem};

use axum::body::Body;
use axum::http::Method;
use axum::http::request::Parts;
use headers::Headers;
use names::{Names, is_within, outside};
use tokio::time::{Duration, Instant};

use crate::access::{Client, Kind as ClientKind};
use crate::domain::Limits;
use crate::domain::access::{Role, Writer};
use crate::domain::ids::{UserId, UserKey};
use crate::domain::json::Json;
use crate::domain::request_key::RequestKey;
use crate::http::app::App;
use crate::http::describe::{Access, Charge, Operation};
use crate::http::limits::admission::Held;
use crate::http::limits::rates::{Limited, Paid, Payers};
use crate::http::limits::shares::Asker;
use crate::http::reply::{Answer, Binding, Code, Outcome, Problem, is_write};
use crate::service::{Reader, Service};

pub use body::{MediaType, Received};
pub use credential::{credential, turned_away, unauthenticated};
pub use names::check_path;
pub use passage::{ClientGone, Passage};
pub use query::Query;

/// A body that took longer has its client judged again. With the 3 s for which a credential is remembered, what is revoked holds
/// for no write within 5 s, however slowly its body comes.
const JUDGED_FOR: Duration = Duration::from_millis(1500);

/// A request as handlers see it: its names and its query are read, and its client may do what the operation does with them.
pub struct Call {
    pub app: Arc<App>,
    /// What the client may see: nothing, if it reads outside of its grant.
    pub service: Arc<Reader>,
    pub client: Arc<Client>,
    /// What the client showed. Streams and waits have it judged again and again.
    pub credential: Option<Arc<str>>,
    pub deadline: Instant,
    /// Its place among the requests, which one that waits gives back.
    pub place: Held,
    pub gone: ClientGone,
    pub is_head: bool,
    pub names: Names,
    pub headers: Headers,
    /// When the client was judged at last.
    judged: Instant,
    /// Its names are within the client's grant.
    is_within: bool,
    /// What it took from its rates.
    paid: Arc<Mutex<Paid>>,
    operation: &'static Operation,
    path: Vec<(&'static str, String)>,
    query: Query,
    body: Body,
}

/// What a client was let in for: for those whose requests last, to be judged again.
pub struct Standing {
    access: Access,
    names: Names,
    is_within: bool,
    client: Arc<Client>,
}

impl Standing {
    /// Whether the client may still do what it does.
    pub fn still_holds(&self, client: &Client) -> bool {
        // What the path does not name, a read takes from the grant as it began; what is written is judged name by name.
        let (then, now) = (&self.client.grant, &client.grant);
        let reads = !matches!(self.access, Access::Write(_));
        let has_less = (self.names.app.is_none() && !now.apps.contains(&then.apps))
            || (self.names.user.is_none() && !now.users.contains(&then.users));
        let is_within = is_within(client, self.access, &self.names);
        is_within.is_ok_and(|is_within| is_within == self.is_within) && !(reads && has_less)
    }
}

impl Call {
    /// Reads path and query, and asks whether the client may do what the operation does: in this order, so that the answer
    /// tells nothing of what is stored. `path` has the names of the path's template, with what stands there, decoded.
    ///
    /// # Errors
    /// A path or a query that breaks a rule; what the client may not do; a header that asks a write for safety which this
    /// operation cannot give; a rate that is used up.
    pub fn new(
        app: Arc<App>,
        operation: &'static Operation,
        path: Vec<(&'static str, String)>,
        request: Parts,
        body: Body,
        passage: Passage,
    ) -> Result<Self, Problem> {
        let names = Names::read(&path)?;
        let query = Query::of(request.uri.query().unwrap_or_default(), operation)?;
        let Passage { client, credential, deadline, place, gone } = passage;
        let is_within = is_within(&client, operation.access, &names)?;
        let headers = Headers::read(request.headers, is_write(&request.method), operation)?;
        let mut call = Self {
            service: app.reader(is_within).clone(),
            is_head: request.method == Method::HEAD,
            judged: Instant::now(),
            paid: Arc::default(),
            app,
            client,
            credential,
            deadline,
            place,
            gone,
            names,
            headers,
            is_within,
            operation,
            path,
            query,
            body,
        };
        match operation.serving.charge {
            Charge::Nothing => {}
            Charge::Request => {
                let payers = call.names.user();
                let paid = call.app.rates.check(call.payers(payers.as_ref().ok()), 1, Instant::now());
                call.paid = Arc::new(Mutex::new(paid.map_err(|limited| call.limited(&limited))?));
            }
        }
        Ok(call)
    }

    /// The answer of its handler. What the client may not do costs nothing, also where that is found in the body. What is refused
    /// stored nothing, and costs 1.
    ///
    /// # Errors
    /// Those of the handler.
    pub async fn answered<F>(self, handler: fn(Self) -> F) -> Result<Answer, Problem>
    where
        F: Future<Output = Result<Answer, Problem>>,
    {
        let (app, paid, role) = (self.app.clone(), self.paid.clone(), self.client.grant.role);
        let answer = handler(self).await.map_err(|problem| match problem.code {
            // Who was erased is for those who act for the app, not for whoever has a credential of the user.
            Code::UserErased if role <= Role::User => {
                Problem::over("grant", Code::PermissionDenied, "the credential is not for this app and user")
            }
            _ => problem,
        });
        let mut paid = paid.lock().unwrap_or_else(PoisonError::into_inner);
        match &answer {
            Err(Problem { code: Code::Unauthenticated | Code::PermissionDenied, .. }) => {
                app.rates.give_back(mem::take(&mut *paid), Instant::now());
            }
            Err(Problem { outcome: Outcome::NotApplied, .. }) => app.rates.settle(&mut paid, 1, Instant::now()),
            _ => {}
        }
        answer
    }

    /// Whether a rate applies to the request.
    pub fn pays(&self) -> bool {
        !self.paid.lock().unwrap_or_else(PoisonError::into_inner).is_nothing()
    }

    /// Takes what the request will store from what the app and the user of the path, and the client's key, may ask for: so much in
    /// all, with the 1 that was taken at its head.
    ///
    /// # Errors
    /// 429 `rate_limited`, and no more was taken.
    pub fn charge(&self, cost: u32) -> Result<(), Problem> {
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        self.app.rates.raise(&mut paid, cost.max(1), Instant::now()).map_err(|limited| self.limited(&limited))
    }

    /// What the request stored costs so much. A request that stored nothing costs 1.
    pub fn costs(&self, cost: u32) {
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        self.app.rates.settle(&mut paid, cost.max(1), Instant::now());
    }

    fn payers<'a>(&'a self, user: Option<&'a UserKey>) -> Payers<'a> {
        // What is outside of the grant pays nothing, or its answers would tell how busy it is.
        let app = self.names.app.as_ref().filter(|_| self.is_within);
        Payers { app, key: self.paying_key(), user: user.filter(|_| self.is_within) }
    }

    /// The key that pays: a token pays what its key pays.
    pub fn paying_key(&self) -> Option<&str> {
        self.client.id.as_deref().filter(|_| self.client.kind != ClientKind::Jwt)
    }

    fn limited(&self, limited: &Limited) -> Problem {
        limited.problem(|limit| self.app.clock.jitter(limit))
    }

    /// The limits on what the client may write.
    pub fn limits(&self) -> Limits {
        let writer = if self.client.grant.role == Role::User { Writer::User } else { Writer::Anyone };
        Limits { writer, ..*self.service.limits() }
    }

    /// Who shares places with others: the app of the path or, where it names none, the client; and the user of the path or, where it
    /// names none, the only one that the client may be.
    pub fn sharer(&self) -> Asker {
        let places = &self.app.places;
        let app = match &self.names.app {
            Some(app) => places.number(Some(app.as_str().as_bytes())),
            None => places.number(&self.client.id),
        };
        let user = self.names.user.as_ref().map(UserId::as_str).or_else(|| self.client.grant.users.only());
        Asker { app, user: user.map(|user| places.number(user.as_bytes())) }
    }

    pub fn standing(&self) -> Standing {
        Standing {
            access: self.operation.access,
            names: self.names.clone(),
            is_within: self.is_within,
            client: self.client.clone(),
        }
    }

    /// The client, judged by what its credential is worth now: what it is about to make could outlive what was remembered.
    ///
    /// # Errors
    /// The credential does not hold any more; the client may not do this any more.
    pub fn client_now(&self) -> impl Future<Output = Result<Arc<Client>, Problem>> + Send + use<> {
        let (app, credential, deadline) = (self.app.clone(), self.credential.clone(), self.deadline);
        let (access, names) = (self.operation.access, self.names.clone());
        async move {
            let client = app.authenticator.client_now(credential.as_deref(), deadline).await;
            let client = client.map_err(|refusal| turned_away(&app, refusal))?;
            is_within(&client, access, &names)?;
            Ok(client)
        }
    }

    /// What page tokens of a list of this kind are bound to, beside its query: what the client may see.
    pub fn binding(&self, kind: &str) -> Binding {
        Binding::of(kind).with(&format!("{:?}", self.client.grant))
    }

    /// The query, for the handler to keep.
    pub fn take_query(&mut self) -> Query {
        mem::take(&mut self.query)
    }

    /// The name of a file, in a path that has one.
    pub fn file(&self) -> Option<&str> {
        self.path.iter().find(|(name, _)| *name == "file").map(|(_, file)| file.as_str())
    }

    /// The `Idempotency-Key` of a request that appends no event, with what tells a retry: the operation, its path, and the
    /// fields of its body.
    pub fn request_key(&self, body: Option<Json<'_>>) -> Result<Option<RequestKey>, Problem> {
        let path = self.path.iter().map(|(_, segment)| segment.as_str());
        let key = self.headers.request_key()?;
        Ok(key.map(|key| RequestKey::new(key, iter::once(self.operation.id).chain(path), body)))
    }

    /// Reads the whole body, `None` if there is none: also of a request that announces one in chunks and sends none, whatever type
    /// it says. The client of one that took long is judged again: from here on, the request is what it may do now.
    ///
    /// # Errors
    /// The body is not what it must be; the client may not do this any more.
    pub async fn body(&mut self) -> Result<Option<Received>, Problem> {
        let body = mem::take(&mut self.body);
        let received = body::receive(&self.app, self.headers.all(), body, &self.place, self.deadline).await?;
        if self.judged.elapsed() > JUDGED_FOR {
            self.judge_again().await?;
        }
        Ok(received)
    }

    /// Reads a body that there must be.
    pub async fn required_body(&mut self) -> Result<Received, Problem> {
        self.body().await?.ok_or_else(|| Problem::new(Code::InvalidJson, "a JSON body is required, and there is none"))
    }

    /// The body, of this type, for the handler to read part by part.
    ///
    /// # Errors
    /// Another type, or a content coding.
    pub fn body_of(&mut self, media_type: MediaType) -> Result<Body, Problem> {
        media_type.check(self.headers.all())?;
        Ok(mem::take(&mut self.body))
    }

    /// What writes: outside of the client's grant there is nothing to write to.
    ///
    /// # Errors
    /// The names of the path are outside.
    pub fn writer(&self) -> Result<&Arc<Service>, Problem> {
        if self.is_within { Ok(self.app.writer()) } else { Err(outside()) }
    }

    /// Finds out anew who the client is and what it may do.
    async fn judge_again(&mut self) -> Result<(), Problem> {
        let client = self.app.authenticator.client(self.credential.as_deref(), self.deadline).await;
        self.client = client.map_err(|refusal| turned_away(&self.app, refusal))?;
        self.is_within = is_within(&self.client, self.operation.access, &self.names)?;
        self.service = self.app.reader(self.is_within).clone();
        self.judged = Instant::now();
        Ok(())
    }
}
