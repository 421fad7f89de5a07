//! Admission: places for requests, streams, watches, transfers, uploads and searches, memory for answers, and the answer to a request that
//! is not admitted.
//!
//! Under overload, refusals are the most frequent answer, so they must be cheap. Each is made without a task from a
//! prepared text and is not logged on its own: [`report_refusals`] logs their number once a second. It also counts
//! refusals by a [rate](crate::http::limits::rates).

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use http_body_util::BodyExt as _;
use percent_encoding::percent_decode;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout_at};

use crate::config::HttpSettings;
use crate::domain::json::push_string;
use crate::http::limits::shares::{Asker, PlacePool, Preemption, Share};
use crate::http::reply::{Answer, Code, Ids, Outcome, Problem, REQUEST_ID, Throttle, is_write};
use crate::metrics::{InFlight, Metrics};

macro_rules! counted {
    ($($limit:ident),+) => {
        /// The limits whose refusals are counted instead of logged, because their number grows with the load: limits on
        /// concurrent work, rates, and missing credentials. These are their names in the metrics.
        const COUNTED: [&str; [$(stringify!($limit)),+].len()] = [$(stringify!($limit)),+];

        fn log_refused([$($limit),+]: [u64; COUNTED.len()]) {
            tracing::warn!($($limit),+, "refused: too much is under way, beyond a rate, or without a credential");
        }
    };
}

counted! {
    connections, in_flight, streams, buffered_bytes, answer_bytes, look_ups, rate_app, rate_key, rate_user, credential
}

/// The least time for which the connection of a refused request is ignored, and the least time between two connections
/// that are served again. So refusals take little time from other requests, however fast clients retry.
const LEAST_PAUSE: Duration = Duration::from_millis(50);
const BETWEEN_TWO: Duration = Duration::from_micros(500);

/// No connection is ignored for longer than `Retry-After` said.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Exports and imports at a time. Each reads or writes everything, for as long as it takes.
const MAX_TRANSFERS: usize = 4;

/// Uploads of artifacts at a time. Each holds little memory, for as long as it takes.
const MAX_UPLOADS: usize = 128;

/// Turns of requests that read more than others, at a time: as many as there are processors, or two, so that an app leaves one to
/// another. Each has a thread, or a connection to the database, for one page.
fn most_turns() -> usize {
    available_parallelism().map_or(2, |processors| processors.get().max(2))
}

/// Of long-lived places, a lone app may take all but 1/8.
const KEPT: usize = 8;

/// An answer, or a part of one, up to this size needs no reservation: it fits in the kernel's buffer.
const SMALL: usize = 64 * 1024;

/// The unit in which memory for answers is counted.
const UNIT: usize = 1024;

/// How soon a streamed answer tries again to reserve memory for its next part, which the idle timeout of its connection
/// limits, and a search to get its turn.
const RETRY: Duration = Duration::from_millis(50);

/// All places, and who has them.
pub struct Places {
    requests: PlacePool,
    /// Hashes the names of apps and users. No client can find out which names collide.
    numbers: RandomState,
    streams: PlacePool,
    watchers: PlacePool,
    transfers: PlacePool,
    uploads: PlacePool,
    turns: PlacePool,
    /// Memory for answers that wait for their readers.
    answers: PlacePool,
    /// The largest part of a streamed answer, unless a single state is larger.
    largest_part: usize,
    /// When the last of the ignored connections is served again.
    last_return: Mutex<Instant>,
}

/// A request's place, counted in the metrics as in flight. Dropping it gives both back.
pub struct Place {
    asker: Asker,
    pub share: RequestShare,
    in_flight: InFlight,
}

/// A request's share of the places, which its handler may give back early. `None` for a request that is exempt from
/// admission.
#[derive(Clone)]
pub struct RequestShare(Arc<Mutex<Option<Share>>>);

impl RequestShare {
    /// Gives the share back before the request waits, so that others can be served.
    pub fn give_back(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Allows the share to be preempted for another user of the app, while the request waits for its body. The result
    /// signals that.
    pub fn preemptible(&self) -> Option<Arc<Preemption>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(Share::preemptible)
    }

    /// Ends that permission. `false` if the share was preempted.
    pub fn settle(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().is_none_or(Share::settle)
    }

    /// There is no share: the request is exempt from admission, or its handler gave the share back in order to wait.
    pub fn is_none(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

/// The place of a watch or of a request that waits. Dropping it gives it back.
pub struct Watching {
    /// Signals that the place was preempted for another user of the app.
    pub preemption: Arc<Preemption>,
    _share: Share,
    _counted: InFlight,
}

impl Places {
    pub fn new(settings: &HttpSettings) -> Self {
        let shared = |most: usize| PlacePool::new(most, most / KEPT);
        Self {
            requests: PlacePool::new(settings.max_in_flight, 0),
            numbers: RandomState::new(),
            streams: shared(settings.max_streams),
            watchers: shared(settings.watch.places),
            transfers: PlacePool::new(MAX_TRANSFERS, 1),
            uploads: shared(MAX_UPLOADS),
            turns: PlacePool::new(most_turns(), 0),
            answers: shared(units(settings.max_answer_bytes)),
            largest_part: settings.largest_part,
            last_return: Mutex::new(Instant::now()),
        }
    }

    /// The hash of an app's name, of the client if the request names no app, or of a user's name.
    pub fn number(&self, name: impl Hash) -> u64 {
        self.numbers.hash_one(name)
    }

    /// A place for a request with this path, if its app and user may have one. A request that is `always` served needs
    /// none.
    pub fn take(&self, metrics: &Metrics, route: Option<&str>, path: &str, always: bool) -> Option<Place> {
        let named = |name| route.and_then(|route| name_of(name, route, path));
        let asker = Asker { app: self.number(named("{app}")), user: named("{user}").map(|user| self.number(user)) };
        let share = if always { None } else { Some(self.requests.take(asker, 1)?) };
        let (share, in_flight) = (RequestShare(Arc::new(Mutex::new(share))), InFlight::of(&metrics.in_flight));
        Some(Place { asker, share, in_flight })
    }

    /// A place for a watch or for a request that waits.
    ///
    /// # Errors
    /// The app or its user has all the places that it may have.
    pub fn watch(&self, metrics: &Metrics, asker: Asker) -> Result<Watching, Problem> {
        let Some(mut share) = self.watchers.take(asker, 1) else {
            let throttle = Throttle { limit: "watchers", retry_after: "1".to_owned(), fields: None };
            let detail = "as many watches and waiting requests are under way as can be; try again later";
            return Err(Problem::throttled("watchers", throttle, detail));
        };
        Ok(Watching { preemption: share.preemptible(), _share: share, _counted: InFlight::of(&metrics.watchers) })
    }

    /// A place for an export or an import.
    ///
    /// # Errors
    /// The app or its user has all the places that it may have.
    pub fn transfer(&self, asker: Asker) -> Result<Share, Problem> {
        let detail = "as many exports and imports are under way as there may be; try again";
        self.transfers.take(asker, 1).ok_or_else(|| Problem::over("transfers", Code::Overloaded, detail))
    }

    /// A place for an upload.
    ///
    /// # Errors
    /// The app or its user has all the places that it may have.
    pub fn upload(&self, asker: Asker) -> Result<Share, Problem> {
        let detail = "as many artifacts are being uploaded as can be; try again";
        self.uploads.take(asker, 1).ok_or_else(|| Problem::over("uploads", Code::Overloaded, detail))
    }

    /// A turn of a request that reads more than others, as soon as there is one.
    ///
    /// # Errors
    /// None came until the deadline.
    pub async fn turn(&self, asker: Asker, deadline: Instant) -> Result<Share, Problem> {
        let turn = timeout_at(deadline, taken(&self.turns, asker, 1)).await;
        turn.map_err(|_| {
            Problem::over("turns", Code::Overloaded, "as many searches are under way as can be; try again")
        })
    }

    /// Memory among the answers for this many bytes, if they need any. `None`: there is not enough.
    #[expect(clippy::option_option, reason = "no room, and none needed")]
    pub fn room(&self, asker: Asker, bytes: usize) -> Option<Option<Share>> {
        if bytes <= SMALL { Some(None) } else { self.answers.take(asker, units(bytes)).map(Some) }
    }

    /// The bytes, which reserve memory until they are written. `None`: there is not enough.
    pub fn counted(&self, asker: Asker, bytes: Bytes) -> Option<Bytes> {
        Some(match self.room(asker, bytes.len())? {
            Some(room) => counted(bytes, room),
            None => bytes,
        })
    }

    /// The answer, which from now on holds what it needs. A complete answer gives its place back; if it is large, it
    /// reserves memory until it is written. A streamed answer exchanges its place for one among the streams, which it
    /// keeps until its last byte is sent, and reserves memory for one part at a time.
    ///
    /// # Errors
    /// There is no place for a stream, or not enough memory.
    pub fn hold(&self, place: Place, method: &Method, answer: Answer) -> Result<Answer, Problem> {
        let Place { asker, share, in_flight } = place;
        // hyper drops the body of an answer to HEAD at once.
        let size = answer.body.size_hint().exact();
        if size.is_some_and(|size| size <= SMALL as u64) || *method == Method::HEAD {
            return Ok(answer);
        }
        let overloaded = |limit, detail| {
            // The request is done, but its client does not learn the result.
            let mut problem = Problem::over(limit, Code::Overloaded, detail);
            if is_write(method) {
                problem.outcome = Outcome::Unknown;
            }
            problem
        };
        let full = || overloaded("answer_bytes", "too many bytes of answers wait for their readers; try again");
        let Answer { body, is_watch, part, .. } = answer;
        let answer = Answer { body: Body::empty(), ..answer };
        if size.is_some() {
            // It is complete and in memory.
            let Some(Ok(whole)) = body.collect().now_or_never() else { return Err(Problem::panicked()) };
            let body = self.counted(asker, whole.to_bytes()).ok_or_else(full)?;
            return Ok(answer.body(body));
        }
        share.give_back();
        if is_watch {
            return Ok(answer.body(body_with(body, in_flight)));
        }
        let Some(stream) = self.streams.take(asker, 1) else {
            return Err(overloaded("streams", "more answers are being streamed than can be; try again"));
        };
        let (answers, part) = (self.answers.clone(), units(part.unwrap_or(self.largest_part)));
        let first = Some(answers.take(asker, part).ok_or_else(full)?);
        let parts = stream::try_unfold((body.into_data_stream(), first), move |(mut parts, room)| {
            let answers = answers.clone();
            async move {
                let mut room = match room {
                    Some(room) => room,
                    None => taken(&answers, asker, part).await,
                };
                let Some(bytes) = parts.next().await.transpose()? else { return Ok::<_, axum::Error>(None) };
                room.set(units(bytes.len()));
                Ok(Some((counted(bytes, room), (parts, None))))
            }
        });
        Ok(answer.body(body_with(Body::from_stream(parts), (stream, in_flight))))
    }

    /// How long to ignore the connection of a request that is refused now.
    pub fn pause(&self) -> Duration {
        let now = Instant::now();
        let mut last = self.last_return.lock().unwrap_or_else(PoisonError::into_inner);
        *last = next_return(*last, now);
        *last - now
    }
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT)
}

/// Places, as soon as there are enough.
async fn taken(pool: &PlacePool, asker: Asker, places: usize) -> Share {
    loop {
        match pool.take(asker, places) {
            Some(share) => return share,
            None => sleep(RETRY).await,
        }
    }
}

/// The bytes, which hold this reservation until they are written.
fn counted(bytes: Bytes, room: Share) -> Bytes {
    struct Counted(Bytes, #[expect(dead_code, reason = "for its drop")] Share);
    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Bytes::from_owner(Counted(bytes, room))
}

/// The body, which keeps `guard` alive until its end.
fn body_with(body: Body, guard: impl Send + 'static) -> Body {
    Body::new(body.map_frame(move |frame| {
        let _guard = &guard;
        frame
    }))
}

/// The app's or the user's name in a path that matched this route, as bytes. The client is not authorized yet.
fn name_of<'p>(name: &str, route: &'p str, path: &'p str) -> Option<Vec<u8>> {
    let segments = |path: &'p str| path.as_bytes().split(|byte| *byte == b'/');
    let (_, segment) = segments(route).zip(segments(path)).find(|(template, _)| *template == name.as_bytes())?;
    Some(percent_decode(segment).collect())
}

/// When the connection of a request that is refused now is served again, if the last one is at `last`.
fn next_return(last: Instant, now: Instant) -> Instant {
    (last + BETWEEN_TWO).clamp(now + LEAST_PAUSE, now + LONGEST_PAUSE)
}

/// Whether [`report_refusals`] counts this problem, so that its request needs no log line.
pub fn is_counted(problem: &Problem) -> bool {
    problem.limit.is_some_and(|limit| COUNTED.contains(&limit))
}

/// The answer to a request that is not admitted.
pub fn refused(request_id: &str, of_write: bool) -> Response {
    static READ: LazyLock<PreparedRefusal> = LazyLock::new(|| PreparedRefusal::new(false));
    static WRITE: LazyLock<PreparedRefusal> = LazyLock::new(|| PreparedRefusal::new(true));
    let prepared = if of_write { &WRITE } else { &READ };
    prepared.answer(request_id)
}

/// The refusal without the request's id, which ends the document.
struct PreparedRefusal {
    problem: Problem,
    headers: HeaderMap,
    text: String,
}

/// The rest of the document, after an empty id.
const REST: &str = "\"\"}\n";

impl PreparedRefusal {
    fn new(of_write: bool) -> Self {
        let detail = "more requests are under way than can be served; try again";
        let problem = Problem::over("in_flight", Code::Overloaded, detail);
        let headers = problem.finish(Ids::of(""), of_write).headers().clone();
        let mut text = problem.text(Ids::of(""), of_write);
        text.truncate(text.len() - REST.len());
        Self { problem, headers, text }
    }

    fn answer(&self, request_id: &str) -> Response {
        let mut text = String::with_capacity(self.text.len() + request_id.len() + REST.len());
        text.push_str(&self.text);
        push_string(&mut text, request_id);
        text.push_str("}\n");
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.problem.code.entry().1;
        *response.headers_mut() = self.headers.clone();
        if let Ok(value) = HeaderValue::from_str(request_id) {
            response.headers_mut().insert(REQUEST_ID, value);
        }
        response
    }
}

/// Logs once a second how many requests were refused by a limit, by a rate, or for lack of a credential, if there were
/// any. Never returns.
pub async fn report_refusals(metrics: Arc<Metrics>) {
    let count = || COUNTED.map(|limit| metrics.rejections.get(limit));
    let mut before = count();
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        let now = count();
        if now != before {
            log_refused(std::array::from_fn(|n| now[n] - before[n]));
        }
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prepared_refusal_is_the_problem_document() {
        for of_write in [true, false] {
            let prepared = PreparedRefusal::new(of_write);
            for id in ["", "0190", r#"a"b\c"#, "\\\"", "{}"] {
                let expected = prepared.problem.text(Ids::of(id), of_write);
                let answer = prepared.answer(id);
                assert_eq!(answer.status(), 503);
                assert_eq!(answer.headers()["retry-after"], "1");
                assert_eq!(answer.headers()["content-type"], "application/problem+json");
                assert_eq!(answer.headers()[REQUEST_ID], id);
                assert_eq!(answer.body().size_hint().exact(), Some(expected.len() as u64));
                let body = futures_util::FutureExt::now_or_never(answer.into_body().collect()).unwrap().unwrap();
                assert_eq!(body.to_bytes(), expected);
            }
        }
    }

    #[test]
    fn an_app_is_one_however_its_name_is_written() {
        let of = |path| name_of("{app}", "/v1/apps/{app}/users/{user}/state", path);
        let user_of = |path| name_of("{user}", "/v1/apps/{app}/users/{user}/state", path);
        assert_eq!(user_of("/v1/apps/a/users/%75/state"), Some(b"u".to_vec()));
        assert_eq!(of("/v1/apps/a%2Fb/users/u/state"), Some(b"a/b".to_vec()));
        assert_eq!(of("/v1/apps/%61/users/u/state"), of("/v1/apps/a/users/a/state"));
        assert_ne!(of("/v1/apps/a/users/b/state"), of("/v1/apps/b/users/a/state"));
        assert_eq!(name_of("{app}", "/v1/apps", "/v1/apps"), None);
    }

    #[test]
    fn refused_connections_come_back_one_by_one_and_none_is_forgotten() {
        let now = Instant::now();
        let mut last = now;
        for n in 0..100 {
            last = next_return(last, now);
            assert_eq!(last, now + LEAST_PAUSE + n * BETWEEN_TWO);
        }
        for _ in 0..10_000 {
            last = next_return(last, now);
            assert!(last <= now + LONGEST_PAUSE);
        }
        assert_eq!(last, now + LONGEST_PAUSE);
        let later = now + 2 * LONGEST_PAUSE;
        assert_eq!(next_return(last, later), later + LEAST_PAUSE, "those who are back hold up nobody");
    }
}
