//! ADK's own runner, with a scripted model.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use adk_agent::LlmAgentBuilder;
use adk_core::{
    Agent, Content, Event, Llm, LlmRequest, LlmResponse, LlmResponseStream, Part, Result, ToolContext, async_trait,
    identity::AdkIdentity,
};
use adk_memory::MemoryServiceAdapter;
use adk_runner::Runner;
use adk_session::{InMemorySessionService, SessionService};
use futures::StreamExt as _;
use serde_json::{Value, json};
use sessiond_adk::{Concurrency, ErrorKind, SessiondSessionService, ops};

use crate::support::{Act, app, append, create, event, get_request, identity, indexed, new_session, sessions, shared};

/// Answers with what it is told to, in order, in two chunks if it streams; keeps what it was asked.
#[derive(Default)]
pub struct Scripted {
    answers: Mutex<Vec<Part>>,
    asked: Mutex<Vec<Vec<Content>>>,
}

impl Scripted {
    pub fn of<const N: usize>(answers: [Part; N]) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().rev().collect()), asked: Mutex::default() })
    }

    /// The texts of what it was asked last.
    pub fn heard(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let parts = asked.last().unwrap().iter().flat_map(|content| &content.parts);
        parts.filter_map(Part::text).map(str::to_owned).collect()
    }
}

#[async_trait]
impl Llm for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn generate_content(&self, request: LlmRequest, _stream: bool) -> Result<LlmResponseStream> {
        self.asked.lock().unwrap().push(request.contents);
        let part = self.answers.lock().unwrap().pop().unwrap_or(Part::text_part("done"));
        let chunk = |partial: bool| {
            let content = Some(Content { role: "model".into(), parts: vec![part.clone()] });
            // By this ADK knows that the last chunk repeats those before it.
            let provider_metadata = (!partial).then(|| json!({"content_complete": true}));
            let response = LlmResponse { content, partial, turn_complete: !partial, ..LlmResponse::default() };
            Ok(LlmResponse { provider_metadata, ..response })
        };
        let chunks = if part.text().is_some() { vec![chunk(true), chunk(false)] } else { vec![chunk(false)] };
        Ok(Box::pin(futures::stream::iter(chunks)))
    }
}

pub fn call(tool: &str) -> Part {
    Part::FunctionCall { name: tool.into(), args: json!({}), id: Some("c1".into()), thought_signature: None }
}

/// Counts by an operator and sets keys of every scope.
async fn count(ctx: Arc<dyn ToolContext>) -> Result<Value> {
    let number = ops::increment(&ctx, "app:n", 2).await?;
    let list = ops::append(&ctx, "list", ["a", "b"]).await?;
    ops::union(&ctx, "list", ["b", "c"]).await?;
    ops::apply(&ctx, &[ops::Op::set("gone", 1), ops::Op::max("top", 7)]).await?;
    ops::remove(&ctx, "gone").await?;
    let is = [json!({"key": "app:n", "equals": number})];
    ops::apply_if(&ctx, &is, &[ops::Op::increment("app:n", 1)]).await?;
    let stale = ops::apply_if(&ctx, &is, &[ops::Op::increment("app:n", 1)]).await.err().map(|error| error.kind);
    assert_eq!(stale, Some(ErrorKind::Stale));
    let mut actions = ctx.actions();
    actions.state_delta.extend([("user:u".to_owned(), json!(1)), ("temp:t".to_owned(), json!(1))]);
    ctx.set_actions(actions);
    // What an agent is told when it misuses an operator.
    let refused = ops::increment(&ctx, "list", 1).await.err().map(|error| error.kind);
    assert_eq!(refused, Some(ErrorKind::InvalidInput));
    Ok(json!({"number": number, "list": list}))
}

fn agent(model: Arc<Scripted>) -> Arc<dyn Agent> {
    let agent = LlmAgentBuilder::new("agent").instruction("Be kind.").model(model).tool(Arc::new(Act("count", count)));
    Arc::new(agent.output_key("said").build().unwrap())
}

fn runner(sessions: &SessiondSessionService, app: &str, model: Arc<Scripted>) -> Runner {
    let sessions = Arc::new(sessions.clone());
    Runner::builder().app_name(app).agent(agent(model)).session_service(sessions).build().unwrap()
}

pub async fn run(runner: &Runner, identity: &AdkIdentity, said: &str) -> Result<Vec<Event>> {
    let content = Content::new("user").with_text(said);
    let mut events = runner.run(identity.user_id.clone(), identity.session_id.clone(), content).await?;
    let mut yielded = Vec::new();
    while let Some(event) = events.next().await {
        yielded.push(event?);
    }
    Ok(yielded)
}

/// What tools have answered.
pub fn responses(events: &[Event]) -> Vec<Value> {
    events.iter().flat_map(|event| event.tool_results()).map(|result| result.response.clone()).collect()
}

async fn stored(identity: &AdkIdentity) -> Vec<Event> {
    sessions().get(get_request(identity)).await.unwrap().events().all()
}

#[tokio::test]
async fn an_agent_runs_on_it() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    // Operators find the service of the runner among several.
    let viewer = SessiondSessionService::new("http://127.0.0.1:1").unwrap();
    let model = Scripted::of([call("count"), Part::text_part("one"), Part::text_part("two")]);
    let first = run(&runner(&service, &app, model.clone()), &identity, "hello").await.unwrap();
    drop(viewer);
    assert!(first.iter().any(|event| event.llm_response.partial));
    let events = stored(&identity).await;
    assert!(!events.iter().any(|event| event.llm_response.partial));
    // Those of operators, and what the runner has yielded.
    let text = |event: &Event| event.content().and_then(|content| content.parts.first()?.text().map(str::to_owned));
    assert_eq!(text(&events[0]).as_deref(), Some("hello"));
    assert_eq!(events.iter().filter_map(text).collect::<Vec<_>>(), ["hello", "one"]);
    assert!(events[1..].iter().all(|event| event.invocation_id == events[0].invocation_id && event.author == "agent"));
    assert!(events.iter().all(|event| event.llm_request.is_none()), "requests of the model are left out");
    assert_eq!(responses(&events), [json!({"number": 2, "list": ["a", "b"]})]);

    let state = service.get(get_request(&identity)).await.unwrap().state().all();
    let expected = json!({"app:n": 3, "list": ["a", "b", "c"], "top": 7, "user:u": 1, "said": "one"});
    assert_eq!(serde_json::to_value(state).unwrap(), expected);

    // Another process goes on, with what was said.
    let other = sessions();
    run(&runner(&other, &app, model.clone()), &identity, "again").await.unwrap();
    assert_eq!(model.heard(), ["Be kind.", "hello", "one", "again"]);
    let asked = model.asked.lock().unwrap().last().unwrap().clone();
    assert!(asked.iter().flat_map(|content| &content.parts).any(|part| matches!(part, Part::FunctionResponse { .. })));

    // And so does a runner after a rewind, without what was taken back.
    let before = stored(&identity).await.iter().rposition(|event| text(event).as_deref() == Some("one")).unwrap();
    let target = stored(&identity).await[before].id.clone();
    service.rewind_for_identity(&identity, &target).await.unwrap();
    run(&runner(&service, &app, model.clone()), &identity, "anew").await.unwrap();
    assert_eq!(model.heard(), ["Be kind.", "hello", "one", "anew"]);
}

/// Looks for what was said.
async fn remember(ctx: Arc<dyn ToolContext>) -> Result<Value> {
    let memories = ctx.search_memory("favourite tea").await?;
    Ok(json!({"memories": memories.iter().map(|entry| &entry.content).collect::<Vec<_>>()}))
}

#[tokio::test]
async fn an_agent_remembers() {
    let (service, app) = (sessions(), indexed().await);
    create(&service, &app, "ada", Some("monday"), json!({})).await.unwrap();
    let mut said = event("i", json!({}));
    said.set_content(Content::new("user").with_text("my favourite tea is sencha"));
    append(&service, &identity(&app, "ada", "monday"), said).await.unwrap();
    let tuesday = new_session(&service, &app).await;
    let model = Scripted::of([call("remember"), Part::text_part("Coming up.")]);
    let agent = LlmAgentBuilder::new("agent").model(model).tool(Arc::new(Act("remember", remember))).build().unwrap();
    let memory = MemoryServiceAdapter::new(Arc::new(service.memory()), &*app, "ada");
    let runner = Runner::builder().app_name(&*app).agent(Arc::new(agent)).session_service(Arc::new(service));
    let runner = runner.memory_service(Arc::new(memory)).build().unwrap();
    // The question is no memory.
    run(&runner, &tuesday, "favourite tea").await.unwrap();
    let expected = json!({"memories": [{"role": "user", "parts": [{"text": "my favourite tea is sencha"}]}]});
    assert_eq!(responses(&stored(&tuesday).await), [expected]);
}

#[tokio::test]
async fn a_missing_session_is_the_runners_error() {
    let (service, app) = (sessions(), app());
    let identity = crate::support::identity(&app, "ada", "none");
    let error = run(&runner(&service, &app, Scripted::of([])), &identity, "hello").await.err().unwrap();
    assert_eq!(error.code, "session.not_found");
}

#[tokio::test]
async fn the_requests_of_the_model_are_kept_if_one_asks_for_them() {
    let service = SessiondSessionService::builder(shared()).keep_model_requests(true).build().unwrap();
    let app = app();
    let identity = new_session(&service, &app).await;
    let yielded = run(&runner(&service, &app, Scripted::of([])), &identity, "hello").await.unwrap();
    let event = stored(&identity).await.into_iter().find(|event| event.llm_request.is_some()).unwrap();
    let same = yielded.iter().find(|yielded| yielded.id == event.id && !yielded.llm_response.partial).unwrap();
    assert_eq!(serde_json::to_value(&event).unwrap(), serde_json::to_value(same).unwrap());
}

#[tokio::test]
async fn a_strict_runner_stops_when_another_one_writes() {
    let service = SessiondSessionService::builder(shared()).concurrency(Concurrency::Session).build().unwrap();
    let app = app();
    let identity = new_session(&service, &app).await;
    // With an operator in between, its own.
    let model = Scripted::of([call("count"), Part::text_part("one")]);
    run(&runner(&service, &app, model), &identity, "hello").await.unwrap();

    let runner = runner(&service, &app, Scripted::of([Part::text_part("two")]));
    let content = Content::new("user").with_text("hello");
    let mut events = runner.run(identity.user_id.clone(), identity.session_id.clone(), content).await.unwrap();
    let first = events.next().await.unwrap().unwrap();
    assert!(first.llm_response.partial);
    append(&sessions(), &identity, event("other", json!({}))).await.unwrap();
    let error = loop {
        if let Err(error) = events.next().await.unwrap() {
            break error;
        }
    };
    assert_eq!(error.code, "session.stale");
}

#[tokio::test]
async fn runners_take_turns() {
    let (app, wait) = (app(), Duration::from_secs(60));
    let identity = new_session(&sessions(), &app).await;
    let runs = (0..4).map(|number| {
        let (app, identity) = (app.clone(), identity.clone());
        tokio::spawn(async move {
            let concurrency = Concurrency::Lease { wait, ttl: wait };
            let service = SessiondSessionService::builder(shared()).concurrency(concurrency).build().unwrap();
            let model = Scripted::of([call("count"), Part::text_part("one")]);
            let runner = runner(&service, &app, model);
            let turn = service.turn(&identity, wait, wait).await.unwrap();
            let content = Content::new("user").with_text(format!("hello {number}"));
            let events = runner.run(identity.user_id.clone(), identity.session_id.clone(), content).await.unwrap();
            let mut events = turn.hold(events);
            while let Some(event) = events.next().await {
                event.unwrap();
            }
        })
    });
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
    let mut invocations: Vec<_> = stored(&identity).await.into_iter().map(|event| event.invocation_id).collect();
    invocations.dedup();
    assert_eq!(invocations.len(), 4, "{invocations:?}");
}

#[tokio::test]
async fn a_runner_lets_go_when_it_is_done() {
    let app = app();
    let identity = new_session(&sessions(), &app).await;
    let leasing = |wait| {
        let concurrency = Concurrency::Lease { wait, ttl: Duration::from_secs(600) };
        SessiondSessionService::builder(shared()).concurrency(concurrency).build().unwrap()
    };
    let (one, other) = (leasing(Duration::ZERO), leasing(Duration::from_secs(60)));
    let runner = runner(&one, &app, Scripted::of([call("count"), Part::text_part("one")]));
    run(&runner, &identity, "hello").await.unwrap();
    // Its lease would last for ten minutes.
    other.turn(&identity, Duration::from_secs(60), Duration::from_secs(1)).await.unwrap().end().await.unwrap();
    // Its events were part of one turn: none took another lease.
    let url = format!("{}/v1/apps/{app}/users/ada/sessions/s/lease", shared());
    assert_eq!(crate::support::plain(reqwest::Method::GET, url, Value::Null).await["epoch"], 2);
}

#[tokio::test]
async fn an_operator_needs_the_service_of_the_runner() {
    async fn refused(ctx: Arc<dyn ToolContext>) -> Result<Value> {
        let error = ops::increment(&ctx, "app:n", 1).await.err();
        Ok(json!({"refused": error.map(|error| error.kind) == Some(ErrorKind::InvalidInput)}))
    }
    // Two, none of which has read the session.
    let _services = (sessions(), sessions());
    let (elsewhere, app) = (Arc::new(InMemorySessionService::new()), app());
    let identity = new_session(elsewhere.as_ref(), &app).await;
    let agent = LlmAgentBuilder::new("agent").model(Scripted::of([call("count")]));
    let agent = Arc::new(agent.tool(Arc::new(Act("count", refused))).build().unwrap());
    let runner = Runner::builder().app_name(&app).agent(agent).session_service(elsewhere).build().unwrap();
    let events = run(&runner, &identity, "hello").await.unwrap();
    assert_eq!(responses(&events), [json!({"refused": true})]);
}

/// Makes two changes, and dies where it is told to.
async fn order(ctx: Arc<dyn ToolContext>, dies: String) -> Result<Value> {
    let number = ops::once("number of tea").increment(&ctx, "app:orders", 1).await?;
    if dies == "in the middle" {
        std::process::exit(9);
    }
    let items = ops::once("items of tea").append(&ctx, "user:items", ["tea"]).await?;
    if dies == "at the end" {
        std::process::exit(9);
    }
    assert_eq!((&number, &items), (&json!(1), &json!(["tea"])));
    Ok(json!({"number": number}))
}

/// A process of the test below.
#[tokio::test]
async fn an_agent_that_dies() {
    let told = ["TEST_DIES", "TEST_URL", "TEST_APP"].map(|name| std::env::var(name).ok());
    let [Some(dies), Some(url), Some(app)] = told else { return };
    let sessions = SessiondSessionService::new(url).unwrap();
    let model = Scripted::of([call("order")]);
    let order = Act("order", move |ctx| order(ctx, dies.clone()));
    let agent = LlmAgentBuilder::new("waiter").model(model).tool(Arc::new(order)).build().unwrap();
    let service = Arc::new(sessions.clone());
    let runner = Runner::builder().app_name(&app).agent(Arc::new(agent)).session_service(service).build().unwrap();
    run(&runner, &identity(&app, "ada", "s"), "Tea, please.").await.unwrap();
}

#[tokio::test]
async fn a_tool_that_dies_and_runs_again_changes_each_thing_once() {
    let (sessions, app) = (sessions(), app());
    let identity = new_session(&sessions, &app).await;
    for (dies, code) in [("in the middle", 9), ("at the end", 9), ("nowhere", 0), ("nowhere", 0)] {
        let mut program = std::process::Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "runner::an_agent_that_dies"]);
        program.env("TEST_DIES", dies).env("TEST_URL", shared()).env("TEST_APP", &app);
        let said = program.output().unwrap();
        assert_eq!(said.status.code(), Some(code), "{dies}: {}", String::from_utf8_lossy(&said.stdout));
    }
    let session = sessions.get(get_request(&identity)).await.unwrap();
    let expected = [("app:orders".to_owned(), json!(1)), ("user:items".to_owned(), json!(["tea"]))];
    assert_eq!(session.state().all(), expected.into());
}

#[tokio::test]
async fn a_change_that_has_an_id_is_made_once() {
    let (sessions, app) = (sessions(), app());
    let identity = identity(&app, "ada", "s");
    create(&sessions, &app, "ada", Some("s"), json!({"n": 1})).await.unwrap();
    let add = [ops::Op::increment("n", 1), ops::Op::remove("gone")];
    let at_one = [json!({"key": "n", "equals": 1})];
    let made = json!({"n": 2});
    let first = sessions.apply_ops_once(&identity, "order 17", &at_one, &add, "user", "").await.unwrap();
    assert_eq!(Value::Object(first), made);
    sessions.apply_ops(&identity, &[ops::Op::set("n", 10)], "user", "").await.unwrap();
    // Of the same agent, of another one, in another invocation; the precondition held then.
    for (author, invocation) in [("user", ""), ("agent", "i2")] {
        let again = sessions.apply_ops_once(&identity, "order 17", &at_one, &add, author, invocation).await.unwrap();
        assert_eq!(Value::Object(again), made);
    }
    // Another change of the same id is none of ours.
    let two = [ops::Op::increment("n", 2)];
    let refused = sessions.apply_ops_once(&identity, "order 17", &[], &two, "user", "").await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::EventIdConflict);
    let session = sessions.get(get_request(&identity)).await.unwrap();
    assert_eq!((session.state().get("n"), session.events().len()), (Some(json!(10)), 2));
}
