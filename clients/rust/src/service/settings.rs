//! The settings of a service.

use std::{sync::Arc, time::Duration};

use super::{Inner, LIVE, SessiondSessionService};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::{
    error::Error,
    http::{Http, Limits, Traceparent},
    token::Token,
    turn::{Memory, lock},
};

/// How several writers of a session get along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Concurrency {
    /// Appends are unconditional: events of several writers interleave, and for each key the last writer wins.
    #[default]
    None,
    /// An invocation appends only if nobody else has appended since it has read the session; otherwise the error is
    /// [`ErrorKind::Stale`], and nothing is stored. What was seen is what `create`, `get` or the last append of this
    /// service showed; a session that this service has not seen is stale, too.
    Session,
    /// The invocations of a session take turns, those of all services that say so, in all processes. The first event of
    /// an invocation takes the lease of its session, which is released when the runner lets go of the session object
    /// that it has read. Events without an invocation take none. See also [`SessiondSessionService::turn`].
    Lease {
        /// For how long to wait for the turn of another invocation; with zero, the error [`ErrorKind::Busy`] comes at
        /// once. If that turn has stored something, what the runner has read is out of date: the error is
        /// [`ErrorKind::Stale`] then, before anything is stored, and the message may be sent again.
        wait: Duration,
        /// How long a turn may store nothing before another one may take over, 1 s to 15 min. An invocation that was
        /// superseded stores nothing any more: its appends are [`ErrorKind::Stale`].
        ttl: Duration,
    },
}

/// Which events of a session are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// All, except what was rewound.
    #[default]
    Full,
    /// Without what compactions cover, too. The number of recent events counts what is left. If nothing limits the events,
    /// the last 100 are loaded in any case, covered or not: in these a runner looks for the agent that goes on, and for
    /// calls that are answered. What else is covered, it does not find: to answer a call there needs [`History::Full`].
    Effective,
}

/// Makes a [`SessiondSessionService`].
#[must_use]
pub struct Builder {
    url: String,
    token: Option<Token>,
    concurrency: Concurrency,
    history: History,
    limits: Limits,
    traceparent: Option<Traceparent>,
    keep_model_requests: bool,
}

impl Builder {
    pub(super) fn new(url: String) -> Self {
        let seconds = Duration::from_secs;
        let limits =
            Limits { connect: seconds(2), attempt: seconds(15), total: seconds(30), attempts: 5, silence: seconds(45) };
        Self {
            url,
            token: None,
            concurrency: Concurrency::None,
            history: History::Full,
            limits,
            traceparent: None,
            keep_model_requests: false,
        }
    }

    /// The credential; by default that of the variable `SESSIOND_TOKEN`, which is read by [`Builder::build`].
    pub fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// How several writers of a session get along; by default they do not care about each other.
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Which events of a session are loaded; by default all, except what was rewound.
    pub fn history(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// Whether to store what `LlmAgent` puts into each event of a model for debugging: twice the whole request, with
    /// all the history and every byte of an image as a number, and once the answer. They are left out by default, for
    /// they would soon be most of what is stored, and beyond the limit of an event (4 MiB).
    pub fn keep_model_requests(mut self, keep: bool) -> Self {
        self.keep_model_requests = keep;
        self
    }

    /// How long to wait for a connection; 2 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.limits.connect = timeout;
        self
    }

    /// How long one attempt may take, from the connection to the last byte of the answer; 15 s by default. To send an
    /// artifact, it may take 1 s more for each 256 KiB; to read one, it may take any time in which something comes.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.limits.attempt = timeout;
        self
    }

    /// How long a request is tried again that found no connection, got no answer, or was refused for now; 30 s by
    /// default.
    pub fn retry_for(mut self, total: Duration) -> Self {
        self.limits.total = total;
        self
    }

    /// After how long without a byte the connection of a watch is given up; 45 s by default. sessiond sends a sign of
    /// life every 15 s, if it is not told otherwise.
    pub fn watch_silence(mut self, silence: Duration) -> Self {
        self.limits.silence = silence;
        self
    }

    /// How often a request is sent at most; 5 times by default.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.limits.attempts = attempts.max(1);
        self
    }

    /// What gives the W3C `traceparent` of the request that the program is serving, to be forwarded, if it has one.
    pub fn traceparent(mut self, current: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        self.traceparent = Some(Arc::new(current));
        self
    }

    /// Makes the service. It opens no connection yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`]: the URL is not `http://HOST:PORT` or `https://HOST`, with a path if a proxy puts
    /// sessiond under one, or has a credential in it; or the token cannot be sent.
    pub fn build(self) -> Result<SessiondSessionService, Error> {
        let token = self.token.unwrap_or_else(Token::from_env);
        let http = Arc::new(Http::new(&self.url, &token, self.limits, self.traceparent)?);
        let inner = Arc::new(Inner {
            http,
            concurrency: self.concurrency,
            history: self.history,
            keep_model_requests: self.keep_model_requests,
            memory: Memory::default(),
        });
        let mut live = lock(&LIVE);
        live.retain(|service| service.strong_count() > 0);
        live.push(Arc::downgrade(&inner));
        Ok(SessiondSessionService(inner))
    }
}
