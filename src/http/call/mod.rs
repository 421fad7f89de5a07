//! Reading a request: path, query, headers, body. They are parsed into types of the domain; nothing is validated later.

mod body;
mod credential;
mod headers;
mod names;
mod passage;
mod query;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{iter, mem};

use axum::body::Body;
use axum::http::Method;
use axum::http::request::Parts;
use headers::Headers;
use names::{PathNames, is_within, outside};
use tokio::time::{Duration, Instant};

use crate::access::{Client, ClientKind};
use crate::domain::Limits;
use crate::domain::access::{Role, Writer};
use crate::domain::ids::{UserId, UserKey};
use crate::domain::json::Json;
use crate::domain::request_key::RequestKey;
use crate::http::app::App;
use crate::http::describe::{Access, Operation};
use crate::http::limits::admission::RequestShare;
use crate::http::limits::rates::{Limited, Paid, Payers};
use crate::http::limits::shares::{Asker, Share};
use crate::http::reply::{Answer, Binding, Code, Outcome, Problem, is_write};
use crate::service::{Reader, Service};

pub use body::{Broken, Incoming, MediaType, Received};
pub use credential::{credential, turned_away, unauthenticated};
pub use names::{check_path, segments};
pub use passage::{ClientGone, Passage};
pub use query::Query;

/// After a body that took longer than this, the client is authorized again. Together with the 3 s for which credentials
/// are cached, a revoked credential cannot write after 5 s, however slowly its body arrives.
const JUDGED_FOR: Duration = Duration::from_millis(1500);

/// A request as handlers see it: path and query are parsed, and the client is authorized for the operation.
pub struct Call {
    pub app: Arc<App>,
    /// The reads that the client may do. Outside of its grant they find nothing.
    pub service: Arc<Reader>,
    pub client: Arc<Client>,
    /// The credential, which streams and waits check again regularly.
    pub credential: Option<Arc<str>>,
    pub deadline: Instant,
    /// Its place among the concurrent requests. A request that waits gives it back.
    pub place: RequestShare,
    pub gone: ClientGone,
    pub is_head: bool,
    pub names: PathNames,
    pub headers: Headers,
    /// When the client was last authorized.
    judged: Instant,
    /// The names in the path are within the client's grant.
    is_within: bool,
    payment: Arc<Mutex<Payment>>,
    operation: &'static Operation,
    path: Vec<(&'static str, String)>,
    query: Query,
    body: Body,
}

/// The charge of a request to the rates.
#[derive(Default)]
struct Payment {
    paid: Paid,
    /// So much of it stays if the request is refused.
    spent: u32,
}

/// The permission that a long request began with, to check again later.
pub struct Standing {
    access: Access,
    names: PathNames,
    is_within: bool,
    client: Arc<Client>,
}

impl Standing {
    /// Whether the client still has this permission.
    pub fn still_holds(&self, client: &Client) -> bool {
        // If the path names no app or user, the request reads the client's whole grant, which must not have shrunk.
        // Writes are checked name by name.
        let (then, now) = (&self.client.grant, &client.grant);
        let reads = !matches!(self.access, Access::Write(_));
        let has_less = (self.names.app.is_none() && !now.apps.contains(&then.apps))
            || (self.names.user.is_none() && !now.users.contains(&then.users));
        let is_within = is_within(client, self.access, &self.names);
        is_within.is_ok_and(|is_within| is_within == self.is_within) && !(reads && has_less)
    }
}

impl Call {
    /// Parses path and query, then authorizes the client. In this order the answer reveals nothing about stored data.
    /// `path` has the parameters of the template with their decoded values.
    ///
    /// # Errors
    /// The path or the query is invalid; the client may not do this; a write has a safety header that this operation
    /// cannot honour; a rate is used up.
    pub fn new(
        app: Arc<App>,
        operation: &'static Operation,
        path: Vec<(&'static str, String)>,
        request: Parts,
        body: Body,
        passage: Passage,
    ) -> Result<Self, Problem> {
        let names = PathNames::read(&path)?;
        let query = Query::of(request.uri.query().unwrap_or_default(), operation)?;
        let Passage { client, credential, deadline, place, gone } = passage;
        let is_within = is_within(&client, operation.access, &names)?;
        let headers = Headers::read(request.headers, is_write(&request.method), operation)?;
        let mut call = Self {
            service: app.reader(is_within).clone(),
            is_head: request.method == Method::HEAD,
            judged: Instant::now(),
            payment: Arc::default(),
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
        if operation.serving.is_charged {
            let payers = call.names.user();
            let paid = call.app.rates.check(call.payers(payers.as_ref().ok()), 1, Instant::now());
            let paid = paid.map_err(|limited| call.limited(&limited))?;
            call.payment = Arc::new(Mutex::new(Payment { paid, spent: 1 }));
        }
        Ok(call)
    }

    /// Runs the handler. A request that is not permitted costs nothing, even if only its body shows that. Any other
    /// refused request stored nothing and costs 1, or what it has [spent](Call::spend).
    pub async fn answered<F>(self, handler: fn(Self) -> F) -> Result<Answer, Problem>
    where
        F: Future<Output = Result<Answer, Problem>>,
    {
        let (app, payment, role) = (self.app.clone(), self.payment.clone(), self.client.grant.role);
        let answer = handler(self).await.map_err(|problem| match problem.code {
            // Only clients that act for the whole app may learn that a user was erased, not clients with that user's
            // credential.
            Code::UserErased if role <= Role::User => {
                Problem::over("grant", Code::PermissionDenied, "the credential is not for this app and user")
            }
            _ => problem,
        });
        let mut payment = payment.lock().unwrap_or_else(PoisonError::into_inner);
        let Payment { paid, spent } = &mut *payment;
        match &answer {
            Err(Problem { code: Code::Unauthenticated | Code::PermissionDenied, .. }) => {
                app.rates.give_back(mem::take(paid), Instant::now());
            }
            Err(Problem { outcome: Outcome::NotApplied, .. }) => app.rates.settle(paid, *spent, Instant::now()),
            _ => {}
        }
        answer
    }

    pub fn pays(&self) -> bool {
        !self.payment().paid.is_nothing()
    }

    /// Charges the rates of the path's app and user and of the client's key for what the request will store. `cost` is
    /// the total, including the 1 that was charged at the start.
    ///
    /// # Errors
    /// 429 `rate_limited`; then nothing more was charged.
    pub fn charge(&self, cost: u32) -> Result<(), Problem> {
        let paid = &mut self.payment().paid;
        self.app.rates.raise(paid, cost.max(1), Instant::now()).map_err(|limited| self.limited(&limited))
    }

    /// Charges what the request has cost so far, whatever comes of it.
    ///
    /// # Errors
    /// 429 `rate_limited`, if others have left nothing: it is not to go on.
    pub fn spend(&self, cost: u32) -> Result<(), Problem> {
        let mut payment = self.payment();
        payment.spent = payment.spent.max(cost);
        let cost = payment.spent;
        self.app.rates.spend(&mut payment.paid, cost, Instant::now()).map_err(|limited| self.limited(&limited))
    }

    /// Corrects the charge to the actual cost of what was stored. A request that stored nothing costs 1.
    pub fn costs(&self, cost: u32) {
        self.app.rates.settle(&mut self.payment().paid, cost.max(1), Instant::now());
    }

    fn payment(&self) -> MutexGuard<'_, Payment> {
        self.payment.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn of a request that reads more than others.
    ///
    /// # Errors
    /// None came in time.
    pub fn turn(&self) -> impl Future<Output = Result<Share, Problem>> + Send + use<> {
        let (app, sharer, deadline) = (self.app.clone(), self.sharer(), self.deadline);
        async move { app.places.turn(sharer, deadline).await }
    }

    fn payers<'a>(&'a self, user: Option<&'a UserKey>) -> Payers<'a> {
        // Outside of the grant only the key is charged, or the answers would reveal how busy the app is.
        let app = self.names.app.as_ref().filter(|_| self.is_within);
        Payers { app, key: self.paying_key(), user: user.filter(|_| self.is_within) }
    }

    /// The key that is charged. A token charges the key that issued it.
    pub fn paying_key(&self) -> Option<&str> {
        self.client.id.as_deref().filter(|_| self.client.kind != ClientKind::Jwt)
    }

    fn limited(&self, limited: &Limited) -> Problem {
        limited.problem(|limit| self.app.clock.jitter(limit))
    }

    pub fn limits(&self) -> Limits {
        let writer = if self.client.grant.role == Role::User { Writer::User } else { Writer::Anyone };
        Limits { writer, ..*self.service.limits() }
    }

    /// Whose share of places the request uses: the path's app, or else the client; and the path's user, or else the
    /// only user of the client's grant.
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

    /// Authorizes the client again without the cache, for an operation whose result could outlive the cached answer.
    ///
    /// # Errors
    /// The credential is no longer valid, or no longer allows this.
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

    /// The binding of page tokens to this kind of list and to the client's grant. The query is added to it.
    pub fn binding(&self, kind: &str) -> Binding {
        Binding::of(kind).with(&format!("{:?}", self.client.grant))
    }

    /// Moves the query out, for the handler to keep.
    pub fn take_query(&mut self) -> Query {
        mem::take(&mut self.query)
    }

    /// The file name in the path, if it has one.
    pub fn file(&self) -> Option<&str> {
        self.path.iter().find(|(name, _)| *name == "file").map(|(_, file)| file.as_str())
    }

    /// The `Idempotency-Key` of a request that appends no event, with a fingerprint of operation, path and body, which
    /// identifies a retry.
    pub fn request_key(&self, body: Option<Json<'_>>) -> Result<Option<RequestKey>, Problem> {
        let path = self.path.iter().map(|(_, segment)| segment.as_str());
        let key = self.headers.request_key()?;
        Ok(key.map(|key| RequestKey::new(key, iter::once(self.operation.id).chain(path), body)))
    }

    /// As [`Call::request_key`], of a body that is one value.
    pub fn request_key_of_value(&self, value: Json<'_>) -> Result<Option<RequestKey>, Problem> {
        let path = self.path.iter().map(|(_, segment)| segment.as_str());
        let key = self.headers.request_key()?;
        Ok(key.map(|key| RequestKey::of_value(key, iter::once(self.operation.id).chain(path), value)))
    }

    /// Reads the whole body. `None` if it is empty, even if a chunked one was announced, of whatever type. If it took
    /// long, the client is authorized again.
    ///
    /// # Errors
    /// The body is invalid; the client may not do this any more.
    pub async fn body(&mut self) -> Result<Option<Received>, Problem> {
        let body = mem::take(&mut self.body);
        let received = body::receive(&self.app, self.headers.all(), body, &self.place, self.deadline).await?;
        if self.judged.elapsed() > JUDGED_FOR {
            self.judge_again().await?;
        }
        Ok(received)
    }

    /// Reads the body; a missing one is an error.
    pub async fn required_body(&mut self) -> Result<Received, Problem> {
        self.body().await?.ok_or_else(|| Problem::new(Code::InvalidJson, "a JSON body is required, and there is none"))
    }

    /// Moves the body out, for the handler to read in parts; without a media type, one of any type.
    ///
    /// # Errors
    /// The body has another type or a content coding.
    pub fn incoming(&mut self, media_type: Option<MediaType>) -> Result<Incoming, Problem> {
        match media_type {
            Some(media_type) => media_type.check(self.headers.all())?,
            None => body::check_content_encoding(self.headers.all())?,
        }
        Ok(Incoming::new(self.app.clone(), mem::take(&mut self.body)))
    }

    /// Authorizes the client again, if that was long ago.
    ///
    /// # Errors
    /// The client may not do this any more.
    pub async fn still_may(&mut self) -> Result<(), Problem> {
        if self.judged.elapsed() > JUDGED_FOR {
            self.deadline = Instant::now() + self.app.settings.request_timeout;
            self.judge_again().await?;
        }
        Ok(())
    }

    /// The service with its writes, if the path is within the client's grant.
    ///
    /// # Errors
    /// The path is outside of the client's grant.
    pub fn writer(&self) -> Result<&Arc<Service>, Problem> {
        if self.is_within { Ok(self.app.writer()) } else { Err(outside()) }
    }

    /// Authenticates and authorizes the client again.
    async fn judge_again(&mut self) -> Result<(), Problem> {
        let client = self.app.authenticator.client(self.credential.as_deref(), self.deadline).await;
        self.client = client.map_err(|refusal| turned_away(&self.app, refusal))?;
        self.is_within = is_within(&self.client, self.operation.access, &self.names)?;
        self.service = self.app.reader(self.is_within).clone();
        self.judged = Instant::now();
        Ok(())
    }
}
