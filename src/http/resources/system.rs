//! Health and readiness, and the requests that were answered.

use crate::domain::access::Role;
use crate::domain::json::ObjectText;
use crate::http::call::Call;
use crate::http::describe::{Access, Operation, Serving};
use crate::http::reply::{Answer, Code, Problem};
use crate::service::{Nodes, Standby};

pub const HEALTH: Operation = Operation::of("health", Access::Open)
    // Some balancers add a query to avoid caches.
    .serving(Serving { always: true, strict_query: false, ..Serving::PROCESS });

pub async fn health(_: Call) -> Result<Answer, Problem> {
    Ok(Answer::ok().json("{\"status\":\"ok\"}"))
}

pub const READY: Operation = Operation { id: "ready", ..HEALTH };

pub async fn ready(call: Call) -> Result<Answer, Problem> {
    if call.app.is_stopping() {
        return Err(Problem::new(Code::Overloaded, "the server is stopping"));
    }
    let standby = call.service.ready(call.deadline).await.map_err(|error| {
        // Whatever is wrong with the database, even missing migrations, traffic must go elsewhere.
        let mut problem = Problem::new(Code::StorageUnavailable, "the database does not answer, or is not migrated");
        problem.cause = Some(error.to_string());
        problem
    })?;
    let mut status = ObjectText::default();
    status.push_str("status", "ready");
    if let Some(Nodes { all, gone: gone @ 1.. }) = call.service.database_nodes() {
        status.push_str(
            "warning",
            &format!("{gone} of {all} nodes of the database do not answer: their apps cannot be served"),
        );
    } else if standby == Standby::ReadOnly {
        status.push_str("warning", "the database takes no writes: reads are served, and writes are 503");
    } else if standby == Standby::Full {
        status.push_str(
            "warning",
            "the disk of the database was full when something was to be written last: reads are served, and writes are 503",
        );
    } else if standby == Standby::NotAwaited {
        status.push_str(
            "warning",
            "commits wait for no standby: if one takes over, what was acknowledged last may be lost",
        );
    }
    Ok(Answer::ok().json(status.close()))
}

pub const REQUESTS: Operation = Operation::of("countRequests", Access::Read(Role::Operator))
    .serving(Serving { strict_path: true, ..Serving::PROCESS });

pub async fn requests(call: Call) -> Result<Answer, Problem> {
    let grant = &call.client.grant;
    let is_of_all = grant.apps.is_all() && grant.users.is_all();
    let mut counts = if is_of_all { call.app.metrics.requests() } else { Vec::new() };
    counts.sort_unstable();
    let object = |(method, route, status, count): &(String, String, u16, u64)| {
        let mut object = ObjectText::default();
        object.push_str("method", method);
        object.push_str("route", route);
        object.push("status", &status.to_string());
        object.push("count", &count.to_string());
        object.close()
    };
    let mut answer = ObjectText::default();
    answer.push_array("requests", &counts.iter().map(object).collect::<Vec<_>>());
    Ok(Answer::ok().json(answer.close()))
}
