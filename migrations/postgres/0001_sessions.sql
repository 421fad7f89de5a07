-- Sessions, their events, and state in three scopes.
--
-- `fillfactor` leaves room in the pages of rows that are rewritten again and again.
--
-- Names are compared bytewise (collate "C"). Times are microseconds since 1970. JSON is text: a json column would
-- rewrite or refuse what clients may send. Rows of a session are keyed by its incarnation, a random
-- number: what a deleted session left behind never belongs to the next one of the same id, and can be removed in its own
-- time; and short keys make the difference where every append adds rows to three indexes. The names are compared beside
-- it, so that two sessions that drew the same number would get in each other's way and never read each other's data.

create table sessions (
    app_name              text collate "C" not null,
    user_id               text collate "C" not null,
    id                    text collate "C" not null,
    incarnation           bigint not null,
    revision              bigint not null,
    metadata_revision     bigint not null default 0,
    create_time           bigint not null,
    update_time           bigint not null,
    -- The JSON number that shows update_time: the very text that a client gave.
    update_time_number    text not null,
    -- A JSON string, a JSON object of strings.
    display_name          text,
    labels                text,
    expire_time           bigint,
    -- The session keys at revision 0, and the shared scopes that the creation saw.
    initial_state         text not null,
    created_user_revision bigint not null,
    created_app_revision  bigint not null,
    -- The session of the same user, and its revision, of which this one is a fork.
    forked_from           text collate "C",
    forked_revision       bigint,
    -- The Idempotency-Key of the request that made it, and a digest of what that asked.
    creation_key          text collate "C",
    creation_digest       bytea,
    -- Begins otherwise than the other indexes: a planner without statistics takes two that begin alike for equally good, and
    -- looks for a session through all those of its user.
    constraint sessions_pkey primary key (id, user_id, app_name)
) with (fillfactor = 70);
create index sessions_by_user_create on sessions (app_name, user_id, create_time, id);
create index sessions_by_app_create on sessions (app_name, create_time, user_id, id);
create unique index sessions_creation_key on sessions (creation_key, user_id, app_name) where creation_key is not null;
create index sessions_by_expiry on sessions (expire_time) where expire_time is not null;

-- Where sessions stand in lists by their last update, apart from them: an append changes nothing of a session that an
-- index of it has, so its row is rewritten in its page, and no index grows.
create table session_updates (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    id          text collate "C" not null,
    update_time bigint not null,
    constraint session_updates_pkey primary key (app_name, user_id, update_time, id)
);
create index session_updates_by_app on session_updates (app_name, update_time, user_id, id);

create table events (
    app_name      text collate "C" not null,
    user_id       text collate "C" not null,
    session_id    text collate "C" not null,
    incarnation   bigint not null,
    sequence      bigint not null,
    id            text collate "C" not null,
    event_time    bigint not null,
    commit_time   bigint not null,
    -- For filters, in the store's escaped form (PostgreSQL's text has no U+0000).
    author        text collate "C" not null,
    invocation_id text collate "C" not null,
    branch        text collate "C",
    -- The shared scopes that the event saw.
    user_revision bigint not null,
    app_revision  bigint not null,
    -- Of an event that rewinds: the last event before those that it takes back.
    rewind_to     bigint,
    digest        bytea not null,
    body          text not null,
    constraint events_pkey primary key (incarnation, sequence),
    -- Has no column in front that the primary key has in front: a planner that took both for equally good would look
    -- through all events of the session.
    constraint events_id_key unique (id, incarnation)
);
create index events_rewinds on events (incarnation, sequence) where rewind_to is not null;

-- `revision` of a state row is the revision, of its session or scope, that wrote it last.
create table session_state (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    key         text collate "C" not null,
    value       text not null,
    revision    bigint not null,
    constraint session_state_pkey primary key (incarnation, key, session_id, user_id, app_name)
) with (fillfactor = 80);

create table user_scopes (
    app_name text collate "C" not null,
    user_id  text collate "C" not null,
    revision bigint not null,
    constraint user_scopes_pkey primary key (app_name, user_id)
) with (fillfactor = 50);
create table user_state (
    app_name text collate "C" not null,
    user_id  text collate "C" not null,
    key      text collate "C" not null,
    value    text not null,
    revision bigint not null,
    constraint user_state_pkey primary key (app_name, user_id, key)
) with (fillfactor = 70);

create table app_scopes (
    app_name text collate "C" not null,
    revision bigint not null,
    constraint app_scopes_pkey primary key (app_name)
) with (fillfactor = 20);
create table app_state (
    app_name text collate "C" not null,
    key      text collate "C" not null,
    value    text not null,
    revision bigint not null,
    constraint app_state_pkey primary key (app_name, key)
) with (fillfactor = 50);

-- What shared state was, so that it can be read as of an event. A log holds every change, also of sessions that are
-- gone (a value of null: the key was removed). Spans find what held at a revision without walking the log: a value that
-- was overwritten or removed held from `valid_from` up to, not including, `valid_to`; `node` files it in an interval
-- tree (domain/history.rs), where one look per level finds all that held at a revision. What still holds is in the
-- state tables. The log of a session is its events; their bodies hold many keys, so its spans have the value.
create table session_spans (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    node        bigint not null,
    key         text collate "C" not null,
    valid_from  bigint not null,
    valid_to    bigint not null,
    value       text not null,
    constraint session_spans_pkey primary key (incarnation, node, key)
);

create table user_log (
    app_name text collate "C" not null,
    user_id  text collate "C" not null,
    key      text collate "C" not null,
    revision bigint not null,
    value    text,
    constraint user_log_pkey primary key (app_name, user_id, key, revision)
);
create table user_spans (
    app_name   text collate "C" not null,
    user_id    text collate "C" not null,
    node       bigint not null,
    key        text collate "C" not null,
    valid_from bigint not null,
    valid_to   bigint not null,
    constraint user_spans_pkey primary key (app_name, user_id, node, key)
);

create table app_log (
    app_name text collate "C" not null,
    key      text collate "C" not null,
    revision bigint not null,
    value    text,
    constraint app_log_pkey primary key (app_name, key, revision)
);
create table app_spans (
    app_name   text collate "C" not null,
    node       bigint not null,
    key        text collate "C" not null,
    valid_from bigint not null,
    valid_to   bigint not null,
    constraint app_spans_pkey primary key (app_name, node, key)
);

-- Requests that changed shared state on its own under an Idempotency-Key, so that a retry changes nothing twice: a digest of
-- what each asked, and when it came. The sweep forgets them after a day.
create table user_patches (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    request_key text collate "C" not null,
    digest      bytea not null,
    time        bigint not null,
    constraint user_patches_pkey primary key (app_name, user_id, request_key)
);
create index user_patches_by_time on user_patches (time);
create table app_patches (
    app_name    text collate "C" not null,
    request_key text collate "C" not null,
    digest      bytea not null,
    time        bigint not null,
    constraint app_patches_pkey primary key (app_name, request_key)
);
create index app_patches_by_time on app_patches (time);

-- Sessions that are gone for every reader, and whose rows are still to be removed.
create table buried_sessions (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    constraint buried_sessions_pkey primary key (app_name, user_id, session_id, incarnation)
);
