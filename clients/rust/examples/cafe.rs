//! Says something to the agents of a café, in a new session: `cafe USER MESSAGE`. Or follows the latest session of a
//! user, while another program drives it: `cafe follow USER`.
//!
//! The model of the agents is scripted, so they need no key; a real one would be used in the same way.

use std::{collections::BTreeMap, env, sync::Arc};

use adk_agent::{LlmAgentBuilder, SequentialAgent};
use adk_core::{
    AdkError, AdkIdentity, Agent, AppName, Content, Llm, LlmRequest, LlmResponse, LlmResponseStream, Part, Result,
    SessionId, Tool, ToolContext, UserId, async_trait,
};
use adk_runner::Runner;
use adk_session::{CreateRequest, ListRequest, SessionService};
use futures::StreamExt as _;
use serde_json::{Value, json};
use sessiond_adk::{SessiondSessionService, WatchFrom, WatchItem, ops};

/// Answers by a rule, from the instruction and from the last thing that it was told.
struct ScriptedModel(fn(&[&str], &Part) -> Part);

#[async_trait]
impl Llm for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn generate_content(&self, request: LlmRequest, _stream: bool) -> Result<LlmResponseStream> {
        let instruction = request.contents.first().and_then(|said| said.parts.first()?.text()).unwrap_or_default();
        // The values of state that ADK puts into the instructions are between angle brackets, for the scripts to find.
        let values: Vec<&str> =
            instruction.split('<').skip(1).filter_map(|rest| Some(rest.split_once('>')?.0)).collect();
        let nothing = Part::text_part("");
        let last = request.contents.last().and_then(|said| said.parts.last()).unwrap_or(&nothing);
        let content = Content { role: "model".into(), parts: vec![(self.0)(&values, last)] };
        let response = LlmResponse { content: Some(content), turn_complete: true, ..LlmResponse::default() };
        Ok(Box::pin(futures::stream::iter([Ok(response)])))
    }
}

struct TakeOrder;

#[async_trait]
impl Tool for TakeOrder {
    fn name(&self) -> &str {
        "take_order"
    }

    fn description(&self) -> &str {
        "Takes an order."
    }

    async fn execute(&self, ctx: Arc<dyn ToolContext>, args: Value) -> Result<Value> {
        // Of the app: of all users, who may order at the same time. Read, add one and write back would lose orders.
        let number = ops::increment(&ctx, "app:orders", 1).await?;
        let mut actions = ctx.actions();
        actions.state_delta.extend([
            ("drink".to_owned(), args["drink"].clone()), // of this session
            ("order".to_owned(), number.clone()),
            ("user:name".to_owned(), args["guest"].clone()), // of this user, in every session
            ("user:usual".to_owned(), args["drink"].clone()),
        ]);
        ctx.set_actions(actions);
        Ok(json!({"number": number}))
    }
}

fn waiter_says(values: &[&str], last: &Part) -> Part {
    let Some(said) = last.text() else {
        return Part::text_part("Coming."); // the tool has answered
    };
    let named = said.split_once("I am ").and_then(|(_, rest)| Some(rest.split_once('.')?.0));
    let ordered = said.split_once("A ").and_then(|(_, rest)| Some(rest.split_once(", please")?.0));
    let known = |index: usize| values.get(index).copied().unwrap_or_default();
    let args = json!({"guest": named.unwrap_or(known(0)), "drink": ordered.unwrap_or(known(1))});
    Part::FunctionCall { name: "take_order".into(), args, id: Some("call-1".into()), thought_signature: None }
}

fn barista_says(values: &[&str], _last: &Part) -> Part {
    Part::text_part(format!("one {}, hot", values.join(" ")))
}

fn server_says(values: &[&str], _last: &Part) -> Part {
    let known = |index: usize| values.get(index).copied().unwrap_or_default();
    Part::text_part(format!("Order {}: {}, for {}.", known(0), known(1), known(2)))
}

fn cafe() -> Result<Arc<dyn Agent>> {
    let waiter = LlmAgentBuilder::new("waiter")
        .instruction("Take the order. The guest is <{user:name?}>, who usually has <{user:usual?}>.")
        .model(Arc::new(ScriptedModel(waiter_says)))
        .tool(Arc::new(TakeOrder))
        .build()?;
    let barista = LlmAgentBuilder::new("barista")
        .instruction("Make <{drink}>.")
        .model(Arc::new(ScriptedModel(barista_says)))
        .output_key("made")
        .build()?;
    let server = LlmAgentBuilder::new("server")
        .instruction("Serve order <{order}>: <{made}>, for <{user:name}>.")
        .model(Arc::new(ScriptedModel(server_says)))
        .output_key("served")
        .build()?;
    Ok(Arc::new(SequentialAgent::new("cafe", vec![Arc::new(waiter), Arc::new(barista), Arc::new(server)])))
}

fn print_texts(event: &adk_core::Event) {
    for text in event.content().into_iter().flat_map(|content| &content.parts).filter_map(Part::text) {
        println!("{}: {text}", event.author);
    }
}

async fn say(sessions: SessiondSessionService, user: &str, message: &str) -> Result<()> {
    let runner =
        Runner::builder().app_name("cafe").agent(cafe()?).session_service(Arc::new(sessions.clone())).build()?;
    let (app_name, user_id) = ("cafe".to_owned(), user.to_owned());
    let session =
        sessions.create(CreateRequest { app_name, user_id, session_id: None, state: Default::default() }).await?;
    println!("{user}: {message}");
    let identity = session.try_identity()?;
    let content = Content::new("user").with_text(message);
    let mut events = runner.run(identity.user_id.clone(), identity.session_id.clone(), content).await?;
    while let Some(event) = events.next().await {
        print_texts(&event?);
    }

    // As stored, for any other process to read.
    let stored = sessions.get_for_identity(&identity).await?;
    let state: BTreeMap<String, Value> = stored.state().all().into_iter().collect();
    for (scope, prefix) in [("app state:", "app:"), ("user state:", "user:"), ("session state:", "")] {
        let is_of = |key: &str| if prefix.is_empty() { !key.contains(':') } else { key.starts_with(prefix) };
        let part: BTreeMap<_, _> = state.iter().filter(|(key, _)| is_of(key)).collect();
        println!("{scope:<14} {}", json!(part));
    }
    Ok(())
}

async fn follow(sessions: SessiondSessionService, user: &str) -> Result<()> {
    let (app_name, user_id) = ("cafe".to_owned(), user.to_owned());
    let latest = sessions.list(ListRequest { app_name, user_id, limit: Some(1), offset: None }).await?;
    let Some(session) = latest.first() else {
        return Err(AdkError::session(format!("{user} has no session yet.")));
    };
    let (app, user) = (AppName::try_from("cafe")?, UserId::try_from(user)?);
    let identity = AdkIdentity::new(app, user, SessionId::try_from(session.id())?);
    // What was said so far, and then what is said now. It survives restarts of sessiond.
    let mut items = sessions.watch(&identity, WatchFrom::Start, false);
    while let Some(item) = items.next().await {
        match item? {
            WatchItem::Event { event, .. } => print_texts(&event),
            WatchItem::Deleted { reason, .. } => println!("The session is gone: {reason}."),
            _ => {}
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let url = env::var("SESSIOND_URL").unwrap_or_else(|_| "http://127.0.0.1:8080".into());
    let sessions = SessiondSessionService::new(url)?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["follow", user] => follow(sessions, user).await,
        [user, message] => say(sessions, user, message).await,
        _ => Err(AdkError::config("Arguments: USER MESSAGE, or: follow USER")),
    }
}
