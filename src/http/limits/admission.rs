//! Admission: places for requests, streams, watches and transfers, room for answers, and the answer to a request for which there
//! is none.
//!
//! Under overload, refusals are the most frequent answer, so they must be cheap: each is made without a task, from a
//! prepared text, and is not logged on its own; [`report_refusals`] logs once a second how many there were. It tells of what is
//! beyond a [rate](crate::http::limits::rates), too.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use http_body_util::BodyExt as _;
use percent_encoding::percent_decode_str;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::config::HttpSettings;
use crate::http::limits::shares::{Asker, Pool, Revocation, Share};
use crate::http::reply::{Answer, Code, Ids, Outcome, Problem, REQUEST_ID, Throttle, is_write};
use crate::metrics::{InFlight, Metrics};

/// The limits that refuse the more, the more is asked, as the metrics know them: of what is under way in this process, of
/// rates, and of those without a credential.
const COUNTED: [&str; 10] = [
    "connections",
    "in_flight",
    "streams",
    "buffered_bytes",
    "answer_bytes",
    "look_ups",
    "rate_app",
    "rate_key",
    "rate_user",
    "credential",
];

/// The connections of refused requests are left alone for so long at least, and then come back one by one, so that all
/// refusals together take little of the time in which others are served, however many clients insist.
const LEAST_PAUSE: Duration = Duration::from_millis(50);
const BETWEEN_TWO: Duration = Duration::from_micros(500);

/// None is left alone for longer than it was told by `Retry-After`.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Exports and imports at a time. Each goes through all that there is, for as long as it takes.
const MAX_TRANSFERS: usize = 4;

/// Of long-lived places, an app that is alone may take all but one part in so many.
const KEPT: usize = 8;

/// An answer, or a part of one, up to this size takes no room: the kernel has taken it before anybody else waits for it.
const SMALL: usize = 64 * 1024;

/// The unit in which the room for answers is counted.
const UNIT: usize = 1024;

/// How soon a streamed answer looks again for room for its next part. The idle timeout of its connection ends that.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The places that there are.
pub struct Places {
    requests: Pool,
    /// Makes numbers of apps' names. Which names share one is nothing that a client can find out.
    numbers: RandomState,
    streams: Pool,
    watchers: Pool,
    transfers: Pool,
    /// Room for answers that wait for their readers.
    answers: Pool,
    /// The most that a part of a streamed answer has, but for a single state that is larger.
    largest_part: usize,
    /// When the last of the refused connections comes back.
    last_return: Mutex<Instant>,
}

/// A request's place, and its part of what the metrics show as in flight. Dropping it gives both back.
pub struct Place {
    asker: Asker,
    share: Held,
    in_flight: InFlight,
}

/// The share of a request, for its handler to give back early. `None` within for a request that is always served.
#[derive(Clone)]
pub struct Held(Arc<Mutex<Option<Share>>>);

impl Held {
    /// The request waits from now on: others may be served.
    pub fn give_back(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// While the request only waits for its body, its share may be taken back for another user of the app; what tells of that.
    pub fn revocable(&self) -> Option<Arc<Revocation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(Share::revocable)
    }

    /// From now on the request is served; `false` if its share was taken back.
    pub fn settle(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().is_none_or(Share::settle)
    }
}

/// A place of a watch, or of a request that waits. Dropping it gives it back.
pub struct Watching {
    /// Tells that the place was taken back for another user of the app.
    pub revocation: Arc<Revocation>,
    _share: Share,
    _counted: InFlight,
}

impl Place {
    /// What the handler may give back.
    pub fn held(&self) -> Held {
        self.share.clone()
    }

    /// There is no share: the request is always served, or its handler has given the share back, to wait.
    pub fn has_no_share(&self) -> bool {
        self.share.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

impl Places {
    pub fn new(settings: &HttpSettings) -> Self {
        let shared = |most: usize| Pool::new(most, most / KEPT);
        Self {
            requests: Pool::new(settings.max_in_flight, 0),
            numbers: RandomState::new(),
            streams: shared(settings.max_streams),
            watchers: shared(settings.watch.places),
            transfers: Pool::new(MAX_TRANSFERS, 1),
            answers: shared(units(settings.max_answer_bytes)),
            largest_part: settings.largest_part,
            last_return: Mutex::new(Instant::now()),
        }
    }

    /// The number of an app, of a client whose request names none, or of a user.
    pub fn number(&self, name: impl Hash) -> u64 {
        self.numbers.hash_one(name)
    }

    /// A place for a request with this path, if there is one for its app and user. One that is `always` served takes none.
    pub fn take(&self, metrics: &Metrics, route: Option<&str>, path: &str, always: bool) -> Option<Place> {
        let named = |name| route.and_then(|route| name_of(name, route, path));
        let asker = Asker { app: self.number(named("{app}")), user: named("{user}").map(|user| self.number(user)) };
        let share = if always { None } else { Some(self.requests.take(asker, 1)?) };
        Some(Place { asker, share: Held(Arc::new(Mutex::new(share))), in_flight: metrics.in_flight() })
    }

    /// A place for a watch, or for a request that waits.
    ///
    /// # Errors
    /// All that the app, or its user, may have are taken.
    pub fn watch(&self, metrics: &Metrics, asker: Asker) -> Result<Watching, Problem> {
        let Some(mut share) = self.watchers.take(asker, 1) else {
            let throttle = Throttle { limit: "watchers", retry_after: "1".to_owned(), fields: None };
            let detail = "as many watches and waiting requests are under way as can be; try again later";
            return Err(Problem::throttled("watchers", throttle, detail));
        };
        Ok(Watching { revocation: share.revocable(), _share: share, _counted: metrics.watcher() })
    }

    /// A place for an export or an import.
    ///
    /// # Errors
    /// All that the app, or its user, may have are taken.
    pub fn transfer(&self, asker: Asker) -> Result<Share, Problem> {
        let detail = "as many exports and imports are under way as there may be; try again";
        self.transfers.take(asker, 1).ok_or_else(|| Problem::over("transfers", Code::Overloaded, detail))
    }

    /// Room among the answers for so many bytes, unless they are few; `None` if there is none.
    #[expect(clippy::option_option, reason = "no room, and none needed")]
    pub fn room(&self, asker: Asker, bytes: usize) -> Option<Option<Share>> {
        if bytes <= SMALL { Some(None) } else { self.answers.take(asker, units(bytes)).map(Some) }
    }

    /// The bytes, which take room until they are written; `None` if there is none.
    pub fn counted(&self, asker: Asker, bytes: Bytes) -> Option<Bytes> {
        Some(match self.room(asker, bytes.len())? {
            Some(room) => counted(bytes, room),
            None => bytes,
        })
    }

    /// The answer, with its place. If it is complete, the place is given back, and what is large takes room until it is
    /// written. If its body is still to be made, the place is exchanged for one among the streams, which it keeps until its
    /// last byte is taken, and room for one part at a time.
    ///
    /// # Errors
    /// There is no place for a stream, or no room.
    pub fn hold(&self, place: Place, method: &Method, answer: Answer) -> Result<Answer, Problem> {
        let Place { asker, share, in_flight } = place;
        // hyper drops the body of an answer to HEAD at once.
        let size = answer.body.size_hint().exact();
        if size.is_some_and(|size| size <= SMALL as u64) || *method == Method::HEAD {
            return Ok(answer);
        }
        let overloaded = |limit, detail| {
            // It is done, and its client is not told what came of it.
            let mut problem = Problem::over(limit, Code::Overloaded, detail);
            if is_write(method) {
                problem.outcome = Outcome::Unknown;
            }
            problem
        };
        let full = || overloaded("answer_bytes", "too many bytes of answers wait for their readers; try again");
        let Answer { body, is_watch, .. } = answer;
        let answer = Answer { body: Body::empty(), ..answer };
        if size.is_some() {
            // It is there already, in one piece.
            let Some(Ok(whole)) = body.collect().now_or_never() else { return Err(Problem::panicked()) };
            let body = self.counted(asker, whole.to_bytes()).ok_or_else(full)?;
            return Ok(answer.body(body));
        }
        share.give_back();
        if is_watch {
            return Ok(answer.body(held_by(body, in_flight)));
        }
        let Some(stream) = self.streams.take(asker, 1) else {
            return Err(overloaded("streams", "more answers are being streamed than can be; try again"));
        };
        let (answers, part) = (self.answers.clone(), units(self.largest_part));
        let first = Some(answers.take(asker, part).ok_or_else(full)?);
        let parts = stream::try_unfold((body.into_data_stream(), first), move |(mut parts, room)| {
            let answers = answers.clone();
            async move {
                let mut room = match room {
                    Some(room) => room,
                    None => room_for(&answers, asker, part).await,
                };
                let Some(bytes) = parts.next().await.transpose()? else { return Ok::<_, axum::Error>(None) };
                room.set(units(bytes.len()));
                Ok(Some((counted(bytes, room), (parts, None))))
            }
        });
        Ok(answer.body(held_by(Body::from_stream(parts), (stream, in_flight))))
    }

    /// For the connection of a request that is refused now.
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

/// Room for the next part of an answer, as soon as there is.
async fn room_for(answers: &Pool, asker: Asker, part: usize) -> Share {
    loop {
        match answers.take(asker, part) {
            Some(room) => return room,
            None => sleep(LOOK_AGAIN).await,
        }
    }
}

/// The bytes, which take this room until they are written.
fn counted(bytes: Bytes, room: Share) -> Bytes {
    struct Counted(Bytes, #[expect(dead_code, reason = "for its drop")] Share);
    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Bytes::from_owner(Counted(bytes, room))
}

/// The body, which keeps `held` until its end.
fn held_by(body: Body, held: impl Send + 'static) -> Body {
    Body::new(body.map_frame(move |frame| {
        let _held = &held;
        frame
    }))
}

/// The bytes of the name of the app, or the user, in a path that this route matched. Nobody has asked yet who may say it.
fn name_of(name: &str, route: &str, path: &str) -> Option<Vec<u8>> {
    let (_, segment) = route.split('/').zip(path.split('/')).find(|(template, _)| *template == name)?;
    Some(percent_decode_str(segment).collect())
}

/// When the connection of a request that is refused now comes back, if the last one does then.
fn next_return(last: Instant, now: Instant) -> Instant {
    (last + BETWEEN_TWO).clamp(now + LEAST_PAUSE, now + LONGEST_PAUSE)
}

/// Whether [`report_refusals`] tells of the problem: its request needs no line of its own in the log.
pub fn is_counted(problem: &Problem) -> bool {
    problem.limit.is_some_and(|limit| COUNTED.contains(&limit))
}

/// The answer to a request for which there is no place.
pub fn refused(request_id: &str, of_write: bool) -> Response {
    static READ: LazyLock<Prepared> = LazyLock::new(|| Prepared::new(false));
    static WRITE: LazyLock<Prepared> = LazyLock::new(|| Prepared::new(true));
    let prepared = if of_write { &WRITE } else { &READ };
    prepared.answer(request_id)
}

/// The refusal but for the request's id, with which its document ends.
struct Prepared {
    problem: Problem,
    headers: HeaderMap,
    text: String,
}

/// What follows the id in the document.
const AFTER_ID: &str = "\"}\n";

impl Prepared {
    fn new(of_write: bool) -> Self {
        let detail = "more requests are under way than can be served; try again";
        let problem = Problem::over("in_flight", Code::Overloaded, detail);
        let headers = problem.finish(Ids::of(""), of_write).headers().clone();
        let mut text = problem.text(Ids::of(""), of_write);
        text.truncate(text.len() - AFTER_ID.len());
        Self { problem, headers, text }
    }

    fn answer(&self, request_id: &str) -> Response {
        let mut text = String::with_capacity(self.text.len() + request_id.len() + AFTER_ID.len());
        text.push_str(&self.text);
        // Visible ASCII: see `request_id`.
        for character in request_id.chars() {
            if matches!(character, '"' | '\\') {
                text.push('\\');
            }
            text.push(character);
        }
        text.push_str(AFTER_ID);
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.problem.code.entry().1;
        *response.headers_mut() = self.headers.clone();
        if let Ok(value) = HeaderValue::from_str(request_id) {
            response.headers_mut().insert(REQUEST_ID, value);
        }
        response
    }
}

/// Says once a second how much was refused because too much was under way or asked, or for want of a credential, if anything was. Never returns.
pub async fn report_refusals(metrics: Arc<Metrics>) {
    let count = || COUNTED.map(|limit| metrics.rejections(limit));
    let mut before = count();
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        let now = count();
        let refused: [u64; COUNTED.len()] = std::array::from_fn(|n| now[n] - before[n]);
        let [
            connections,
            in_flight,
            streams,
            buffered_bytes,
            answer_bytes,
            look_ups,
            rate_app,
            rate_key,
            rate_user,
            credential,
        ] = refused;
        if now != before {
            tracing::warn!(
                connections,
                in_flight,
                streams,
                buffered_bytes,
                answer_bytes,
                look_ups,
                rate_app,
                rate_key,
                rate_user,
                credential,
                "refused: too much is under way, beyond a rate, or without a credential"
            );
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
            let prepared = Prepared::new(of_write);
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
