//! The API description, as YAML and as a page.

use axum::http::{StatusCode, header};

use crate::http::call::Call;
use crate::http::describe::{Access, Operation, Reply, Serving};
use crate::http::openapi::{ADK_YAML, PAGE, PAGE_POLICY, YAML};
use crate::http::reply::{Answer, Problem};

pub const OPENAPI: Operation = Operation {
    id: "openapi",
    serving: Serving::PROCESS,
    summary: "This description",
    description: "OpenAPI 3.1, in YAML, generated from the code that serves it. The paths of ADK are in `/openapi-adk.yaml`.",
    answers: &[Reply::ok("The description.", "OpenApi")],
    ..Operation::of("System", Access::Open)
};

pub async fn openapi(_: Call) -> Result<Answer, Problem> {
    Ok(Answer::ok().header(header::CONTENT_TYPE, "application/yaml").body(YAML))
}

pub const OPENAPI_ADK: Operation = Operation {
    id: "openapiAdk",
    summary: "The description of the paths of ADK",
    description: "OpenAPI 3.1, in YAML.",
    ..OPENAPI
};

pub async fn openapi_adk(_: Call) -> Result<Answer, Problem> {
    Ok(Answer::ok().header(header::CONTENT_TYPE, "application/yaml").body(ADK_YAML))
}

pub const DOCS: Operation = Operation {
    id: "docs",
    serving: Serving { page: true, ..Serving::PROCESS },
    summary: "This description, to read",
    description: "One page with an example of each operation, which loads nothing from elsewhere.",
    answers: &[Reply::ok("The page.", "Page")],
    ..Operation::of("System", Access::Open)
};

pub async fn docs(_: Call) -> Result<Answer, Problem> {
    Ok(Answer::ok()
        .header(header::CONTENT_TYPE, "text/html; charset=utf-8")
        .header(header::CONTENT_SECURITY_POLICY, PAGE_POLICY.as_str())
        .body(PAGE))
}

pub const DOCS_WITH_SLASH: Operation = Operation {
    id: "docsWithSlash",
    summary: "Leads to the description",
    answers: &[Reply::no_content("To `/docs`.").status(StatusCode::PERMANENT_REDIRECT)],
    ..DOCS
};

/// A relative location also works below a path of a proxy.
pub async fn docs_with_slash(_: Call) -> Result<Answer, Problem> {
    Ok(Answer::new(StatusCode::PERMANENT_REDIRECT).header(header::LOCATION, "../docs"))
}
