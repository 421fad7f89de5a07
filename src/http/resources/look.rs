//! Looks through pages of rows for words, in turns: what lies between two pages is no request's.

use tokio::task::spawn_blocking;

use crate::domain::query::Look;
use crate::http::call::Call;
use crate::http::limits::shares::Share;
use crate::http::reply::Problem;

/// Looks through a page on a thread of its own, with the turn in which it was read. `more`: rows come after it.
///
/// # Errors
/// It panicked.
pub async fn through<T: Send + 'static, P: Send + 'static>(
    turn: Share,
    look: Look<T, P>,
    (page, more): (Vec<T>, bool),
    judge: impl Fn(&T) -> (P, usize, bool) + Send + 'static,
) -> Result<Look<T, P>, Problem> {
    on_thread(turn, move || look.through(page, more, judge)).await
}

/// Does what keeps a processor busy on a thread of its own, with the turn in which its rows were read.
///
/// # Errors
/// It panicked.
pub async fn on_thread<T: Send + 'static>(
    turn: Share,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let done = spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    done.await.map_err(|_| Problem::panicked())
}

/// Pays for what was looked at, after `before` other rows; whether the request is to read another page. Who cannot pay for one goes on with
/// another request.
pub fn goes_on<T, P>(call: &Call, before: usize, look: &Look<T, P>) -> bool {
    let is_paid = pays(call, before + look.looked());
    look.more && !look.is_over() && is_paid
}

/// Pays for rows that were looked at, whatever comes of it; whether it could.
pub fn pays(call: &Call, looked: usize) -> bool {
    /// Of which the first, and each further, cost 1.
    const ROWS: usize = 1000;
    let cost = looked.div_ceil(ROWS).max(1);
    call.spend(u32::try_from(cost).unwrap_or(u32::MAX)).is_ok()
}
