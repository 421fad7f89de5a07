//! `.../sessions/{session}/lease`: one turn at a time.

use axum::http::StatusCode;

use crate::domain::access::Role;
use crate::domain::json::ObjectText;
use crate::domain::lease::{LeaseDraft, LeaseMark, LeaseRefusal, LeaseView};
use crate::domain::time::Micros;
use crate::http::call::Call;
use crate::http::describe::{Access, Kind, Operation, Param, WAIT};
use crate::http::live::wait::Wait;
use crate::http::reply::{Answer, Problem};
use crate::service::{Error, Taken};

pub const TAKE: Operation = Operation::of("takeLease", Access::Write(Role::Agent)).query(&[WAIT]);

pub async fn take(mut call: Call) -> Result<Answer, Problem> {
    let key = call.names.session()?;
    let query = call.take_query();
    let draft = LeaseDraft::parse(call.required_body().await?.json()?)?;
    let wait = query.wait().filter(|wait| !wait.is_zero());
    let mut wait = wait.map(|wait| Wait::new(&call, wait, false)).transpose()?;
    loop {
        let held = match call.writer()?.take_lease(&key, &draft, call.deadline).await? {
            Taken::Granted { view, retried } => {
                let status = if retried { StatusCode::OK } else { StatusCode::CREATED };
                return Ok(Answer::new(status).json(granted(&view)));
            }
            Taken::Held(held) => held,
        };
        let is_free = match &mut wait {
            Some(wait) => until_free(&mut call, wait, held.expire_time).await?,
            None => false,
        };
        if !is_free {
            return Err(Error::Lease(LeaseRefusal::Held(held)).into());
        }
    }
}

/// Waits until the lease is free or has expired. `false` if the wait is over.
async fn until_free(call: &mut Call, wait: &mut Wait, expire_time: Micros) -> Result<bool, Problem> {
    let key = call.names.session()?;
    let mut expire_time = expire_time;
    loop {
        let next = call.service.next_lease_attempt(expire_time);
        let Some(deadline) = wait.changed(Some(next)).await? else { return Ok(false) };
        call.deadline = deadline;
        let view = call.service.lease(&key, deadline).await?;
        match view.lease.holding {
            Some(holding) if holding.expire_time > view.now => expire_time = holding.expire_time,
            _ => return Ok(true),
        }
    }
}

pub const RENEW: Operation = Operation::of("renewLease", Access::Write(Role::Agent));

pub async fn renew(mut call: Call) -> Result<Answer, Problem> {
    let key = call.names.session()?;
    let (mark, ttl_micros) = LeaseMark::parse_renewal(call.required_body().await?.json()?)?;
    let view = call.writer()?.renew_lease(&key, mark, ttl_micros, call.deadline).await?;
    Ok(Answer::ok().json(granted(&view)))
}

const EPOCH: Param = Param::new("epoch", Kind::Epoch);
const INCARNATION: Param = Param::new("incarnation", Kind::Incarnation);

pub const RELEASE: Operation = Operation::of("releaseLease", Access::Write(Role::Agent)).query(&[EPOCH, INCARNATION]);

pub async fn release(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let mark = LeaseMark { epoch: query.epoch(&EPOCH), incarnation: query.incarnation(&INCARNATION) };
    call.writer()?.release_lease(&call.names.session()?, mark, call.deadline).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}

pub const GET: Operation = Operation::of("getLease", Access::Read(Role::Reader));

pub async fn get(call: Call) -> Result<Answer, Problem> {
    let key = call.names.session()?;
    let view = call.service.lease(&key, call.deadline).await?;
    let mut object = lease_object(&view);
    if let Some(holding) = &view.lease.holding {
        object.push_str("owner", &holding.owner);
        object.push("expireTime", &holding.expire_time.to_number());
    }
    object.push("watchers", &call.service.watchers(&key).to_string());
    Ok(Answer::ok().json(object.close()))
}

fn lease_object(view: &LeaseView) -> ObjectText {
    let mut object = ObjectText::default();
    object.push("epoch", &view.lease.epoch.to_string());
    object.push_str("incarnation", &format!("{:x}", view.head.mark()));
    object
}

/// A lease as only its holder may see it.
fn granted(view: &LeaseView) -> String {
    let mut object = lease_object(view);
    if let Some(holding) = &view.lease.holding {
        object.push_str("owner", &holding.owner);
        object.push_some_str("invocationId", holding.invocation_id.as_ref());
        object.push("expireTime", &holding.expire_time.to_number());
        object.push_str("exclusive", holding.exclusive.as_str());
    }
    object.push("revision", &view.head.revision.to_string());
    object.close()
}
