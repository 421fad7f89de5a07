//! The HTTP client for the server's own requests: to an issuer for its keys, to a collector of spans, to artifact stores.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, redirect};
use rustls::{ClientConfig, RootCertStore};

/// TLS cannot be set up: a fault of the build or the machine, not of the settings.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

/// A client over TLS on ring, with the system's certificates, and without a proxy.
///
/// # Errors
/// TLS cannot be set up.
pub fn client(redirects: redirect::Policy) -> Result<Client, SetupError> {
    Ok(over_tls()?.pool_max_idle_per_host(0).redirect(redirects).build()?)
}

/// The same for the requests to a bucket, which keeps connections for `idle`. A request fails if for `patience` nothing arrives, and
/// without TLS unless `plain` is allowed.
///
/// # Errors
/// TLS cannot be set up.
pub fn to_buckets(plain: bool, patience: Duration, idle: Duration) -> Result<Client, SetupError> {
    let client = over_tls()?.https_only(!plain).redirect(redirect::Policy::none());
    Ok(client.connect_timeout(patience).read_timeout(patience).pool_idle_timeout(idle).build()?)
}

fn over_tls() -> Result<ClientBuilder, SetupError> {
    let mut roots = RootCertStore::empty();
    // Without any certificate, a request fails with an unknown issuer; a loopback URL needs none.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(Client::builder()
        .tls_backend_preconfigured(tls.with_root_certificates(roots).with_no_client_auth())
        .user_agent(concat!("sessiond/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
        .referer(false))
}

/// The error with its causes, but without the URL, which may contain credentials.
pub fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
