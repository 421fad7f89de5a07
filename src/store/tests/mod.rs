mod documented;

use crate::domain::Limits;
use crate::domain::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
use crate::domain::session::{Creation, IfExists};
use crate::domain::shown::Shown;
use crate::domain::time::Micros;

/// Of a session that has nothing.
pub fn creation(shows: Shown) -> Creation {
    let user = UserKey { app: AppName::parse("a").unwrap(), user: UserId::parse("u").unwrap() };
    Creation {
        key: SessionKey { user, session: SessionId::parse("s").unwrap() },
        incarnation: 1,
        now: Micros(1),
        state: Vec::new(),
        events: Vec::new(),
        display_name: None,
        labels: None,
        expiry: None,
        if_exists: IfExists::Refuse,
        request: None,
        shows,
        limits: Limits::unbounded_input(),
    }
}
