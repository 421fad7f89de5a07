//! The steps of the model test: random requests for few apps, users, sessions and keys, so that they collide. Each step
//! makes sense after any other, so a failing sequence can be shrunk.

use proptest::{collection::vec, option, prelude::*, sample::select};

use super::reference::{Operator, Place};

#[derive(Debug, Clone)]
pub struct Step {
    /// What it is about. Unless it creates one, it takes one of the sessions that the user has.
    pub at: Place,
    pub action: Action,
}

#[derive(Debug, Clone)]
pub enum Action {
    Create { unless_there: bool, state: Vec<Entry>, events: Vec<Draft>, twice: bool },
    Append { events: Vec<Draft>, if_match: IfMatch, creates: bool },
    PutKey { key: &'static str, value: &'static str, if_match: IfMatch, twice: bool },
    DeleteKey { key: &'static str, if_match: IfMatch, twice: bool },
    PatchState { asks: Asks, if_match: IfMatch, twice: bool },
    PatchApp { asks: Asks, if_match: IfMatch, twice: bool },
    PatchUser { asks: Asks, if_match: IfMatch, twice: bool },
    Rename { name: Option<&'static str> },
    Fork { back: Option<i64>, to: u8, twice: bool },
    Rewind { to: Rewind, if_match: IfMatch, twice: bool },
    Delete,
}

/// A key and the text of a value.
pub type Entry = (&'static str, &'static str);

/// An event to be sent.
#[derive(Debug, Clone)]
pub enum Draft {
    Fresh {
        invocation: &'static str,
        asks: Asks,
        rewinds_before: Option<&'static str>,
    },
    /// One of the session's events, or of this request's earlier ones, once more.
    Again(usize),
    /// The id of one of the session's events, with other content.
    Clash(usize),
}

/// What is asked of the state.
#[derive(Debug, Clone)]
pub struct Asks {
    pub delta: Vec<Entry>,
    pub ops: Vec<(Operator, &'static str, &'static str)>,
    pub preconditions: Vec<(&'static str, Condition)>,
}

#[derive(Debug, Clone)]
pub enum Condition {
    /// Unchanged since the revision of the key's last change, or one so far from it.
    SinceChange(i64),
    /// Unchanged since the current revision, or one so far from it.
    SinceNow(i64),
    /// As it is, or the contrary.
    Exists {
        rightly: bool,
    },
    /// The value that is there.
    EqualsCurrent,
    Equals(&'static str),
}

/// The header, by how far the revisions lie behind the current ones.
#[derive(Debug, Clone)]
pub enum IfMatch {
    None,
    Short(i64),
    Whole([i64; 3]),
}

#[derive(Debug, Clone)]
pub enum Rewind {
    /// So many revisions back; none or less is not possible.
    Back(i64),
    Before(&'static str),
}

/// The keys of all scopes, with the type of value that mostly is there.
#[derive(Debug, Clone, Copy)]
struct Type {
    keys: [&'static str; 3],
    values: &'static [&'static str],
    operators: &'static [Operator],
}

const NUMBERS: &[&str] =
    &["0", "1", "-1", "7", "-0.0", "1.0", "2.50", "-2.5", "0.001", "1e2", "1.5e-3", "1180591620717411303424"];
const LISTS: &[&str] = &[
    "[]",
    "[1]",
    "[1.0,1]",
    r#"["a","b"]"#,
    r#"["b",null]"#,
    r#"[{"x":1,"y":[2]}]"#,
    r#"[{"y":[2.0],"x":1},{"x":1}]"#,
    "[[1],[]]",
];
const OBJECTS: &[&str] = &[
    "{}",
    r#"{"a":1}"#,
    r#"{"b":{"c":1,"d":"x"},"a":1.0}"#,
    r#"{"a":null}"#,
    r#"{"b":{"c":null,"e":[null]}}"#,
    r#"{"b":5}"#,
    r#"{"z":{"y":{"x":null}},"a":{"b":2}}"#,
];
const OTHERS: &[&str] = &["null", "true", r#""text""#, r#""\u0000é""#, "3", "[3]", r#"{"a":3}"#];

const TYPES: &[Type] = &[
    Type {
        keys: ["n", "user:n", "app:n"],
        values: NUMBERS,
        operators: &[Operator::Increment, Operator::Increment, Operator::Max, Operator::Min],
    },
    Type {
        keys: ["list", "user:list", "app:list"],
        values: LISTS,
        operators: &[Operator::Append, Operator::Union, Operator::Union],
    },
    Type { keys: ["object", "user:object", "app:object"], values: OBJECTS, operators: &[Operator::Merge] },
    Type { keys: ["a/é", "user:", "app:x y"], values: OTHERS, operators: &[Operator::Set] },
];

const INVOCATIONS: &[&str] = &["", "i1", "i2", "i3", "i4"];

/// Of each user, at most.
const SESSIONS: u8 = 8;

/// Most steps meet in few sessions of one user.
fn place() -> impl Strategy<Value = Place> {
    let (app, user) = (prop_oneof![9 => Just(0), 1 => Just(1)], prop_oneof![6 => Just(0), 1 => Just(1)]);
    let session = prop_oneof![1 => Just(0), 1 => 0..SESSIONS];
    (app, user, session).prop_map(|(app, user, session)| Place { app, user, session })
}

fn a_type() -> impl Strategy<Value = Type> {
    select(TYPES)
}

fn a_key(of: Type) -> impl Strategy<Value = &'static str> {
    select(of.keys.to_vec())
}

fn any_key() -> impl Strategy<Value = &'static str> {
    a_type().prop_flat_map(a_key)
}

/// A value for a key, seldom of another type.
fn entry() -> impl Strategy<Value = Entry> {
    let typed = a_type().prop_flat_map(|of| (a_key(of), select(of.values)));
    let untyped = (any_key(), a_type().prop_flat_map(|of| select(of.values)));
    prop_oneof![9 => typed, 1 => untyped]
}

/// Entries with keys of their own.
fn entries(most: usize) -> impl Strategy<Value = Vec<Entry>> {
    let temp = Just(("temp:t", "1"));
    vec(prop_oneof![12 => entry(), 1 => temp], 0..=most).prop_map(|mut entries| {
        entries.sort_by_key(|(key, _)| *key);
        entries.dedup_by_key(|(key, _)| *key);
        entries
    })
}

fn op() -> impl Strategy<Value = (Operator, &'static str, &'static str)> {
    let typed = a_type().prop_flat_map(|of| (select(of.operators), a_key(of), select(of.values)));
    let on_any_key = a_type().prop_flat_map(|of| (select(of.operators), any_key(), select(of.values)));
    let set = entry().prop_map(|(key, value)| (Operator::Set, key, value));
    let remove = any_key().prop_map(|key| (Operator::Remove, key, "null"));
    prop_oneof![12 => typed, 1 => on_any_key, 2 => set, 3 => remove]
}

fn condition() -> impl Strategy<Value = (&'static str, Condition)> {
    let condition = prop_oneof![
        4 => (-1..=1_i64).prop_map(Condition::SinceChange),
        3 => (-2..=1_i64).prop_map(Condition::SinceNow),
        3 => prop::bool::weighted(0.8).prop_map(|rightly| Condition::Exists { rightly }),
        3 => Just(Condition::EqualsCurrent),
        1 => a_type().prop_flat_map(|of| select(of.values)).prop_map(Condition::Equals),
    ];
    (any_key(), condition)
}

fn asks() -> impl Strategy<Value = Asks> {
    let preconditions = prop_oneof![4 => Just(Vec::new()), 1 => vec(condition(), 1..=2)];
    (entries(3), vec(op(), 0..=3), preconditions).prop_map(|(delta, ops, preconditions)| Asks {
        delta,
        ops,
        preconditions,
    })
}

fn draft() -> impl Strategy<Value = Draft> {
    let rewinds_before = option::weighted(0.06, select(&["i1", "i2", "unknown"][..]));
    let fresh = (select(INVOCATIONS), asks(), rewinds_before)
        .prop_map(|(invocation, asks, rewinds_before)| Draft::Fresh { invocation, asks, rewinds_before });
    prop_oneof![20 => fresh, 3 => (0..50_usize).prop_map(Draft::Again), 1 => (0..50_usize).prop_map(Draft::Clash)]
}

fn if_match() -> impl Strategy<Value = IfMatch> {
    let behind = || prop_oneof![9 => Just(0), 1 => -1..=1_i64];
    prop_oneof![
        8 => Just(IfMatch::None),
        1 => behind().prop_map(IfMatch::Short),
        2 => [behind(), behind(), behind()].prop_map(IfMatch::Whole),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let twice = || prop::bool::weighted(0.2);
    let events = prop_oneof![2 => vec(draft(), 1), 1 => vec(draft(), 2..=4)];
    let rewind = prop_oneof![
        8 => (1..8_i64).prop_map(Rewind::Back),
        1 => (-1..=0_i64).prop_map(Rewind::Back),
        4 => select(&["i1", "i2", "i3", "unknown"][..]).prop_map(Rewind::Before),
    ];
    prop_oneof![
        3 => (any::<bool>(), entries(4), vec(draft(), 0..=3), twice())
            .prop_map(|(unless_there, state, events, twice)| Action::Create { unless_there, state, events, twice }),
        24 => (events, if_match(), prop::bool::weighted(0.2))
            .prop_map(|(events, if_match, creates)| Action::Append { events, if_match, creates }),
        3 => (entry(), if_match(), twice())
            .prop_map(|((key, value), if_match, twice)| Action::PutKey { key, value, if_match, twice }),
        3 => (any_key(), if_match(), twice())
            .prop_map(|(key, if_match, twice)| Action::DeleteKey { key, if_match, twice }),
        5 => (asks(), if_match(), twice())
            .prop_map(|(asks, if_match, twice)| Action::PatchState { asks, if_match, twice }),
        3 => (asks(), if_match(), twice())
            .prop_map(|(asks, if_match, twice)| Action::PatchApp { asks, if_match, twice }),
        3 => (asks(), if_match(), twice())
            .prop_map(|(asks, if_match, twice)| Action::PatchUser { asks, if_match, twice }),
        1 => option::of(select(&["one", "two"][..])).prop_map(|name| Action::Rename { name }),
        4 => (option::weighted(0.9, -1..8_i64), 0..SESSIONS, twice())
            .prop_map(|(back, to, twice)| Action::Fork { back, to, twice }),
        4 => (rewind, if_match(), twice())
            .prop_map(|(to, if_match, twice)| Action::Rewind { to, if_match, twice }),
        1 => Just(Action::Delete),
    ]
}

/// Sequences of steps that begin with nothing there.
pub fn sequences() -> impl Strategy<Value = Vec<Step>> {
    vec((place(), action()).prop_map(|(at, action)| Step { at, action }), 1..=60)
}
