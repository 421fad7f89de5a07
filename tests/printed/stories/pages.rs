//! The agent of docs/clients.md runs; the parts of the README are compiled.
#![allow(dead_code, unused_variables, unused_imports, unused_must_use)]

use std::{collections::HashMap, sync::Arc, time::Duration};

use adk_agent::LlmAgentBuilder;
use adk_core::{
    AdkError, AdkIdentity, Agent, Content, Event, Llm, LlmRequest, LlmResponse, LlmResponseStream, Part, Result, SessionId, Tool,
    ToolContext, UserId, async_trait,
};
use adk_runner::Runner;
use adk_session::{CreateRequest, SessionService};
use futures::StreamExt as _;
use serde_json::{Value, json};
use sessiond_adk::{SessiondSessionService, Token, WatchFrom, WatchItem, ops};

<<< docs/clients.md: struct TakeOrder

struct Scripted;

#[async_trait]
impl Llm for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn generate_content(&self, request: LlmRequest, _stream: bool) -> Result<LlmResponseStream> {
        let asked = request.contents.last().and_then(|said| said.parts.last()).and_then(Part::text).is_some();
        let args = json!({"drink": "green tea"});
        let part = if asked {
            Part::FunctionCall { name: "take_order".into(), args, id: Some("call-1".into()), thought_signature: None }
        } else {
            Part::text_part("Coming.")
        };
        let content = Content { role: "model".into(), parts: vec![part] };
        let response = LlmResponse { content: Some(content), turn_complete: true, ..LlmResponse::default() };
        Ok(Box::pin(futures::stream::iter([Ok(response)])))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let waiter = LlmAgentBuilder::new("waiter").model(Arc::new(Scripted)).tool(Arc::new(TakeOrder)).build()?;
    run(Arc::new(waiter)).await
}

fn first(agent: Arc<dyn Agent>) -> Result<()> {
    <<< clients/rust/README.md: use sessiond_adk::SessiondSessionService;
    Ok(())
}

fn access(url: &str, key: &str) -> Result<()> {
    <<< clients/rust/README.md: Token::callback
    Ok(())
}

struct Order;

#[async_trait]
impl Tool for Order {
    fn name(&self) -> &str {
        "order"
    }

    fn description(&self) -> &str {
        "Orders."
    }

    <<< clients/rust/README.md: user:drinks
}

struct Report;

#[async_trait]
impl Tool for Report {
    fn name(&self) -> &str {
        "report"
    }

    fn description(&self) -> &str {
        "Reports."
    }

    <<< clients/rust/README.md: report.html
}

async fn turn(
    sessions: &SessiondSessionService,
    runner: Runner,
    identity: AdkIdentity,
    (user, session, content): (UserId, SessionId, Content),
) -> Result<()> {
    <<< clients/rust/README.md: turn.hold
    Ok(())
}

fn handle(event: &Event, cursor: &str) {}

async fn follow(sessions: &SessiondSessionService, identity: AdkIdentity, stored_cursor: String) -> Result<()> {
    <<< clients/rust/README.md: WatchFrom::Cursor
    Ok(())
}
