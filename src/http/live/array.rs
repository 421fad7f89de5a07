//! Answers that end with a JSON array of any length. It is read page by page, and pages after the first one are streamed: memory
//! does not grow with it.

use std::future::ready;
use std::io;
use std::sync::Arc;

use axum::body::Body;
use futures_util::stream::{self, StreamExt as _};
use tokio::time::Instant;

use super::watched::{Watched, wait_or_cut};
use crate::http::call::Call;
use crate::http::reply::Answer;
use crate::service::{self, Reader};

/// An array, page by page.
pub trait Pages: Send + 'static {
    /// The elements of the next page, separated by commas, and whether there are more.
    fn next(
        &mut self,
        service: &Reader,
        deadline: Instant,
    ) -> impl Future<Output = service::Result<(String, bool)>> + Send;
}

/// An answer that ends with an array. `begun`: its text with the first page; `close`: what follows the last page.
pub fn array(call: &Call, answer: Answer, begun: String, more: bool, close: &'static str, pages: impl Pages) -> Answer {
    if !more {
        return answer.json(begun + close);
    }
    let rest = Rest {
        service: call.service.clone(),
        client: Watched::new(call),
        pages,
        first: begun.ends_with('['),
        more,
        close,
    };
    let rest = stream::try_unfold(rest, Rest::step);
    answer.streamed(Body::from_stream(stream::once(ready(Ok(begun))).chain(rest)))
}

/// The rest of an array that is being streamed.
struct Rest<P> {
    service: Arc<Reader>,
    client: Watched,
    pages: P,
    /// No element has been sent yet.
    first: bool,
    more: bool,
    close: &'static str,
}

impl<P: Pages> Rest<P> {
    async fn step(mut self) -> io::Result<Option<(String, Self)>> {
        if !self.more {
            return Ok(None);
        }
        let deadline = self.client.next_part().await?;
        let (mut text, more) = loop {
            match self.pages.next(&self.service, deadline).await {
                Ok(page) => break page,
                Err(error) => wait_or_cut(&error, deadline).await?,
            }
        };
        if !text.is_empty() && !std::mem::take(&mut self.first) {
            text.insert(0, ',');
        }
        if !more {
            text.push_str(self.close);
            text.push('\n');
        }
        self.more = more;
        Ok(Some((text, self)))
    }
}
