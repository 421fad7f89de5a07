//! The API description, as YAML and as a page.

use axum::http::{StatusCode, header};

use crate::http::call::Call;
use crate::http::describe::{Access, Operation, Serving};
use crate::http::openapi::{ADK_YAML, PAGE, PAGE_POLICY, YAML};
use crate::http::reply::{Answer, Problem};

pub const OPENAPI: Operation = Operation::of("openapi", Access::Open).serving(Serving::PROCESS);

pub async fn openapi(_: Call) -> Result<Answer, Problem> {
    Ok(Answer::ok().header(header::CONTENT_TYPE, "application/yaml").body(YAML))
}

pub const OPENAPI_ADK: Operation = Operation { id: "openapiAdk", ..OPENAPI };

pub async fn openapi_adk(_: Call) -> Result<Answer, Problem> {
    Ok(Answer::ok().header(header::CONTENT_TYPE, "application/yaml").body(ADK_YAML))
}

pub const DOCS: Operation = Operation::of("docs", Access::Open).serving(Serving { page: true, ..Serving::PROCESS });

pub async fn docs(_: Call) -> Result<Answer, Problem> {
    Ok(Answer::ok()
        .header(header::CONTENT_TYPE, "text/html; charset=utf-8")
        .header(header::CONTENT_SECURITY_POLICY, PAGE_POLICY.as_str())
        .body(PAGE))
}

pub const DOCS_WITH_SLASH: Operation = Operation { id: "docsWithSlash", ..DOCS };

/// A relative location also works below a path of a proxy.
pub async fn docs_with_slash(_: Call) -> Result<Answer, Problem> {
    Ok(Answer::new(StatusCode::PERMANENT_REDIRECT).header(header::LOCATION, "../docs"))
}
