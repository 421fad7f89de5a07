//! The HTTP client for the server's own requests: to an issuer for its keys, and to a collector of spans.

use std::sync::Arc;

use reqwest::{Client, redirect};
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
    let mut roots = RootCertStore::empty();
    // Without any certificate, a request fails with an unknown issuer; a loopback URL needs none.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let client = Client::builder()
        .tls_backend_preconfigured(tls.with_root_certificates(roots).with_no_client_auth())
        .user_agent(concat!("sessiond/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
        .referer(false)
        .pool_max_idle_per_host(0)
        .redirect(redirects)
        .build()?;
    Ok(client)
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
