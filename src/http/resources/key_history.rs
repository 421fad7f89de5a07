//! The past of a state key.

use crate::domain::access::Role;
use crate::domain::key_history::{KeyChange, KeyOwner, MadeBy};
use crate::domain::scope::split;
use crate::http::call::Call;
use crate::http::describe::{Access, Kind, Operation, PAGE_SIZE, PAGE_TOKEN, Param, Reply};
use crate::http::reply::{self, Answer, Code, Problem, foreign_token};
use crate::service::Error;

const ORDER: Param =
    Param::new("order", Kind::OneOf(&["asc", "desc"])).about("By revision; `desc`, the latest first, by default.");

const HISTORY: &[Reply] = &[Reply::ok("A page of changes.", "KeyHistory")];

pub const GET_SESSION: Operation = Operation {
    id: "getStateKeyHistory",
    summary: "Read the past of a key",
    description: "Each change of a key: its value, when it was made, and by which event. The key carries its prefix: that of a `user:` or \
                  `app:` key is the past of the user's or the app's state, by whatever session or request, with revisions of that state. \
                  It begins with what the key had (`base`) when the session was created, or where a trim or a policy has ended the \
                  known past. A change by a session that the client may not read, or by an erased user, says nothing of who made it.",
    query: &[PAGE_SIZE, PAGE_TOKEN, ORDER],
    answers: HISTORY,
    errors: &[Code::SessionNotFound, Code::StateKeyNotFound],
    ..Operation::of("State", Access::Read(Role::Reader))
};

pub async fn get_session(call: Call) -> Result<Answer, Problem> {
    let session = call.names.session()?;
    let Some((scope, key)) = split(&call.names.state_key()?).map(|(scope, key)| (scope, key.to_owned())) else {
        // `temp:` keys are never stored.
        call.service.head(&session, call.deadline).await?;
        return Err(Error::StateKeyNotFound.into());
    };
    let owner = match session.shared(scope) {
        None => KeyOwner::Session(session),
        Some(shared) => KeyOwner::Shared { scope: shared.to_key(), session: Some(session.clone()) },
    };
    get(call, owner, key).await
}

pub const GET_USER: Operation = Operation {
    id: "getUserStateKeyHistory",
    summary: "Read the past of a key of user state",
    description: "As with a session's; the key has no prefix, and revisions are those of the user's state.",
    errors: &[Code::StateKeyNotFound],
    ..GET_SESSION
};

pub const GET_APP: Operation = Operation {
    id: "getAppStateKeyHistory",
    access: Access::ReadShared(Role::Reader),
    summary: "Read the past of a key of app state",
    description: "As with a session's; the key has no prefix, and revisions are those of the app's state.",
    ..GET_USER
};

pub async fn get_scope(call: Call) -> Result<Answer, Problem> {
    let (scope, key) = call.names.scope_key()?;
    get(call, KeyOwner::Shared { scope, session: None }, key).await
}

async fn get(mut call: Call, owner: KeyOwner, key: String) -> Result<Answer, Problem> {
    let query = call.take_query();
    let rows = query.page_rows(&call.limits())?;
    let order = query.text(&ORDER).unwrap_or("desc");
    let names = [call.names.user.as_ref().map(|user| user.as_str()), owner.session().map(|key| key.session.as_str())];
    let binding = call.binding("key_history").with(owner.app().as_str());
    let binding = names.into_iter().fold(binding, |binding, name| binding.with(name.unwrap_or("")));
    let binding = binding.with(&key).with(order);
    let after: Option<(i64, i64)> = query.position(&binding)?;
    let page = (after.map(|(_, revision)| revision), order == "desc", rows);
    let _turn = call.turn().await?;
    let history = call.service.key_history(owner, key, page, call.deadline).await?;
    // Of a session that was made anew it would be another past.
    if after.is_some_and(|(mark, _)| mark != history.mark) {
        return Err(foreign_token());
    }
    let next = history.changes.last().filter(|_| history.more);
    let next = next.map(|last| binding.token(&(history.mark, last.revision)));
    let users = &call.client.grant.users;
    let shown = |change: &KeyChange| change.to_object(|by: &MadeBy| users.allows(by.user.as_str()));
    let changes: Vec<String> = history.changes.iter().map(shown).collect();
    Ok(Answer::ok().json(reply::page("changes", &changes, next)))
}
