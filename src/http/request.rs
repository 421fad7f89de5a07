//! Reading a request: path, query, headers, body. Parse, don't validate: what leaves here is of the domain's types.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use percent_encoding::percent_decode_str;
use tokio::time::{Instant, timeout_at};

use super::admission::Held;
use super::app::App;
use super::describe::{Access, Charge, Header, Kind, Operation, PAGE_SIZE, Param, QUERY_TOKEN, WAIT};
use super::memory::Claim;
use super::paging::Binding;
use super::pipeline::{Shown, turned_away};
use super::problem::{Code, Outcome, Problem, is_write};
use super::rates::{Limited, Paid, Payers};
use super::shares::Asker;
use crate::access::{Client, Kind as ClientKind};
use crate::allowance::Allowance;
use crate::domain::access::{Place, Role, Writer};
use crate::domain::envelope::{parse_body, to_camel};
use crate::domain::event;
use crate::domain::ids::{AppName, EventId, IdempotencyKey, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::Json;
use crate::domain::lease::{LeaseMark, parse_epoch, parse_incarnation};
use crate::domain::request_key::RequestKey;
use crate::domain::session::{MAX_LABELS, check_label_name, check_label_value};
use crate::domain::tag::{IfMatch, none_match_hits};
use crate::domain::time::Micros;
use crate::domain::{FieldError, Limits, scope};
use crate::service::{Guard, Service};

/// Until when this request is to be answered; put into its extensions as it arrives.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(pub Instant);

/// A body that took longer has its client judged again. With the 3 s for which a credential is remembered, what is revoked holds
/// for no write within 5 s, however slowly its body comes.
const JUDGED_FOR: Duration = Duration::from_millis(1500);

/// Rows of a page that does not say how many it wants.
const DEFAULT_PAGE_ROWS: usize = 100;

/// A request as handlers see it: its names and its query are read, and its client may do what the operation does with them.
pub struct Call {
    pub app: Arc<App>,
    /// What the client may see: nothing, if it reads outside of its grant.
    pub service: Arc<Service>,
    pub client: Arc<Client>,
    pub deadline: Instant,
    /// When the client was judged at last.
    judged: Instant,
    pub is_head: bool,
    /// What a stream or a wait needs to know of the request, as the pipeline put it there.
    pub extensions: Extensions,
    /// Its names are within the client's grant.
    is_within: bool,
    /// What it took from its rates.
    paid: Arc<Mutex<Paid>>,
    operation: &'static Operation,
    names: Names,
    path: Vec<(String, String)>,
    query: Query,
    headers: HeaderMap,
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

/// The names in a path.
#[derive(Debug, Default, Clone)]
struct Names {
    app: Option<AppName>,
    user: Option<UserId>,
    session: Option<SessionId>,
    event: Option<EventId>,
    /// A key of the merged state, prefix included.
    key: Option<String>,
    /// The id of an API key or of an erasure; `None` also for what can be none.
    id: Option<String>,
}

impl Names {
    fn read(path: &RawPathParams) -> Result<Self, Problem> {
        let mut names = Self::default();
        for (name, value) in path {
            match name {
                "app" => names.app = Some(parsed("appName", AppName::parse(value))?),
                "user" => names.user = Some(parsed("userId", UserId::parse(value))?),
                "session" => names.session = Some(parsed("sessionId", SessionId::parse(value))?),
                "event" => names.event = Some(parsed("id", EventId::parse(value))?),
                "key" => names.key = Some(parsed("key", check_state_key(value).map(|()| value.to_owned()))?),
                "id" => names.id = EventId::parse(value).ok().map(|id| id.to_string()),
                _ => {}
            }
        }
        Ok(names)
    }
}

fn parsed<T>(field: &str, parsed: Result<T, &'static str>) -> Result<T, Problem> {
    parsed.map_err(|message| Problem::field(field, message))
}

/// A handler asks for a name that its path does not have.
fn no_such_name() -> Problem {
    Problem::panicked()
}

impl Call {
    /// Reads path and query, and asks whether the client may do what the operation does: in this order, so that the answer
    /// tells nothing of what is stored.
    ///
    /// # Errors
    /// A path or a query that breaks a rule; what the client may not do; a header that asks a write for safety which this
    /// operation cannot give; a rate that is used up.
    pub async fn new(app: Arc<App>, request: Request, operation: &'static Operation) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let path = RawPathParams::from_request_parts(&mut parts, &app).await.map_err(IntoResponse::into_response)?;
        Self::judged(app, &path, parts, body, operation).map_err(IntoResponse::into_response)
    }

    fn judged(
        app: Arc<App>,
        path: &RawPathParams,
        parts: Parts,
        body: Body,
        operation: &'static Operation,
    ) -> Result<Self, Problem> {
        let names = Names::read(path)?;
        let query = Query::of(parts.uri.query().unwrap_or_default(), operation)?;
        let client = parts.extensions.get::<Arc<Client>>().cloned().unwrap_or_else(|| Arc::new(Client::nobody()));
        let is_within = is_within(&client, operation.access, &names)?;
        if is_write(&parts.method) {
            check_headers(operation, &parts.headers)?;
        }
        let mut call = Self {
            service: app.service(is_within).clone(),
            is_within,
            paid: Arc::default(),
            app,
            client,
            operation,
            is_head: parts.method == Method::HEAD,
            judged: Instant::now(),
            deadline: parts.extensions.get::<Deadline>().map_or_else(Instant::now, |deadline| deadline.0),
            names,
            path: path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            query,
            headers: parts.headers,
            extensions: parts.extensions,
            body,
        };
        match operation.serving.charge {
            Charge::Nothing => {}
            Charge::Request => {
                let payers = call.user();
                let paid = call.app.rates.check(call.payers(payers.as_ref().ok()), 1, Instant::now());
                call.paid = Arc::new(Mutex::new(paid.map_err(|limited| call.limited(&limited))?));
            }
        }
        Ok(call)
    }

    /// The answer of its handler. What the client may not do costs nothing, also where that is found in the body. What is refused
    /// stored nothing, and costs 1.
    pub async fn answered<R: IntoResponse>(self, handler: impl AsyncFnOnce(Self) -> R) -> Response {
        let (app, paid, role) = (self.app.clone(), self.paid.clone(), self.client.grant.role);
        let mut response = handler(self).await.into_response();
        let is_erased = response.extensions().get().is_some_and(|problem: &Problem| problem.code == Code::UserErased);
        if is_erased && role <= Role::User {
            // Who was erased is for those who act for the app, not for whoever has a credential of the user.
            let detail = "the credential is not for this app and user";
            response = Problem::over("grant", Code::PermissionDenied, detail).into_response();
        }
        let mut paid = paid.lock().unwrap_or_else(PoisonError::into_inner);
        let is_refused = |problem: &Problem| problem.outcome == Outcome::NotApplied;
        if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            app.rates.give_back(mem::take(&mut *paid), Instant::now());
        } else if response.extensions().get().is_some_and(is_refused) {
            app.rates.settle(&mut paid, 1, Instant::now());
        }
        response
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

    pub fn app_name(&self) -> Result<AppName, Problem> {
        self.names.app.clone().ok_or_else(no_such_name)
    }

    pub fn user(&self) -> Result<UserKey, Problem> {
        Ok(UserKey { app: self.app_name()?, user: self.names.user.clone().ok_or_else(no_such_name)? })
    }

    pub fn session(&self) -> Result<SessionKey, Problem> {
        Ok(SessionKey { user: self.user()?, session: self.names.session.clone().ok_or_else(no_such_name)? })
    }

    pub fn event_id(&self) -> Result<EventId, Problem> {
        self.names.event.clone().ok_or_else(no_such_name)
    }

    /// A key of the merged state, prefix included.
    pub fn state_key(&self) -> Result<String, Problem> {
        self.names.key.clone().ok_or_else(no_such_name)
    }

    /// The name of a file, in a path that has one.
    pub fn file(&self) -> Option<&str> {
        self.path.iter().find(|(name, _)| name == "file").map(|(_, file)| file.as_str())
    }

    /// The id of an API key or of an erasure.
    pub fn id(&self) -> Result<String, Problem> {
        let none = || Problem::new(Code::NotFound, "there is nothing of this id");
        self.names.id.clone().ok_or_else(none)
    }

    /// The credential that was shown.
    pub fn credential(&self) -> Option<Arc<str>> {
        self.extensions.get().and_then(|Shown(credential)| credential.clone())
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
        let (app, credential, deadline) = (self.app.clone(), self.credential(), self.deadline);
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

    /// The host and port that the client asked, as it wrote them.
    pub fn host(&self) -> Option<&str> {
        self.headers.get(header::HOST).and_then(|host| host.to_str().ok())
    }

    pub fn asks_if_none_match(&self) -> bool {
        self.headers.contains_key(header::IF_NONE_MATCH)
    }

    /// The values of a header that may come in several parts.
    pub fn header_list(&self, name: &HeaderName) -> impl Iterator<Item = &str> {
        let texts = self.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        texts.flat_map(|text| text.split(',')).map(str::trim).filter(|part| !part.is_empty())
    }

    fn header<T>(
        &self,
        header: Header,
        parse: impl FnOnce(&str) -> Result<T, &'static str>,
    ) -> Result<Option<T>, Problem> {
        let mut values = self.headers.get_all(header.name()).iter();
        let refuse = |message| Problem::field(header.title(), message);
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(refuse("must be given once"));
        }
        let value = std::str::from_utf8(value.as_bytes()).map_err(|_| refuse("must be UTF-8"))?;
        parse(value).map(Some).map_err(refuse)
    }

    pub fn if_match(&self) -> Result<Option<IfMatch>, Problem> {
        self.header(Header::IfMatch, IfMatch::parse)
    }

    /// The lease that a write is made under.
    pub fn lease(&self) -> Result<Option<LeaseMark>, Problem> {
        self.header(Header::Lease, LeaseMark::parse)
    }

    /// What a write of a session is judged by.
    pub fn guard(&self) -> Result<Guard, Problem> {
        Ok(Guard { lease: self.lease()?, if_match: self.if_match()? })
    }

    /// Whether the write asks that nothing be there yet.
    pub fn is_create_only(&self) -> Result<bool, Problem> {
        Ok(self.header(Header::CreateOnly, parse_create_only)?.is_some())
    }

    /// Where a stream of events goes on. An empty header is none: a browser sends it before its first event.
    pub fn last_event_id<T>(&self, parse: impl Fn(&str) -> Result<T, &'static str>) -> Result<Option<T>, Problem> {
        let position = |text: &str| (!text.is_empty()).then(|| parse(text)).transpose();
        Ok(self.header(Header::LastEventId, position)?.flatten())
    }

    /// Whether the client has what `tag` (quoted) stands for.
    pub fn has_current(&self, tag: &str) -> Result<bool, Problem> {
        Ok(self.header(Header::IfNoneMatch, |header| none_match_hits(header, tag))?.unwrap_or(false))
    }

    /// The `Idempotency-Key`, as the id of the event that the request appends.
    pub fn idempotency_key(&self) -> Result<Option<EventId>, Problem> {
        self.header(Header::IdempotencyKey, EventId::parse)
    }

    /// The `Idempotency-Key` of a request that appends no event, with what tells a retry: the operation, its path, and the
    /// fields of its body.
    pub fn request_key(&self, body: Option<Json<'_>>) -> Result<Option<RequestKey>, Problem> {
        let key = self.header(Header::IdempotencyKey, IdempotencyKey::parse)?;
        let path = self.path.iter().map(|(_, segment)| segment.as_str());
        Ok(key.map(|key| RequestKey::new(key, std::iter::once(self.operation.id).chain(path), body)))
    }

    /// Reads the whole body, `None` if there is none: also of a request that announces one in chunks and sends none, whatever type
    /// it says. The client of one that took long is judged again: from here on, the request is what it may do now.
    ///
    /// # Errors
    /// The body is not what it must be; the client may not do this any more.
    pub async fn body(&mut self) -> Result<Option<Received>, Problem> {
        let received = self.received().await?;
        if self.judged.elapsed() > JUDGED_FOR {
            self.judge_again().await?;
        }
        Ok(received)
    }

    /// Finds out anew who the client is and what it may do.
    async fn judge_again(&mut self) -> Result<(), Problem> {
        let client = self.app.authenticator.client(self.credential().as_deref(), self.deadline).await;
        self.client = client.map_err(|refusal| turned_away(&self.app, refusal))?;
        self.is_within = is_within(&self.client, self.operation.access, &self.names)?;
        self.service = self.app.service(self.is_within).clone();
        self.judged = Instant::now();
        Ok(())
    }

    async fn received(&mut self) -> Result<Option<Received>, Problem> {
        let settings = &self.app.settings;
        let limit = settings.max_body_bytes;
        let too_large =
            || Problem::over("body", Code::PayloadTooLarge, format!("the body is larger than {limit} bytes"));
        let announced = self.headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
        let chunked = self.headers.contains_key(header::TRANSFER_ENCODING);
        check_content_encoding(&self.headers)?;
        if announced.unwrap_or(0) == 0 && !chunked {
            return Ok(None);
        }
        let content_type = self.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        if !chunked {
            check_content_type(content_type, MediaType::Json)?;
        }
        if announced.is_some_and(|length| length > limit) {
            return Err(too_large());
        }
        let mut memory = self.app.memory.claim();
        let mut bytes = BytesMut::new();
        let mut allowance = Allowance::new(settings.body_stall_timeout, settings.min_rate);
        let held = self.extensions.get::<Held>().cloned();
        let revocation = held.as_ref().and_then(Held::revocable);
        let taken_back = || {
            let detail = "more requests of the user are under way than can be served beside others; try again";
            Problem::over("in_flight", Code::Overloaded, detail)
        };
        loop {
            let begun = Instant::now();
            let patience = begun + allowance.left();
            let revoked = async {
                match &revocation {
                    Some(revocation) => revocation.revoked().await,
                    None => std::future::pending().await,
                }
            };
            let read = tokio::select! {
                biased;
                () = revoked => return Err(taken_back()),
                read = timeout_at(patience.min(self.deadline), self.body.frame()) => read,
            };
            let frame = match read {
                Err(_) if patience < self.deadline => {
                    return Err(Problem::new(Code::RequestTimeout, "the body arrives too slowly"));
                }
                Err(_) => {
                    return Err(Problem::new(Code::RequestTimeout, "the body did not arrive within the time limit"));
                }
                Ok(None) => break,
                Ok(Some(Err(_))) => {
                    return Err(Problem::new(Code::InvalidJson, "the body ended before it was complete"));
                }
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(data) = frame.into_data() else { continue };
            if bytes.is_empty() && !data.is_empty() {
                check_content_type(content_type, MediaType::Json)?;
            }
            if bytes.len() + data.len() > limit {
                return Err(too_large());
            }
            allowance.settle(begun.elapsed(), data.len());
            if !memory.grow_to(bytes.len() + data.len()) {
                let detail = "too many bytes of requests are under way; try again";
                return Err(Problem::over("buffered_bytes", Code::Overloaded, detail));
            }
            bytes.extend_from_slice(&data);
        }
        if held.is_some_and(|held| !held.settle()) {
            return Err(taken_back());
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        Ok(Some(Received { bytes: bytes.freeze(), _memory: memory }))
    }

    /// The body, of this type, for the handler to read part by part.
    ///
    /// # Errors
    /// Another type, or a content coding.
    pub fn body_of(&mut self, media_type: MediaType) -> Result<Body, Problem> {
        check_content_encoding(&self.headers)?;
        check_content_type(self.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes), media_type)?;
        Ok(mem::take(&mut self.body))
    }

    /// Reads a body that there must be.
    pub async fn required_body(&mut self) -> Result<Received, Problem> {
        self.body().await?.ok_or_else(|| Problem::new(Code::InvalidJson, "a JSON body is required, and there is none"))
    }
}

/// A body in memory, counted against what all bodies together may take until it is dropped.
pub struct Received {
    bytes: Bytes,
    _memory: Claim,
}

impl Received {
    /// What an event of so many bytes costs.
    pub fn cost(&self) -> u32 {
        event::cost(self.bytes.len())
    }

    /// # Errors
    /// Not JSON, or JSON that breaks the rules of fidelity.
    pub fn json(&self) -> Result<Json<'_>, Problem> {
        Ok(parse_body(&self.bytes)?)
    }
}

/// Whether the names are within the client's grant. Reads outside of it find nothing.
///
/// # Errors
/// The client may not do this: its role may not, or it would write outside of its grant.
fn is_within(client: &Client, access: Access, names: &Names) -> Result<bool, Problem> {
    let role = match access {
        Access::Open | Access::Known => return Ok(true),
        Access::Read(role) | Access::ReadShared(role) | Access::Write(role) => role,
    };
    let place = match (&names.app, &names.user) {
        (None, _) => Place::Server,
        (Some(app), Some(user)) => Place::User(app, user),
        (Some(app), None) if matches!(access, Access::ReadShared(_)) => Place::Shared(app),
        (Some(app), None) => Place::App(app),
    };
    if client.grant.role < role {
        let detail = format!("the role `{}` may not do this; `{role}` could", client.grant.role);
        return Err(Problem::over("role", Code::PermissionDenied, detail));
    }
    match (client.grant.reaches(place), access) {
        (false, Access::Write(_)) => {
            let detail = "the credential is not for this app and user";
            Err(Problem::over("grant", Code::PermissionDenied, detail))
        }
        (is_within, _) => Ok(is_within),
    }
}

/// Refuses what a write asks for its safety and would not get: a client that relies on it must not be left in the belief
/// that it holds.
fn check_headers(operation: &Operation, headers: &HeaderMap) -> Result<(), Problem> {
    let mut errors = Vec::new();
    for asked in [Header::IdempotencyKey, Header::IfMatch, Header::CreateOnly, Header::Lease] {
        if headers.contains_key(asked.name()) && !operation.headers.contains(&asked) {
            errors.push(FieldError::new(asked.title(), "is not honoured by this request, so it is refused"));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
}

fn parse_create_only(header: &str) -> Result<(), &'static str> {
    if header.trim() == "*" { Ok(()) } else { Err("of a write must be `*`: only if there is none yet") }
}

/// What a body may be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    Json,
    /// Lines of JSON.
    Ndjson,
}

impl MediaType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
        }
    }
}

/// Only this type, in UTF-8. That is more than tidiness: a web page may send any other type to a server on its user's machine
/// without asking it first.
fn check_content_type(value: Option<&[u8]>, media_type: MediaType) -> Result<(), Problem> {
    let refuse = |detail: String| Err(Problem::new(Code::UnsupportedMediaType, detail));
    let wanted = media_type.as_str();
    let Some(value) = value else {
        return refuse(format!("the body has no Content-Type; send `Content-Type: {wanted}`"));
    };
    let value = String::from_utf8_lossy(value).to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    match (parts.next(), media_type) {
        (Some(given), _) if given == wanted => {}
        (Some("application/x-www-form-urlencoded"), MediaType::Json) => {
            return refuse(
                "the body must be application/json; `curl -d` sends a form type: use `curl --json` instead".to_owned(),
            );
        }
        _ => return refuse(format!("the body must be {wanted}")),
    }
    let foreign = |part: &str| {
        part.strip_prefix("charset=").is_some_and(|charset| !matches!(charset.trim_matches('"'), "utf-8" | "utf8"))
    };
    if parts.any(foreign) { refuse("the body must be in UTF-8".to_owned()) } else { Ok(()) }
}

/// Only bodies that are not compressed: how much a compressed one holds is known too late.
fn check_content_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    let is_identity = |value: &HeaderValue| {
        value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii).all(|coding| {
            // RFC 9110 section 8.4.1 keeps the word out of this header; some clients send it, and it does no harm.
            coding.is_empty() || coding.eq_ignore_ascii_case(b"identity")
        })
    };
    if headers.get_all(header::CONTENT_ENCODING).iter().all(is_identity) {
        return Ok(());
    }
    let mut problem =
        Problem::new(Code::UnsupportedMediaType, "the body has a Content-Encoding; send it as it is, without one");
    problem.content_coding = true;
    Err(problem)
}

/// Refuses a path that no route can mean: a bad percent escape, a segment that is not UTF-8 or, below one of
/// `strict_roots`, empty.
pub fn check_path(path: &str, strict_roots: &[&str]) -> Result<(), Problem> {
    check_escapes(path).map_err(|message| Problem::field("path", message))?;
    let mut segments = path.split('/').skip(1);
    if segments.next().is_some_and(|root| strict_roots.contains(&root)) && segments.any(str::is_empty) {
        return Err(Problem::field("path", "has an empty segment"));
    }
    Ok(())
}

fn check_escapes(text: &str) -> Result<(), &'static str> {
    let bytes = text.as_bytes();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%') {
        if !bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return Err("has a `%` that no two hexadecimal digits follow");
        }
    }
    percent_decode_str(text).decode_utf8().map(drop).map_err(|_| "is not UTF-8 once decoded")
}

/// A parsed query: each parameter of the operation at most once, of its type; labels as often as they come, and a
/// session must have them all.
#[derive(Debug, Default)]
pub struct Query {
    values: Vec<(&'static str, String)>,
    labels: Vec<(String, String)>,
}

impl Query {
    /// Reads the query as the operation describes it. What it does not know is refused, at paths of others overlooked.
    fn of(query: &str, operation: &Operation) -> Result<Self, Problem> {
        let serving = operation.serving;
        if serving.strict_query && !serving.token_in_query {
            return Self::parse(query, operation.query);
        }
        let is_known = |pair: &&str| {
            let name = pair.split('=').next().unwrap_or_default();
            match serving.strict_query {
                true => !percent_decode_str(name).eq(QUERY_TOKEN.bytes()),
                false => operation.query.iter().any(|param| param.name == name),
            }
        };
        Self::parse(&query.split('&').filter(is_known).collect::<Vec<_>>().join("&"), operation.query)
    }

    fn parse(query: &str, params: &'static [Param]) -> Result<Self, Problem> {
        let mut parsed = Self::default();
        let mut errors = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (decode(name), decode(value)) else {
                errors.push(FieldError::new("query", "has a bad percent escape, or is not UTF-8 once decoded"));
                continue;
            };
            if let Err(message) = parsed.take(&name, value, params) {
                errors.push(FieldError::new(name, message));
            }
        }
        for param in params.iter().filter(|param| matches!(param.kind, Kind::Epoch)) {
            if parsed.text(param).is_none() && !errors.iter().any(|error| error.field == param.name) {
                errors.push(FieldError::new(param.name, "is required"));
            }
        }
        if errors.is_empty() { Ok(parsed) } else { Err(Problem::invalid(errors)) }
    }

    fn take(&mut self, name: &str, value: String, params: &'static [Param]) -> Result<(), String> {
        let labels = params.iter().any(|param| matches!(param.kind, Kind::Labels));
        if let (true, Some(label)) = (labels, name.strip_prefix("label.")) {
            check_label_name(label)?;
            check_label_value(&value)?;
            if self.labels.iter().any(|(seen, _)| seen == label) {
                return Err("is given twice".to_owned());
            }
            if self.labels.len() == MAX_LABELS {
                return Err(format!("is one label more than the {MAX_LABELS} that a session can have"));
            }
            self.labels.push((label.to_owned(), value));
            return Ok(());
        }
        let camel = to_camel(name);
        let param = params
            .iter()
            .find(|param| param.name == camel && !matches!(param.kind, Kind::Labels))
            .ok_or("is not a parameter of this request")?;
        check(param, &value)?;
        if self.values.iter().any(|(seen, _)| *seen == param.name) {
            return Err("is given twice".to_owned());
        }
        self.values.push((param.name, value));
        Ok(())
    }

    pub fn text(&self, param: &Param) -> Option<&str> {
        self.values.iter().find(|(name, _)| *name == param.name).map(|(_, value)| value.as_str())
    }

    pub fn integer(&self, param: &Param) -> Option<i64> {
        self.text(param).map(saturating)
    }

    pub fn boolean(&self, param: &Param) -> bool {
        self.text(param) == Some("true")
    }

    pub fn time(&self, param: &Param) -> Option<Micros> {
        self.text(param).and_then(|text| Micros::from_text(text).ok())
    }

    /// For how long to wait; `None` if it was not asked for.
    pub fn wait(&self) -> Option<Duration> {
        self.text(&WAIT).and_then(|text| wait(text).ok())
    }

    /// An epoch, which is required.
    pub fn epoch(&self, param: &Param) -> i64 {
        self.text(param).and_then(|text| parse_epoch(text).ok()).unwrap_or_default()
    }

    pub fn incarnation(&self, param: &Param) -> Option<i64> {
        self.text(param).and_then(|text| parse_incarnation(text).ok())
    }

    /// How many rows a page is to have.
    pub fn page_rows(&self, limits: &Limits) -> Result<usize, Problem> {
        match self.integer(&PAGE_SIZE).map(|rows| usize::try_from(rows).unwrap_or(usize::MAX)) {
            None => Ok(DEFAULT_PAGE_ROWS.min(limits.page_rows)),
            Some(rows) if rows <= limits.page_rows => Ok(rows),
            Some(_) => Err(Problem::field(PAGE_SIZE.name, format!("must be at most {}", limits.page_rows))),
        }
    }

    pub fn labels(&self) -> &[(String, String)] {
        &self.labels
    }
}

fn decode(text: &str) -> Option<String> {
    check_escapes(text).ok()?;
    // As forms write it, and as HTTP clients encode queries.
    Some(percent_decode_str(&text.replace('+', " ")).decode_utf8().ok()?.into_owned())
}

/// Checks a value against its parameter's kind, so that the typed getters cannot fail.
fn check(param: &Param, value: &str) -> Result<(), String> {
    match param.kind {
        Kind::Integer { min, max } => {
            let digits = value.strip_prefix('-').unwrap_or(value);
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                Err("must be an integer".to_owned())
            } else if saturating(value) < min {
                Err(format!("must be at least {min}"))
            } else if saturating(value) > max {
                Err(format!("must be at most {max}"))
            } else {
                Ok(())
            }
        }
        Kind::Wait => wait(value).map(drop).map_err(str::to_owned),
        Kind::Boolean if value != "true" && value != "false" => Err("must be true or false".to_owned()),
        Kind::OneOf(words) if !words.contains(&value) => Err(format!("must be one of {}", words.join(", "))),
        Kind::Time => Micros::from_text(value).map(drop).map_err(str::to_owned),
        Kind::Epoch => parse_epoch(value).map(drop).map_err(str::to_owned),
        Kind::Incarnation => parse_incarnation(value).map(drop).map_err(str::to_owned),
        Kind::StateKey => check_state_key(value).map_err(str::to_owned),
        Kind::StateKeys => value.split(',').try_for_each(check_state_key).map_err(str::to_owned),
        Kind::Boolean | Kind::OneOf(_) | Kind::Text | Kind::Labels => Ok(()),
    }
}

/// A key of the merged state, prefix included.
fn check_state_key(key: &str) -> Result<(), &'static str> {
    scope::check_key(scope::split(key).map_or(key, |(_, stored)| stored))
}

/// So many seconds, with or without an `s`.
fn wait(text: &str) -> Result<Duration, &'static str> {
    const LONGEST: u64 = 60;
    let digits = text.strip_suffix('s').unwrap_or(text);
    match digits.parse() {
        Ok(seconds @ 0..=LONGEST) if digits.bytes().all(|b| b.is_ascii_digit()) => Ok(Duration::from_secs(seconds)),
        _ => Err("must be a number of seconds from 0 to 60, like 30 or 30s"),
    }
}

/// An integer of any length, held within 64 bits: beyond, only its side matters.
fn saturating(digits: &str) -> i64 {
    digits.parse().unwrap_or(if digits.starts_with('-') { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &[Param] = &[
        Param { name: "pageSize", kind: Kind::Integer { min: 1, max: 10 }, about: "" },
        Param { name: "author", kind: Kind::Text, about: "" },
        Param { name: "order", kind: Kind::OneOf(&["asc", "desc"]), about: "" },
        Param { name: "since", kind: Kind::Time, about: "" },
        Param { name: "label", kind: Kind::Labels, about: "" },
    ];

    #[test]
    fn what_is_required_is_asked_for() {
        const RELEASE: &[Param] = &[
            Param { name: "epoch", kind: Kind::Epoch, about: "" },
            Param { name: "incarnation", kind: Kind::Incarnation, about: "" },
        ];
        let query = Query::parse("epoch=8&incarnation=abc", RELEASE).unwrap();
        assert_eq!((query.epoch(&RELEASE[0]), query.incarnation(&RELEASE[1])), (8, Some(0xabc)));
        for bad in
            ["", "incarnation=abc", "epoch=", "epoch=-1", "epoch=x", "epoch=8&incarnation=", "epoch=8&incarnation=x"]
        {
            assert!(Query::parse(bad, RELEASE).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_query_is_what_its_description_says() {
        let query = Query::parse("page_size=7&author=a+b%2B&since=0&label.x.y=z&&", PARAMS).unwrap();
        assert_eq!(query.integer(&PARAMS[0]), Some(7));
        assert_eq!(query.text(&PARAMS[1]), Some("a b+"));
        assert_eq!(query.time(&PARAMS[3]), Some(Micros(0)));
        assert_eq!(query.labels(), [("x.y".to_owned(), "z".to_owned())]);
        for bad in [
            "bogus=1",
            "pageSize=0",
            "pageSize=11",
            "pageSize=",
            "pageSize=x",
            "pageSize=1.0",
            "pageSize=-1",
            "pageSize=99999999999999999999",
            "pageSize=1&page_size=1",
            "order=up",
            "since=never",
            "author=%zz",
            "author=%ff",
            "label.X=1",
            "label=1",
            "label.=1",
            "label.a=1&label.a=2",
        ] {
            assert!(Query::parse(bad, PARAMS).is_err(), "{bad}");
        }
    }

    #[test]
    fn bad_paths_are_refused() {
        for good in ["/v1/apps/a%2Fb/users", "/v1", "/", "/x//y", "/v1/apps/%E2%82%AC"] {
            assert!(check_path(good, &["v1"]).is_ok(), "{good}");
        }
        for bad in ["/v1/apps/%", "/v1/apps/%2", "/v1/apps/%zz", "/v1/apps//users", "/v1/apps/", "/v1/apps/%ff"] {
            assert!(check_path(bad, &["v1"]).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_bodies_without_a_coding_are_taken() {
        let headers = |values: &[&'static str]| {
            values
                .iter()
                .map(|value| (header::CONTENT_ENCODING, HeaderValue::from_static(value)))
                .collect::<HeaderMap>()
        };
        for good in [&[][..], &["identity"], &["Identity, identity"], &[""]] {
            assert!(check_content_encoding(&headers(good)).is_ok(), "{good:?}");
        }
        for bad in [&["gzip"][..], &["identity, gzip"], &["x"], &["*"]] {
            assert!(check_content_encoding(&headers(bad)).is_err(), "{bad:?}");
        }
        let mut two = headers(&["identity"]);
        two.append(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
        assert!(check_content_encoding(&two).is_err());
    }

    #[test]
    fn only_json_in_utf8_is_taken() {
        for good in ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""] {
            assert!(check_content_type(Some(good.as_bytes()), MediaType::Json).is_ok(), "{good}");
        }
        for bad in ["", "text/plain", "application/json-patch", "application/json; charset=latin1"] {
            assert!(check_content_type(Some(bad.as_bytes()), MediaType::Json).is_err(), "{bad}");
        }
        assert!(check_content_type(None, MediaType::Json).is_err());
    }
}
