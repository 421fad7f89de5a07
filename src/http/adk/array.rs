//! Lists that ADK returns without pages. They are read page by page all the same, so that memory does not grow with them.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use futures_util::stream::{self, StreamExt as _};
use tokio::time::Instant;

use crate::domain::json::push_string;
use crate::http::call::Call;
use crate::http::live::watched::{Watched, wait_or_cut};
use crate::http::reply::{Answer, Problem};
use crate::service::{self, Reader};

/// A list, page by page.
pub trait Pages: Send + 'static {
    /// The elements of the next page, and whether there are more.
    fn next(
        &mut self,
        service: &Reader,
        deadline: Instant,
    ) -> impl Future<Output = service::Result<(Vec<String>, bool)>> + Send;
}

/// A name as an element.
pub fn quoted(name: &str) -> String {
    let mut text = String::new();
    push_string(&mut text, name);
    text
}

/// An array of all pages. Pages after the first one are streamed.
pub async fn array(call: Call, mut pages: impl Pages) -> Result<Answer, Problem> {
    let (elements, more) = pages.next(&call.service, call.deadline).await?;
    let mut text = format!("[{}", elements.join(","));
    if !more {
        text.push(']');
        return Ok(Answer::ok().json(text));
    }
    let rest =
        Rest { service: call.service.clone(), client: Watched::new(&call), pages, first: elements.is_empty(), more };
    let rest = stream::try_unfold(rest, Rest::step);
    Ok(Answer::ok().streamed(Body::from_stream(stream::once(async { Ok(text) }).chain(rest))))
}

/// The rest of an array that is being streamed.
struct Rest<P> {
    service: Arc<Reader>,
    client: Watched,
    pages: P,
    /// No element has been sent yet.
    first: bool,
    more: bool,
}

impl<P: Pages> Rest<P> {
    async fn step(mut self) -> io::Result<Option<(String, Self)>> {
        if !self.more {
            return Ok(None);
        }
        let deadline = self.client.next_part().await?;
        let (elements, more) = loop {
            match self.pages.next(&self.service, deadline).await {
                Ok(page) => break page,
                Err(error) => wait_or_cut(&error, deadline).await?,
            }
        };
        let mut text = String::new();
        for element in &elements {
            if !std::mem::take(&mut self.first) {
                text.push(',');
            }
            text.push_str(element);
        }
        self.more = more;
        if !more {
            text.push_str("]\n");
        }
        Ok(Some((text, self)))
    }
}
