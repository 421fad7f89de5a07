//! In place of `issuer`: no token is valid, because the settings of an issuer are refused.

use super::JwtSettings;
use crate::access::{AuthError, Client};
use crate::domain::time::Micros;
use crate::features::lacks;
use crate::metrics::Metrics;

pub(crate) enum Jwt {}

impl Jwt {
    pub(crate) fn new(_: JwtSettings) -> Result<Self, String> {
        Err(lacks("--jwt-issuer", "jwt"))
    }

    pub(crate) async fn keep_keys(&self, _: &Metrics) {
        match *self {}
    }

    pub(crate) async fn client(&self, _: &str, _: Micros) -> Result<Client, AuthError> {
        match *self {}
    }
}
