//! `/v1/apps/{app}/users/{user}/search`: what was said.

use super::look;
use crate::domain::access::Role;
use crate::domain::ids::SessionId;
use crate::domain::json::ObjectText;
use crate::domain::search::Filter;
use crate::http::call::Call;
use crate::http::describe::{Access, Kind, Operation, Param};
use crate::http::reply::{self, Answer, Problem};

const TEXT: Param = Param::new("text", Kind::Words { required: true });
const LIMIT: Param = Param::new("limit", Kind::Integer { min: 1, max: 100 });
const FROM: Param = Param::new("from", Kind::Time);
const TO: Param = Param::new("to", Kind::Time);
const AUTHOR: Param = Param::new("author", Kind::Text);
const SESSION: Param = Param::new("session", Kind::Id);
const EXCEPT: Param = Param::new("exceptSession", Kind::Id);

pub const SEARCH: Operation =
    Operation::of("searchUser", Access::Read(Role::Reader)).query(&[TEXT, LIMIT, FROM, TO, AUTHOR, SESSION, EXCEPT]);

pub async fn search(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let user = call.names.user()?;
    let id = |param: &Param| query.text(param).map(SessionId::parse).transpose();
    let id = |param: &Param| id(param).map_err(|message| Problem::field(param.name, message));
    let filter = Filter {
        from: query.time(&FROM),
        to: query.time(&TO),
        author: query.text(&AUTHOR).map(str::to_owned),
        session: id(&SESSION)?,
        except: id(&EXCEPT)?,
        limit: query.integer(&LIMIT).map_or(10, |limit| limit as usize),
    };
    let (service, deadline) = (call.service.clone(), call.deadline);
    let mut search = service.search(&user, query.text(&TEXT).unwrap_or_default(), deadline).await?;
    let mut looked = search.looked();
    loop {
        // Who cannot pay for more gets what was found.
        if !look::pays(&call, looked) {
            search.cut();
        }
        let turn = call.turn().await?;
        let Some(page) = service.next_to_search(&mut search, deadline).await? else { break };
        looked += page.events.events.len();
        let take = move || {
            search.take(&page);
            search
        };
        search = look::on_thread(turn, take).await?;
    }
    let hits = service.found(&search, &filter, deadline).await?;
    let shown = hits.iter().map(|shown| {
        let mut hit = ObjectText::default();
        hit.push_str("sessionId", shown.hit.session.as_str());
        hit.push_some("displayName", shown.display_name.as_ref().map(|name| name.text()));
        hit.push("score", &shown.hit.score.to_string());
        hit.push("event", &reply::event_text(&shown.event));
        hit.close()
    });
    let mut answer = ObjectText::default();
    answer.push_array("hits", &shown.collect::<Vec<_>>());
    answer.push("complete", if search.is_complete() { "true" } else { "false" });
    Ok(Answer::ok().json(answer.close()))
}
