//! The credential that requests show.

use std::{error::Error as StdError, fmt, future::Future, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use reqwest::header::HeaderValue;
use tokio::{sync::Mutex, time::timeout};

use crate::error::{Error, ErrorKind};

type Asked = Result<String, Box<dyn StdError + Send + Sync>>;

/// Where the credential comes from: an API key, a user token or a JWT. Its `Debug` form does not show it.
#[derive(Clone)]
pub struct Token(Source);

#[derive(Clone)]
enum Source {
    None,
    Fixed(String),
    Callback(Arc<dyn Fn() -> BoxFuture<'static, Asked> + Send + Sync>),
}

impl Token {
    /// No credential, whatever the variable `SESSIOND_TOKEN` says.
    pub fn none() -> Self {
        Self(Source::None)
    }

    /// A fixed credential. White space around it, which a file may have, is not part of it.
    pub fn fixed(token: impl Into<String>) -> Self {
        Self(Source::Fixed(token.into()))
    }

    /// A function that gives the credential. It is called for the first request, and what it gave is kept. When
    /// sessiond refuses that (401), it is called again, once for all requests that wait, each of which is then sent
    /// once more. It may take as long as an attempt.
    ///
    /// ```
    /// # use sessiond_adk::Token;
    /// let token = Token::callback(|| async { std::fs::read_to_string("/run/secrets/sessiond") });
    /// ```
    pub fn callback<F, R, E>(callback: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        Self(Source::Callback(Arc::new(move || {
            let asked = callback();
            Box::pin(async move { asked.await.map_err(Into::into) })
        })))
    }

    /// The variable `SESSIOND_TOKEN`, which is read here; no credential if it is not set.
    pub(crate) fn from_env() -> Self {
        std::env::var("SESSIOND_TOKEN").ok().filter(|token| !token.trim().is_empty()).map_or(Self::none(), Self::fixed)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::None => "Token::none()",
            Source::Fixed(_) => "Token::fixed(..)",
            Source::Callback(_) => "Token::callback(..)",
        })
    }
}

/// The header `Authorization`, with a fixed credential or what the callback gave last.
pub(crate) struct Bearer {
    callback: Option<Arc<dyn Fn() -> BoxFuture<'static, Asked> + Send + Sync>>,
    /// How many credentials there were, for a callback may give the same one twice, and the last one as a header. The
    /// lock is held while the callback is asked, so that it is asked once for all who wait.
    last: Mutex<(u64, Option<HeaderValue>)>,
    /// For how long a callback is waited for.
    limit: Duration,
}

impl Bearer {
    pub(crate) fn new(token: &Token, limit: Duration) -> Result<Self, Error> {
        let (callback, last) = match &token.0 {
            Source::None => (None, (1, None)),
            Source::Fixed(token) => (None, (1, Some(header(token)?))),
            Source::Callback(callback) => (Some(callback.clone()), (0, None)),
        };
        Ok(Self { callback, last: Mutex::new(last), limit })
    }

    /// Whether there is no credential, and can be none.
    pub(crate) fn is_none(&self) -> bool {
        self.callback.is_none() && self.last.try_lock().is_ok_and(|last| last.1.is_none())
    }

    /// The number and the header of a credential that is later than number `seen`; what there is, if there can be no
    /// other.
    pub(crate) async fn later_than(&self, seen: u64) -> Result<(u64, Option<HeaderValue>), Error> {
        let mut last = self.last.lock().await;
        if let (true, Some(callback)) = (last.0 <= seen, &self.callback) {
            let failed = |why: String| {
                Error::new(ErrorKind::Unauthenticated, format!("The callback for the token failed: {why}."))
            };
            let asked = timeout(self.limit, callback()).await;
            let asked = asked.map_err(|_| failed(format!("it took longer than {:?}", self.limit)))?;
            let token = asked.map_err(|failure| failed(failure.to_string()))?;
            let header = header(&token).map_err(|error| failed(error.message.trim_end_matches('.').to_owned()))?;
            *last = (last.0 + 1, Some(header));
        }
        Ok(last.clone())
    }
}

/// RFC 6750, section 2.1, says what a token consists of. The error does not show it.
fn header(token: &str) -> Result<HeaderValue, Error> {
    let token = token.trim();
    let is_token = |c: char| c.is_ascii_alphanumeric() || "._~+/-".contains(c);
    if token.trim_end_matches('=').is_empty() || !token.trim_end_matches('=').chars().all(is_token) {
        return Err(Error::input("The token is empty, or has characters that no token has."));
    }
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| Error::input("Not a token."))?;
    value.set_sensitive(true);
    Ok(value)
}
