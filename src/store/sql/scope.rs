//! The tables of shared state. There is a set for users and one for apps, alike but for the columns that name the owner, so that
//! statements over them are written once. And the tables of the states that a session shows.

use crate::domain::ids::ScopeKey;
use crate::domain::scope::Scope;

/// A set of tables: their names are `{name}_scopes`, `{name}_state`, `{name}_log`, `{name}_spans`, `{name}_patches`.
pub struct ScopeTables {
    pub name: &'static str,
    /// The columns that name the owner, and the parameters that do.
    pub owner: &'static str,
    pub values: &'static str,
    /// That a row is the owner's, and the same of the rows `e` of a table of users, `l`, `s` and `t`.
    pub of: &'static str,
    pub e_of: &'static str,
    pub l_of: &'static str,
    pub s_of: &'static str,
    pub t_of: &'static str,
    /// The parameters after those of the owner.
    pub params: [&'static str; 6],
    /// The column with the revision behind which the scope began, or the revision if all begin at one.
    pub began: &'static str,
}

/// Of users, and of apps.
pub static SCOPES: [ScopeTables; 2] = [USERS, APPS];

const USERS: ScopeTables = ScopeTables {
    name: "user",
    owner: "app_name, user_id",
    values: "$1, $2",
    of: "app_name = $1 and user_id = $2",
    e_of: "e.app_name = $1 and e.user_id = $2",
    l_of: "l.app_name = $1 and l.user_id = $2",
    s_of: "s.app_name = $1 and s.user_id = $2",
    t_of: "t.app_name = $1 and t.user_id = $2",
    params: ["$3", "$4", "$5", "$6", "$7", "$8"],
    began: "began",
};

const APPS: ScopeTables = ScopeTables {
    name: "app",
    owner: "app_name",
    values: "$1",
    of: "app_name = $1",
    e_of: "e.app_name = $1",
    l_of: "l.app_name = $1",
    s_of: "s.app_name = $1",
    t_of: "t.app_name = $1",
    params: ["$2", "$3", "$4", "$5", "$6", "$7"],
    began: "0",
};

/// That of a scope, of a value for users and one for apps.
pub fn of_scope<'a, T>(scope: &ScopeKey, [users, apps]: &'a [T; 2]) -> &'a T {
    match scope {
        ScopeKey::User(_) => users,
        ScopeKey::App(_) => apps,
    }
}

/// A table of state, as a part of a session's merged state.
pub struct ShownState {
    pub scope: Scope,
    pub table: &'static str,
    /// That a row `t` is the session `s`'s, or what it shares, in the app `$1`.
    pub of_session: &'static str,
}

/// In the order of the merged state.
pub static SHOWN_STATES: [ShownState; 3] = [
    ShownState { scope: Scope::App, table: "app_state", of_session: "t.app_name = $1" },
    ShownState { scope: Scope::User, table: "user_state", of_session: "t.app_name = $1 and t.user_id = s.user_id" },
    ShownState {
        scope: Scope::Session,
        table: "session_state",
        of_session: "t.app_name = $1 and t.user_id = s.user_id and t.session_id = s.id and t.incarnation = s.incarnation",
    },
];

impl ShownState {
    /// The key of a row `t` in the merged state.
    pub fn key(&self) -> String {
        match self.scope.prefix() {
            "" => "t.key".to_owned(),
            prefix => format!("'{prefix}' || t.key"),
        }
    }
}
