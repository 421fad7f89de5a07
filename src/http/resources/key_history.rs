//! The past of a state key.

use crate::domain::access::Role;
use crate::domain::key_history::{KeyChange, KeyOwner, MadeBy};
use crate::domain::scope::split;
use crate::http::call::Call;
use crate::http::describe::{Access, Kind, Operation, PAGE_SIZE, PAGE_TOKEN, Param};
use crate::http::reply::{self, Answer, Problem, foreign_token};
use crate::service::Error;

const ORDER: Param = Param::new("order", Kind::OneOf(&["asc", "desc"]));

pub const GET_SESSION: Operation =
    Operation::of("getStateKeyHistory", Access::Read(Role::Reader)).query(&[PAGE_SIZE, PAGE_TOKEN, ORDER]);

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

pub const GET_USER: Operation = Operation { id: "getUserStateKeyHistory", ..GET_SESSION };

pub const GET_APP: Operation =
    Operation { id: "getAppStateKeyHistory", access: Access::ReadShared(Role::Reader), ..GET_USER };

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
