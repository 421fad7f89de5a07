//! The HTTP client of the buckets: TLS on ring, with the system's certificates, as towards PostgreSQL and issuers.

use std::error::Error as _;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use reqwest::{Body, Client, Request};

use crate::outgoing;

/// How long a connection may stay idle: shorter than what stands between us and a bucket keeps it.
const IDLE: Duration = Duration::from_secs(15);

/// `patience`: how long a server may say nothing.
#[derive(Debug)]
pub struct Connector {
    pub patience: Duration,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let is_set = |key| options.get_config_value(&key).is_some_and(|value| value == "true");
        let refuse = |what: &str| object_store::Error::NotSupported { source: what.to_owned().into() };
        if is_set(ClientConfigKey::AllowInvalidCertificates) {
            return Err(refuse("certificates are always verified: name the authority by SSL_CERT_FILE"));
        }
        if options.get_config_value(&ClientConfigKey::ProxyUrl).is_some() {
            return Err(refuse("requests to a bucket take no proxy"));
        }
        let client = outgoing::to_buckets(is_set(ClientConfigKey::AllowHttp), self.patience, IDLE)
            .map_err(|error| object_store::Error::Generic { store: "TLS", source: Box::new(error) })?;
        Ok(HttpClient::new(Http(client)))
    }
}

#[derive(Debug)]
struct Http(Client);

#[async_trait]
impl HttpService for Http {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let request = Request::try_from(request.map(Body::wrap)).map_err(failure)?;
        let (parts, body) = hyper::Response::<Body>::from(self.0.execute(request).await.map_err(failure)?).into_parts();
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body.map_err(failure))))
    }
}

/// What failed, so that what may be repeated is.
fn failure(error: reqwest::Error) -> HttpError {
    let kind = if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_decode() && error.source().is_none() {
        HttpErrorKind::Decode
    } else {
        HttpErrorKind::Interrupted
    };
    // Without the URL, which may be signed.
    HttpError::new(kind, error.without_url())
}
