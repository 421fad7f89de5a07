begin;
CREATE TABLE sessiond_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
CREATE TABLE sessions (
    app_name              text not null,
    user_id               text not null,
    id                    text not null,
    incarnation           integer not null,
    revision              integer not null,
    metadata_revision     integer not null default 0,
    create_time           integer not null,
    -- When its last event was committed, or it was created; 0: not known. No event is committed earlier than the one
    -- before it.
    commit_time           integer not null default 0,
    update_time           integer not null,
    -- The JSON number that shows update_time: the very text that a client gave.
    update_time_number    text not null,
    -- The day of the last commit, in whole days since 1970. No index has it: appends write it.
    active_day            integer not null,
    -- A JSON string, a JSON object of strings.
    display_name          text,
    labels                text,
    expire_time           integer,
    -- Where the log begins: events up to here were trimmed, and have left stubs at most.
    base_revision         integer not null default 0,
    -- The session keys at that revision, and the shared scopes that it saw.
    initial_state         text not null,
    created_user_revision integer not null,
    created_app_revision  integer not null,
    -- The session of the same user, and its revision, of which this one is a fork.
    forked_from           text,
    forked_revision       integer,
    -- The Idempotency-Key of the request that made it, and a digest of what that asked.
    creation_key          text,
    creation_digest       blob,
    -- Of an imported session: the incarnation that it had where it comes from, a digest of its lines, and its revision. From one
    -- sequence to another (the base counts), what user and app state were did not come along.
    imported_mark         text,
    imported_digest       blob,
    imported_revision     integer,
    lost_user_from        integer,
    lost_user_through     integer,
    lost_app_from         integer,
    lost_app_through      integer,
    lost_files_from       integer,
    lost_files_through    integer,
    -- The lease: how often one was granted, and who holds it; all but the epoch is null if nobody does. `lease_ttl` is by how
    -- much an append under it extends it; `lease_all`: it excludes writes without a lease.
    lease_epoch           integer not null default 0,
    lease_owner           text,
    lease_invocation      text,
    lease_expire          integer,
    lease_ttl             integer,
    lease_all             boolean not null default false,
    -- Whether its place in lists by last update is rough (session_updates).
    rough                 boolean not null default false,
    -- Begins otherwise than the other indexes: a planner without statistics takes two that begin alike for equally good, and
    -- looks for a session through all those of its user.
    constraint sessions_pkey primary key (id, user_id, app_name)
);
CREATE TABLE session_updates (
    app_name text not null,
    user_id  text not null,
    id       text not null,
    rough    boolean not null default false,
    place    integer not null,
    constraint session_updates_pkey primary key (app_name, user_id, rough, place, id)
) without rowid;
CREATE TABLE events (
    app_name      text not null,
    user_id       text not null,
    session_id    text not null,
    incarnation   integer not null,
    sequence      integer not null,
    id            text not null,
    event_time    integer not null,
    commit_time   integer not null,
    -- For filters, in the store's escaped form (one form for both databases).
    author        text not null,
    invocation_id text not null,
    branch        text,
    -- The shared scopes that the event saw.
    user_revision integer not null,
    app_revision  integer not null,
    -- What it does to the history of its session. One that rewinds: the last event before those that it takes back. A compaction: -1.
    effect        integer,
    digest        blob not null,
    body          text not null,
    -- Of a redacted event: the metadata revision of its session that the last redaction made, unless it was copied since. -N: an event
    -- that removes values of the redacted event N, of which there is no span.
    redaction     integer,
    -- The key ends with user and app as PostgreSQL's does.
    constraint events_pkey primary key (incarnation, sequence, user_id, app_name),
    -- Has no column in front that the primary key has in front: a planner that took both for equally good would look
    -- through all events of the session.
    constraint events_id_key unique (id, incarnation, user_id, app_name)
);
CREATE TABLE session_state (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    key         text not null,
    value       text not null,
    revision    integer not null,
    constraint session_state_pkey primary key (incarnation, key, session_id, user_id, app_name)
);
CREATE TABLE user_scopes (
    app_name text not null,
    user_id  text not null,
    revision integer not null,
    floor    integer not null default 0,
    emptied  integer not null default 0,
    began    integer not null default 0,
    imported integer not null default 0,
    redacted integer not null default 0,
    constraint user_scopes_pkey primary key (app_name, user_id)
) without rowid;
CREATE TABLE user_state (
    app_name text not null,
    user_id  text not null,
    key      text not null,
    value    text not null,
    revision integer not null,
    constraint user_state_pkey primary key (app_name, user_id, key)
);
CREATE TABLE erased_revisions (
    app_name text not null,
    revision integer not null,
    constraint erased_revisions_pkey primary key (app_name)
) without rowid;
CREATE TABLE app_scopes (
    app_name text not null,
    revision integer not null,
    floor    integer not null default 0,
    emptied  integer not null default 0,
    imported integer not null default 0,
    redacted integer not null default 0,
    constraint app_scopes_pkey primary key (app_name)
) without rowid;
CREATE TABLE app_state (
    app_name text not null,
    key      text not null,
    value    text not null,
    revision integer not null,
    constraint app_state_pkey primary key (app_name, key)
);
CREATE TABLE session_spans (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    node        integer not null,
    key         text not null,
    valid_from  integer not null,
    valid_to    integer not null,
    -- A removal ended it, or a redaction; not another value.
    removed     integer not null,
    value       text not null,
    constraint session_spans_pkey primary key (incarnation, node, key, user_id, app_name)
) without rowid;
CREATE TABLE user_log (
    app_name text not null,
    user_id  text not null,
    key      text not null,
    revision integer not null,
    value    text,
    time     integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    -- The event that made the change, if one did. While its session has it, `incarnation` finds it; what an export or a
    -- session that is gone says of it is in the columns after `sequence`, in the forms that `events` has.
    incarnation   integer,
    sequence      integer,
    by_user       text,
    by_session    text,
    by_event      text,
    by_author     text,
    by_invocation text,
    constraint user_log_pkey primary key (app_name, user_id, key, revision)
) without rowid;
CREATE TABLE user_spans (
    app_name   text not null,
    user_id    text not null,
    node       integer not null,
    key        text not null,
    valid_from integer not null,
    valid_to   integer not null,
    constraint user_spans_pkey primary key (app_name, user_id, node, key)
) without rowid;
CREATE TABLE app_log (
    app_name text not null,
    key      text not null,
    revision integer not null,
    value    text,
    time     integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    -- The event that made the change, if one did. While its session has it, `incarnation` finds it; what an export or a
    -- session that is gone says of it is in the columns after `sequence`, in the forms that `events` has.
    incarnation   integer,
    sequence      integer,
    by_user       text,
    by_session    text,
    by_event      text,
    by_author     text,
    by_invocation text,
    constraint app_log_pkey primary key (app_name, key, revision)
) without rowid;
CREATE TABLE app_spans (
    app_name   text not null,
    node       integer not null,
    key        text not null,
    valid_from integer not null,
    valid_to   integer not null,
    constraint app_spans_pkey primary key (app_name, node, key)
) without rowid;
CREATE TABLE effective_views (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    sequence    integer not null,
    view        text not null,
    constraint effective_views_pkey primary key (incarnation, sequence, user_id, app_name)
) without rowid;
CREATE TABLE effective_ids (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    sequence    integer not null,
    id          integer not null,
    roles       integer not null,
    constraint effective_ids_pkey primary key (incarnation, sequence, id, user_id, app_name)
) without rowid;
CREATE TABLE event_words (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    sequence    integer not null,
    commit_time integer not null,
    author      text not null,
    words       text not null,
    constraint event_words_pkey primary key (incarnation, sequence, user_id, app_name)
);
CREATE TABLE event_words_by_word (
    word        integer not null,
    incarnation integer not null,
    sequence    integer not null,
    constraint event_words_by_word_pkey primary key (word, incarnation, sequence)
) without rowid;
CREATE TABLE user_patches (
    app_name    text not null,
    user_id     text not null,
    request_key text not null,
    digest      blob not null,
    time        integer not null,
    constraint user_patches_pkey primary key (app_name, user_id, request_key)
) without rowid;
CREATE TABLE app_patches (
    app_name    text not null,
    request_key text not null,
    digest      blob not null,
    time        integer not null,
    constraint app_patches_pkey primary key (app_name, request_key)
) without rowid;
CREATE TABLE buried_sessions (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    -- The erasure that it is a part of.
    erasure     text,
    constraint buried_sessions_pkey primary key (app_name, user_id, session_id, incarnation)
);
CREATE TABLE removed_forks (
    app_name    text not null,
    user_id     text not null,
    id          text not null,
    forked_from text not null,
    constraint removed_forks_pkey primary key (id, forked_from, user_id, app_name)
) without rowid;
CREATE TABLE trims (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    emptied     integer not null,
    constraint trims_pkey primary key (app_name, user_id, session_id, incarnation)
);
CREATE TABLE scrubs (
    app_name text not null,
    count    integer not null,
    constraint scrubs_pkey primary key (app_name)
) without rowid;
CREATE TABLE imports (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    time        integer not null,
    constraint imports_pkey primary key (app_name, user_id, session_id, incarnation)
);
CREATE TABLE artifact_places (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    versions    integer not null,
    constraint artifact_places_pkey primary key (app_name, user_id, session_id)
) without rowid;
CREATE TABLE artifact_names (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    name        text not null,
    next        integer not null,
    latest      integer,
    versions    integer not null,
    named       integer,
    constraint artifact_names_pkey primary key (app_name, user_id, session_id, incarnation, name)
) without rowid;
CREATE TABLE artifacts (
    app_name       text not null,
    user_id        text not null,
    session_id     text not null,
    incarnation    integer not null,
    name           text not null,
    version        integer not null,
    mark           integer not null,
    kind           text not null,
    mime_type      text,
    -- Null of a version that is an address alone.
    size           integer,
    sha256         blob,
    blob           text,
    create_time    integer not null,
    -- A JSON object, JSON strings.
    metadata       text,
    display_name   text,
    file_uri       text,
    -- The revision of the session to which the save appended its event.
    revision       integer,
    -- The Idempotency-Key of the save, and a digest of what it saved.
    request_key    text,
    request_digest blob,
    constraint artifacts_pkey primary key (app_name, user_id, session_id, incarnation, name, version)
);
CREATE TABLE artifact_state (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    name        text not null,
    version     integer not null,
    revision    integer not null,
    constraint artifact_state_pkey primary key (incarnation, name, session_id, user_id, app_name)
) without rowid;
CREATE TABLE artifact_spans (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    node        integer not null,
    name        text not null,
    valid_from  integer not null,
    valid_to    integer not null,
    version     integer not null,
    constraint artifact_spans_pkey primary key (incarnation, node, name, user_id, app_name)
) without rowid;
CREATE TABLE blobs (
    app_name    text not null,
    user_id     text not null,
    id          text not null,
    size        integer not null,
    versions    integer not null,
    loose_since integer,
    -- Where they are: null for the chunks below, else the name of a store, and of the object there.
    store       text,
    object      text,
    -- The unfinished upload that the store keeps while they come in.
    upload      text,
    -- The erasure that they are a part of.
    erasure     text,
    constraint blobs_pkey primary key (app_name, user_id, id)
) without rowid;
CREATE TABLE blob_chunks (
    app_name text not null,
    user_id  text not null,
    blob     text not null,
    n        integer not null,
    bytes    blob not null,
    constraint blob_chunks_pkey primary key (app_name, user_id, blob, n)
);
CREATE TABLE api_keys (
    id             text not null,
    name           text not null,
    digest         blob,
    role           text not null,
    apps           text not null,
    users          text not null,
    create_time    integer not null,
    expire_time    integer,
    last_used_time integer,
    revoke_time    integer,
    constraint api_keys_pkey primary key (id)
) without rowid;
CREATE TABLE token_secrets (
    name   text not null,
    secret blob not null,
    constraint token_secrets_pkey primary key (name)
) without rowid;
CREATE TABLE token_epochs (
    app_name text not null,
    subject  blob not null,
    epoch    integer not null,
    -- The number of the user's last erasure in the app.
    erasure  integer not null default 0,
    constraint token_epochs_pkey primary key (subject, app_name)
) without rowid;
CREATE TABLE erasure_secrets (
    name   text not null,
    secret blob not null,
    constraint erasure_secrets_pkey primary key (name)
) without rowid;
CREATE TABLE erasures (
    id           text not null,
    app_name     text not null,
    subject      blob not null,
    request      blob,
    reference    text,
    block        boolean,
    blocked      boolean not null,
    request_time integer not null,
    done_time    integer,
    sessions     integer not null,
    events       integer not null,
    state_keys   integer not null,
    changes      integer not null,
    artifacts    integer not null,
    receipt      text,
    constraint erasures_pkey primary key (id, app_name)
) without rowid;
CREATE TABLE erasure_counts (
    app_name text not null,
    count    integer not null,
    constraint erasure_counts_pkey primary key (app_name)
) without rowid;
CREATE TABLE blocked_users (
    app_name text not null,
    subject  blob not null,
    constraint blocked_users_pkey primary key (subject, app_name)
) without rowid;
CREATE TABLE policies (
    app_name text not null,
    revision integer not null,
    policy   text,
    -- What the policy bounds of what is stored, for those who write: null for no bound.
    sessions_per_user  integer,
    events_per_session integer,
    artifact_bytes_per_user integer,
    -- What is said is indexed: 1; it was, and the index is there still: 2.
    search integer not null default 0,
    constraint policies_pkey primary key (app_name)
) without rowid;
CREATE TABLE changes (
    id             integer primary key autoincrement,
    kind           integer not null,
    app_name       text not null,
    user_id        text,
    session_id     text,
    incarnation    integer,
    first_revision integer not null,
    last_revision  integer not null,
    detail         text,
    time           integer not null default (cast(unixepoch('subsec') * 1000000 as integer))
);
CREATE INDEX sessions_by_user_create on sessions (app_name, user_id, create_time, id);
CREATE INDEX sessions_by_app_create on sessions (app_name, create_time, user_id, id);
CREATE UNIQUE INDEX sessions_creation_key on sessions (creation_key, user_id, app_name) where creation_key is not null;
CREATE INDEX sessions_by_expiry on sessions (expire_time) where expire_time is not null;
CREATE INDEX sessions_by_source on sessions (app_name, user_id, forked_from) where forked_from is not null;
CREATE INDEX session_updates_by_app on session_updates (app_name, rough, place, user_id, id);
CREATE INDEX events_rewinds on events (incarnation, sequence, user_id, app_name) where effect >= 0;
CREATE INDEX events_compactions on events (incarnation, sequence, user_id, app_name) where effect = -1;
CREATE INDEX events_redactions on events (incarnation, redaction) where redaction is not null;
CREATE INDEX session_spans_by_key on session_spans (key, incarnation, valid_to) where node & 31 = 0 or removed;
CREATE INDEX user_log_by_revision on user_log (app_name, user_id, revision, key);
CREATE INDEX app_log_by_revision on app_log (app_name, revision, key);
CREATE INDEX app_log_by_user on app_log (app_name, by_user) where by_user is not null;
CREATE INDEX effective_ids_by_id on effective_ids (id, incarnation, user_id, app_name);
CREATE INDEX user_patches_by_time on user_patches (time);
CREATE INDEX app_patches_by_time on app_patches (time);
CREATE INDEX buried_by_erasure on buried_sessions (erasure) where erasure is not null;
CREATE INDEX removed_forks_by_source on removed_forks (app_name, user_id, forked_from);
CREATE INDEX artifact_places_of_users on artifact_places (app_name, user_id) where session_id = '';
CREATE UNIQUE INDEX artifacts_request_key on artifacts (app_name, user_id, session_id, incarnation, name, request_key)
    where request_key is not null;
CREATE INDEX blobs_loose on blobs (loose_since) where loose_since is not null;
CREATE INDEX blobs_by_object on blobs (object) where object is not null;
CREATE INDEX blobs_by_erasure on blobs (erasure) where erasure is not null;
CREATE UNIQUE INDEX erasures_request on erasures (request, app_name) where request is not null;
CREATE INDEX erasures_running on erasures (subject, app_name, request_time, id) where done_time is null;
CREATE INDEX changes_begin on changes (id) where app_name = '';
CREATE TRIGGER event_words_added after insert on event_words begin
    insert into event_words_by_word (word, incarnation, sequence)
    select value, new.incarnation, new.sequence from json_each(new.words);
end;
CREATE TRIGGER event_words_removed after delete on event_words begin
    delete from event_words_by_word where incarnation = old.incarnation and sequence = old.sequence
      and word in (select value from json_each(old.words));
end;
insert into api_keys values ('7gfa3p452f7x', 'is revoked', NULL, 'agent', '["läger*","shop"]', '["*"]', 1796100199477226, NULL, NULL, 1796100199479247);
insert into api_keys values ('akk347vmkva5', 'admin', X'61E353984AD4A24741B4CE5FA42D2CA9ECE40E66C7D8D8B21FCC4046442B8316', 'admin', '["*"]', '["*"]', 1796100199447406, NULL, 1796100199475179, NULL);
insert into api_keys values ('jjsqrnutfre7', 'reads less', X'C71628287010569DC6217B0CA6863944623F7EF0A3DCA55ADD95D0A3F7B881E2', 'reader', '["shop"]', '["ada"]', 1796100199475416, NULL, NULL, NULL);
insert into api_keys values ('vvjfpuxjhhss', 'ends', X'4BAA2D3810217FC2A07050D5C6A37E6E4DA3A10D379507E6EEBA8FBBD7A5AAA8', 'operator', '["*"]', '["*"]', 1796100199478632, 4102444800000000, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k0ä', 1, '0', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k10ä', 1, '1180591620717411303424', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k11ä', 1, '-170141183460469231731687303715884105729', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k12ä', 1, '1.7976931348623157e308', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k13ä', 1, '9007199254740993', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k14ä', 1, '"\u0000"', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k18ä', 1, '" ﻿�􏿿"', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k19ä', 1, '""', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k1ä', 1, '-0', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k22ä', 1, '[ ]', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k27ä', 1, 'true', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k28ä', 1, 'null', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k2ä', 1, '1', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k3ä', 1, '1.0', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k4ä', 1, '1E2', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k5ä', 1, '1e+2', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k6ä', 1, '-0.0', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k7ä', 1, '0e0', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k8ä', 1, '1e-400', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k9ä', 1, '0.1000000000000000055511151231257827', 1796100199715000, 559194794298146780, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'by', 5, '"deleted"', 1796100199648000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'count', 4, '2', 1796100199500000, 5053195046130704321, 2, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'currency', 3, '"EUR"', 1796100199496000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 1, '[1.0]', 1796100199489000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 2, NULL, 1796100199490000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 6, '"x"', 1796100199718000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 7, '"x"', 1796100199787000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'returnDays', 1, '30', 1796100199489000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_scopes values ('läger/1 ü', 1, 0, 0, 0, 0);
insert into app_scopes values ('shop', 7, 0, 0, 0, 0);
insert into app_spans values ('shop', 2, 'gone', 1, 2);
insert into app_spans values ('shop', 7, 'last', 6, 7);
insert into app_state values ('shop', 'returnDays', '30', 1);
insert into app_state values ('shop', 'currency', '"EUR"', 3);
insert into app_state values ('shop', 'count', '2', 4);
insert into app_state values ('shop', 'by', '"deleted"', 5);
insert into app_state values ('läger/1 ü', 'k0ä', '0', 1);
insert into app_state values ('läger/1 ü', 'k10ä', '1180591620717411303424', 1);
insert into app_state values ('läger/1 ü', 'k11ä', '-170141183460469231731687303715884105729', 1);
insert into app_state values ('läger/1 ü', 'k12ä', '1.7976931348623157e308', 1);
insert into app_state values ('läger/1 ü', 'k13ä', '9007199254740993', 1);
insert into app_state values ('läger/1 ü', 'k14ä', '"\u0000"', 1);
insert into app_state values ('läger/1 ü', 'k15ä', '"a\u0000b\u001f\u007f"', 1);
insert into app_state values ('läger/1 ü', 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1);
insert into app_state values ('läger/1 ü', 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1);
insert into app_state values ('läger/1 ü', 'k18ä', '" ﻿�􏿿"', 1);
insert into app_state values ('läger/1 ü', 'k19ä', '""', 1);
insert into app_state values ('läger/1 ü', 'k1ä', '-0', 1);
insert into app_state values ('läger/1 ü', 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1);
insert into app_state values ('läger/1 ü', 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1);
insert into app_state values ('läger/1 ü', 'k22ä', '[ ]', 1);
insert into app_state values ('läger/1 ü', 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1);
insert into app_state values ('läger/1 ü', 'k24ä', '{"$serde_json::private::Number": "1"}', 1);
insert into app_state values ('läger/1 ü', 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1);
insert into app_state values ('läger/1 ü', 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1);
insert into app_state values ('läger/1 ü', 'k27ä', 'true', 1);
insert into app_state values ('läger/1 ü', 'k28ä', 'null', 1);
insert into app_state values ('läger/1 ü', 'k2ä', '1', 1);
insert into app_state values ('läger/1 ü', 'k3ä', '1.0', 1);
insert into app_state values ('läger/1 ü', 'k4ä', '1E2', 1);
insert into app_state values ('läger/1 ü', 'k5ä', '1e+2', 1);
insert into app_state values ('läger/1 ü', 'k6ä', '-0.0', 1);
insert into app_state values ('läger/1 ü', 'k7ä', '0e0', 1);
insert into app_state values ('läger/1 ü', 'k8ä', '1e-400', 1);
insert into app_state values ('läger/1 ü', 'k9ä', '0.1000000000000000055511151231257827', 1);
insert into app_state values ('shop', 'last', '"x"', 7);
insert into artifact_names values ('shop', 'ada', '', 0, 'user:address', 1, 0, 1, NULL);
insert into artifact_names values ('shop', 'ada', 'files', 6909095069163761924, 'notes/summary', 2, 1, 2, NULL);
insert into artifact_names values ('shop', 'ada', 'files-2', 2003841718876480441, 'gone', 1, NULL, 0, NULL);
insert into artifact_names values ('shop', 'ada', 'files-2', 2003841718876480441, 'page.html', 4, 3, 4, 3);
insert into artifact_names values ('shop', 'bob', 'by-adk', 7427070682609985236, 'a', 1, 0, 1, NULL);
insert into artifact_places values ('shop', 'ada', '', 0, 1);
insert into artifact_places values ('shop', 'ada', 'files', 6909095069163761924, 2);
insert into artifact_places values ('shop', 'ada', 'files-2', 2003841718876480441, 4);
insert into artifact_places values ('shop', 'bob', 'by-adk', 7427070682609985236, 1);
insert into artifact_spans values ('shop', 'ada', 'files-2', 2003841718876480441, 2, 'page.html', 1, 2, 0);
insert into artifact_spans values ('shop', 'ada', 'files-2', 2003841718876480441, 3, 'page.html', 2, 3, 2);
insert into artifact_state values ('shop', 'ada', 'files-2', 2003841718876480441, 'gone', 0, 4);
insert into artifact_state values ('shop', 'ada', 'files-2', 2003841718876480441, 'page.html', 3, 3);
insert into artifact_state values ('shop', 'ada', 'files', 6909095069163761924, 'notes/summary', 0, 1);
insert into artifact_state values ('shop', 'ada', 'files', 6909095069163761924, 'user:address', 0, 2);
insert into artifacts values ('shop', 'ada', 'files', 6909095069163761924, 'notes/summary', 0, 2012091308652940430, 'text', 'text/plain', 14, X'3E6C1234228EB2390FA98A214DC9021924B308E03BDFF3C19BE6E22D608173DE', '01a22fea-146f-70dd-833b-2ac2ee889e78', 1796100199535532, '{"n":1.0}', NULL, NULL, 1, 'save-1', X'26419E28C76E7A79A0E9095791E4F0F2C2B8762A3394F5C51365C71CEBEB2984');
insert into artifacts values ('shop', 'ada', 'files', 6909095069163761924, 'notes/summary', 1, 1290449517839874095, 'bytes', 'a/b', 7, X'A9D7A888389F7C168A45F653D59E171FD5188CA7A88DE23A306070AB968E847D', '01a22fea-147a-747c-b931-d81a44e6abf0', 1796100199546958, NULL, '"n"', NULL, NULL, 'save-2', X'139E072544FC51136CE7148E64C95E8C2BC71D474CFBEB1A793EA2274D6939A7');
insert into artifacts values ('shop', 'ada', '', 0, 'user:address', 0, 6513682568011340631, 'uri', 'c/d', NULL, NULL, NULL, 1796100199550246, NULL, NULL, '"gs://a/b"', 2, 'save-3', X'5F891A92236FAB2F7566EF7A7A61B65A17ECCF13C674360002BBFD995648A46B');
insert into artifacts values ('shop', 'ada', 'files-2', 2003841718876480441, 'page.html', 0, 7949960300109943625, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a22fea-1490-7565-b642-e391bf941366', 1796100199568867, NULL, NULL, NULL, 1, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 2003841718876480441, 'page.html', 1, 5744611580510942972, 'bytes', 'text/html', 8, X'6E784353EA75228D9D65F28D704F77C2B294757AE6D8CA74AE74A459DE564CFA', '01a22fea-149b-7293-af87-903fba235156', 1796100199579781, NULL, NULL, NULL, NULL, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 2003841718876480441, 'page.html', 2, 1265646853618962510, 'bytes', 'text/html', 8, X'F543C768A1419D4865F627460E7D4F974AE95606E4981F9B6E829D09299E7DA8', '01a22fea-14a1-7095-9cc2-ce789cb6a9cd', 1796100199585025, NULL, '"ü"', NULL, 2, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 2003841718876480441, 'page.html', 3, 6723331966951187891, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a22fea-1490-7565-b642-e391bf941366', 1796100199586715, NULL, NULL, NULL, 3, NULL, NULL);
insert into artifacts values ('shop', 'bob', 'by-adk', 7427070682609985236, 'a', 0, 4473242915049816226, 'text', 'text/plain', 6, X'9A2F5DA45C096840A0CE25B489C89C3B91F4ECA1054E71D338BE0BCEFA7D3A2A', '01a22fea-14f2-7004-9098-20cbd21844b8', 1796100199666856, '{"m":"s"}', NULL, NULL, NULL, NULL, NULL);
insert into blob_chunks values ('shop', 'ada', '01a22fea-146f-70dd-833b-2ac2ee889e78', 0, X'6772C3BCC39F000A22476F747422');
insert into blob_chunks values ('shop', 'ada', '01a22fea-147a-747c-b931-d81a44e6abf0', 0, X'000102030405FF');
insert into blob_chunks values ('shop', 'ada', '01a22fea-1490-7565-b642-e391bf941366', 0, X'3C623E313C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a22fea-149b-7293-af87-903fba235156', 0, X'3C623E323C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a22fea-14a1-7095-9cc2-ce789cb6a9cd', 0, X'3C623E333C2F623E');
insert into blob_chunks values ('shop', 'bob', '01a22fea-14f2-7004-9098-20cbd21844b8', 0, X'62792041444B');
insert into blobs values ('shop', 'ada', '01a22fea-146f-70dd-833b-2ac2ee889e78', 14, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22fea-147a-747c-b931-d81a44e6abf0', 7, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22fea-1490-7565-b642-e391bf941366', 8, 2, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22fea-149b-7293-af87-903fba235156', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22fea-14a1-7095-9cc2-ce789cb6a9cd', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'bob', '01a22fea-14f2-7004-9098-20cbd21844b8', 6, 1, NULL, NULL, NULL, NULL, NULL);
insert into blocked_users values ('shop', X'E3F222DDF6F81AECD21E09EFDF781EFF66D68FEA248EEB59109852B205C4F1B6');
insert into changes values (1, 0, '', NULL, NULL, NULL, 0, 0, NULL, 1796100199425000);
insert into changes values (2, 7, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796100199490000);
insert into changes values (3, 7, 'shop', NULL, NULL, NULL, 2, 2, NULL, 1796100199491000);
insert into changes values (4, 6, 'shop', 'zoe', NULL, NULL, 1, 1, NULL, 1796100199492000);
insert into changes values (5, 6, 'shop', 'ada', NULL, NULL, 1, 1, NULL, 1796100199492000);
insert into changes values (6, 1, 'shop', 'ada', 'files', 6909095069163761924, 0, 0, NULL, 1796100199494000);
insert into changes values (7, 1, 'shop', 'ada', 'order-1', 5053195046130704321, 0, 0, NULL, 1796100199496000);
insert into changes values (8, 6, 'shop', 'ada', NULL, NULL, 2, 2, NULL, 1796100199496000);
insert into changes values (9, 7, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1796100199496000);
insert into changes values (10, 2, 'shop', 'ada', 'order-1', 5053195046130704321, 1, 1, NULL, 1796100199498000);
insert into changes values (11, 6, 'shop', 'ada', NULL, NULL, 3, 3, NULL, 1796100199498000);
insert into changes values (12, 2, 'shop', 'ada', 'order-1', 5053195046130704321, 2, 3, NULL, 1796100199500000);
insert into changes values (13, 7, 'shop', NULL, NULL, NULL, 4, 4, NULL, 1796100199500000);
insert into changes values (14, 2, 'shop', 'ada', 'order-1', 5053195046130704321, 4, 4, NULL, 1796100199502000);
insert into changes values (15, 2, 'shop', 'ada', 'order-1', 5053195046130704321, 5, 5, NULL, 1796100199504000);
insert into changes values (16, 2, 'shop', 'ada', 'order-1', 5053195046130704321, 6, 6, NULL, 1796100199508000);
insert into changes values (17, 6, 'shop', 'ada', NULL, NULL, 4, 4, NULL, 1796100199508000);
insert into changes values (18, 1, 'shop', 'ada', 'order-1-again', 1806184974909272147, 0, 3, '{"sessionId":"order-1","revision":3}', 1796100199521000);
insert into changes values (19, 2, 'shop', 'ada', 'order-1-again', 1806184974909272147, 1, 3, NULL, 1796100199521000);
insert into changes values (20, 9, 'shop', 'ada', 'files', 6909095069163761924, 0, 0, '{"name":"notes/summary","version":0,"size":14}', 1796100199537000);
insert into changes values (21, 2, 'shop', 'ada', 'files', 6909095069163761924, 1, 1, NULL, 1796100199537000);
insert into changes values (22, 9, 'shop', 'ada', 'files', 6909095069163761924, 0, 0, '{"name":"notes/summary","version":1,"size":7}', 1796100199548000);
insert into changes values (23, 9, 'shop', 'ada', NULL, NULL, 0, 0, '{"name":"user:address","version":0}', 1796100199551000);
insert into changes values (24, 2, 'shop', 'ada', 'files', 6909095069163761924, 2, 2, NULL, 1796100199551000);
insert into changes values (25, 3, 'shop', 'ada', 'order-1-again', 1806184974909272147, 0, 0, '{"displayName":"forked","labels":{"a":"b"},"expireTime":4102444800.000000}', 1796100199553000);
insert into changes values (26, 2, 'shop', 'ada', 'order-1-again', 1806184974909272147, 4, 4, NULL, 1796100199564000);
insert into changes values (27, 6, 'shop', 'ada', NULL, NULL, 5, 5, NULL, 1796100199564000);
insert into changes values (28, 1, 'shop', 'ada', 'files-2', 2003841718876480441, 0, 0, NULL, 1796100199568000);
insert into changes values (29, 9, 'shop', 'ada', 'files-2', 2003841718876480441, 0, 0, '{"name":"page.html","version":0,"size":8}', 1796100199570000);
insert into changes values (30, 2, 'shop', 'ada', 'files-2', 2003841718876480441, 1, 1, NULL, 1796100199570000);
insert into changes values (31, 9, 'shop', 'ada', 'files-2', 2003841718876480441, 0, 0, '{"name":"page.html","version":1,"size":8}', 1796100199584000);
insert into changes values (32, 9, 'shop', 'ada', 'files-2', 2003841718876480441, 0, 0, '{"name":"page.html","version":2,"size":8}', 1796100199586000);
insert into changes values (33, 2, 'shop', 'ada', 'files-2', 2003841718876480441, 2, 2, NULL, 1796100199586000);
insert into changes values (34, 9, 'shop', 'ada', 'files-2', 2003841718876480441, 0, 0, '{"name":"page.html","version":3,"size":8}', 1796100199588000);
insert into changes values (35, 2, 'shop', 'ada', 'files-2', 2003841718876480441, 3, 3, NULL, 1796100199588000);
insert into changes values (36, 9, 'shop', 'ada', 'files-2', 2003841718876480441, 0, 0, '{"name":"gone","version":0,"size":1}', 1796100199589000);
insert into changes values (37, 2, 'shop', 'ada', 'files-2', 2003841718876480441, 4, 4, NULL, 1796100199589000);
insert into changes values (38, 10, 'shop', 'ada', 'files-2', 2003841718876480441, 0, 0, '{"name":"gone","reason":"deleted"}', 1796100199590000);
insert into changes values (39, 1, 'shop', 'ada', 'compacted', 2044980878896099994, 0, 0, NULL, 1796100199592000);
insert into changes values (40, 2, 'shop', 'ada', 'compacted', 2044980878896099994, 1, 1, NULL, 1796100199594000);
insert into changes values (41, 2, 'shop', 'ada', 'compacted', 2044980878896099994, 2, 2, NULL, 1796100199595000);
insert into changes values (42, 2, 'shop', 'ada', 'compacted', 2044980878896099994, 3, 3, NULL, 1796100199596000);
insert into changes values (43, 2, 'shop', 'ada', 'compacted', 2044980878896099994, 4, 4, NULL, 1796100199596000);
insert into changes values (44, 2, 'shop', 'ada', 'compacted', 2044980878896099994, 5, 5, NULL, 1796100199597000);
insert into changes values (45, 2, 'shop', 'ada', 'compacted', 2044980878896099994, 6, 6, NULL, 1796100199599000);
insert into changes values (46, 1, 'shop', 'ada', 'trimmed', 8037773771806621103, 0, 0, NULL, 1796100199601000);
insert into changes values (47, 2, 'shop', 'ada', 'trimmed', 8037773771806621103, 1, 1, NULL, 1796100199603000);
insert into changes values (48, 2, 'shop', 'ada', 'trimmed', 8037773771806621103, 2, 2, NULL, 1796100199604000);
insert into changes values (49, 2, 'shop', 'ada', 'trimmed', 8037773771806621103, 3, 3, NULL, 1796100199604000);
insert into changes values (50, 2, 'shop', 'ada', 'trimmed', 8037773771806621103, 4, 4, NULL, 1796100199605000);
insert into changes values (51, 2, 'shop', 'ada', 'trimmed', 8037773771806621103, 5, 5, NULL, 1796100199606000);
insert into changes values (52, 4, 'shop', 'ada', 'trimmed', 8037773771806621103, 0, 3, NULL, 1796100199607000);
insert into changes values (53, 1, 'shop', 'ada', 'moved', 606462676157930136, 0, 0, NULL, 1796100199621000);
insert into changes values (54, 2, 'shop', 'ada', 'moved', 606462676157930136, 1, 1, NULL, 1796100199623000);
insert into changes values (55, 2, 'shop', 'ada', 'moved', 606462676157930136, 2, 2, NULL, 1796100199623000);
insert into changes values (56, 2, 'shop', 'ada', 'moved', 606462676157930136, 3, 3, NULL, 1796100199624000);
insert into changes values (57, 2, 'shop', 'ada', 'moved', 606462676157930136, 4, 4, NULL, 1796100199625000);
insert into changes values (58, 2, 'shop', 'ada', 'moved', 606462676157930136, 5, 5, NULL, 1796100199626000);
insert into changes values (59, 4, 'shop', 'ada', 'moved', 606462676157930136, 0, 3, NULL, 1796100199626000);
insert into changes values (60, 1, 'shop', 'ada', 'redacted', 8630093990935967607, 0, 0, NULL, 1796100199627000);
insert into changes values (61, 2, 'shop', 'ada', 'redacted', 8630093990935967607, 1, 1, NULL, 1796100199629000);
insert into changes values (62, 6, 'shop', 'ada', NULL, NULL, 6, 6, NULL, 1796100199629000);
insert into changes values (63, 11, 'shop', 'ada', 'redacted', 8630093990935967607, 1, 1, NULL, 1796100199631000);
insert into changes values (64, 2, 'shop', 'ada', 'redacted', 8630093990935967607, 2, 2, NULL, 1796100199643000);
insert into changes values (65, 6, 'shop', 'ada', NULL, NULL, 7, 7, NULL, 1796100199643000);
insert into changes values (66, 11, 'shop', 'ada', 'redacted', 8630093990935967607, 2, 2, NULL, 1796100199646000);
insert into changes values (67, 2, 'shop', 'ada', 'redacted', 8630093990935967607, 3, 3, NULL, 1796100199646000);
insert into changes values (68, 6, 'shop', 'ada', NULL, NULL, 8, 8, NULL, 1796100199646000);
insert into changes values (69, 1, 'shop', 'ada', 'deleted', 828920198374689426, 0, 0, NULL, 1796100199648000);
insert into changes values (70, 7, 'shop', NULL, NULL, NULL, 5, 5, NULL, 1796100199648000);
insert into changes values (71, 5, 'shop', 'ada', 'deleted', 828920198374689426, 0, 0, 'deleted', 1796100199650000);
insert into changes values (72, 1, 'shop', 'bob', 'by-adk', 7427070682609985236, 0, 0, NULL, 1796100199652000);
insert into changes values (73, 6, 'shop', 'bob', NULL, NULL, 1, 1, NULL, 1796100199652000);
insert into changes values (74, 9, 'shop', 'bob', 'by-adk', 7427070682609985236, 0, 0, '{"name":"a","version":0,"size":6}', 1796100199668000);
insert into changes values (75, 5, 'shop', 'ada', 'moved', 606462676157930136, 0, 0, 'deleted', 1796100199690000);
insert into changes values (76, 1, 'shop', 'ada', 'moved', 3870612151811848036, 0, 5, NULL, 1796100199691000);
insert into changes values (77, 2, 'shop', 'ada', 'moved', 3870612151811848036, 4, 5, NULL, 1796100199691000);
insert into changes values (78, 1, 'copy', 'ada', 'order-1', 6622120021705273650, 0, 6, NULL, 1796100199708000);
insert into changes values (79, 2, 'copy', 'ada', 'order-1', 6622120021705273650, 1, 6, NULL, 1796100199708000);
insert into changes values (80, 1, 'läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 0, 0, NULL, 1796100199709000);
insert into changes values (81, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 1, 1, NULL, 1796100199711000);
insert into changes values (82, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 2, 2, NULL, 1796100199714000);
insert into changes values (83, 6, 'läger/1 ü', 'ß ø@例え', NULL, NULL, 1, 1, NULL, 1796100199714000);
insert into changes values (84, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 3, 3, NULL, 1796100199716000);
insert into changes values (85, 7, 'läger/1 ü', NULL, NULL, NULL, 1, 1, NULL, 1796100199716000);
insert into changes values (86, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1796100199718000);
insert into changes values (87, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796100199718000);
insert into changes values (88, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796100199718000);
insert into changes values (89, 7, 'shop', NULL, NULL, NULL, 6, 6, NULL, 1796100199718000);
insert into changes values (90, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22fea-1527-768a-a459-60aa1776bc66","subject":"e3f222ddf6f81aecd21e09efdf781eff66d68fea248eeb59109852b205c4f1b6"}', 1796100199721000);
insert into changes values (91, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1796100199788000);
insert into changes values (92, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796100199788000);
insert into changes values (93, 0, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1796100199788000);
insert into changes values (94, 7, 'shop', NULL, NULL, NULL, 7, 7, NULL, 1796100199788000);
insert into changes values (95, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22fea-156d-73e2-844b-1644e9a9aa60","subject":"0dd6f193fd865c4cddb2ce6236af2b7c0425a411700d91922f1662610c65a095"}', 1796100199790000);
insert into effective_views values ('shop', 'ada', 'compacted', 2044980878896099994, 5, '{"covered":[[1,3]],"needed":[],"unsure":false,"kept":[[5,4607182418800017408,4613937818241073152,{"scope":null,"branch":null,"node":false},5]]}');
insert into erased_revisions values ('shop', 4);
insert into erasure_counts values ('shop', 2);
insert into erasure_secrets values ('receipt', X'3051020101300506032B6570042204204C35EEDABC3E079F5C387F5F96BEB73AF8F421BF868CF157AACA6D69D006D16B812100B1D5981334766B3CCFAAE84B8B1EB0FC3F53467840F87F84C30BA77404D6D965');
insert into erasure_secrets values ('salt', X'BF534E03A001366045F21E99B09F7485AF2AB22A3CB75CED52E77BB41A3DE32F');
insert into erasures values ('01a22fea-1527-768a-a459-60aa1776bc66', 'shop', X'E3F222DDF6F81AECD21E09EFDF781EFF66D68FEA248EEB59109852B205C4F1B6', X'0EEB7B747C30363F9CB7EDDDEB4521CF707D2FAF929B074016097088C6158F4F', 'case 17', 1, 1, 1796100199719579, 1796100199772960, 1, 1, 2, 1, 0, '{"id":"01a22fea-1527-768a-a459-60aa1776bc66","appName":"shop","subject":"e3f222ddf6f81aecd21e09efdf781eff66d68fea248eeb59109852b205c4f1b6","reference":"case 17","requestTime":1796100199.719579,"doneTime":1796100199.772960,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":true,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","a keyed hash of app and user by which the user is refused"],"instance":"1c84fb2d5c8674a9328c2b3092d536ee","keyId":"cc65bac4110e9fda","signature":"BbiC3bQ097DCydq_sbp1PTyR-xXDQ2WA6K7nYIztgJpumH9EuhmvsZuZemhCzodEHD4ahY_ZDclZlAtTfXvIDA"}');
insert into erasures values ('01a22fea-156d-73e2-844b-1644e9a9aa60', 'shop', X'0DD6F193FD865C4CDDB2CE6236AF2B7C0425A411700D91922F1662610C65A095', NULL, 'case 18', NULL, 0, 1796100199789267, 1796100199821393, 1, 1, 2, 1, 0, '{"id":"01a22fea-156d-73e2-844b-1644e9a9aa60","appName":"shop","subject":"0dd6f193fd865c4cddb2ce6236af2b7c0425a411700d91922f1662610c65a095","reference":"case 18","requestTime":1796100199.789267,"doneTime":1796100199.821393,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":false,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens"],"instance":"1c84fb2d5c8674a9328c2b3092d536ee","keyId":"cc65bac4110e9fda","signature":"3T3UfzIfcNc-AmuO3N33MWwsozRYvehH_ohrQ70RFWHnwkhjsSC9BlYdX4T4Vfua2A0chlO4fzlcygoza2ZVAw"}');
insert into events values ('shop', 'ada', 'order-1', 5053195046130704321, 1, 'e1', 1500000, 1796100199497752, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1', 5053195046130704321, 2, 'e2', 1796100199499193, 1796100199499555, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796100199.499193}', NULL);
insert into events values ('shop', 'ada', 'order-1', 5053195046130704321, 3, 'e3', 1796100199499193, 1796100199499555, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796100199.499193}', NULL);
insert into events values ('shop', 'ada', 'order-1', 5053195046130704321, 4, 'rewind-1', 1796100199501218, 1796100199502147, 'user', 'rewind-01a22fea-144d-74f3-942b-defbc6655f71', NULL, 3, 4, 2, X'B99912CD55262A522463E7AE17C4AA713F6DD0F447D9CE3495DC72A48A9FF3B5', '{"author":"user","invocationId":"rewind-01a22fea-144d-74f3-942b-defbc6655f71","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1796100199.501218}', NULL);
insert into events values ('shop', 'ada', 'order-1', 5053195046130704321, 5, 'put-1', 1796100199503856, 1796100199504121, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1796100199.503856}', NULL);
insert into events values ('shop', 'ada', 'order-1', 5053195046130704321, 6, 'patch-1', 1796100199505473, 1796100199506392, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1796100199.505473}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1806184974909272147, 1, 'e1', 1500000, 1796100199497752, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1806184974909272147, 2, 'e2', 1796100199499193, 1796100199499555, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796100199.499193}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1806184974909272147, 3, 'e3', 1796100199499193, 1796100199499555, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796100199.499193}', NULL);
insert into events values ('shop', 'ada', 'files', 6909095069163761924, 1, '01a22fea-146f-70dd-833b-2ac37c353d6f', 1796100199535532, 1796100199536465, 'user', '', NULL, 4, 4, NULL, X'D2E2E5C0F9AED3095775C9C8F1BC1925FBCEB4704466F38B9E2A05F080ED24B6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"notes/summary":0}},"id":"01a22fea-146f-70dd-833b-2ac37c353d6f","timestamp":1796100199.535532}', NULL);
insert into events values ('shop', 'ada', 'files', 6909095069163761924, 2, '01a22fea-147e-75ac-b6b8-3efbe0a97287', 1796100199550246, 1796100199551007, 'user', '', NULL, 4, 4, NULL, X'601AC91DD78257428AFF5E52EF0CF956333CE74FF62FF6F9C0EE2174F1AEEBC6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"user:address":0}},"id":"01a22fea-147e-75ac-b6b8-3efbe0a97287","timestamp":1796100199.550246}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1806184974909272147, 4, 'own', 1796100199563609, 1796100199563954, 'user', '', NULL, 5, 4, NULL, X'ABAC0094F067CA3A080374546A8F16559889F3D0C2DB27C80EC48CA855EDF5D3', '{"id":"own","author":"user","actions":{"stateDelta":{"user:n":7}},"timestamp":1796100199.563609}', NULL);
insert into events values ('shop', 'ada', 'files-2', 2003841718876480441, 1, '01a22fea-1490-7565-b642-e3922a5b4b3d', 1796100199568867, 1796100199570059, 'user', '', NULL, 5, 4, NULL, X'2E8CC7579CFFF08786CE4C8806BD956E831F50E37DDCFEFE584B2D0E6EA27985', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":0}},"id":"01a22fea-1490-7565-b642-e3922a5b4b3d","timestamp":1796100199.568867}', NULL);
insert into events values ('shop', 'ada', 'files-2', 2003841718876480441, 2, '01a22fea-14a1-7095-9cc2-ce796a11bc22', 1796100199585025, 1796100199585346, 'user', '', NULL, 5, 4, NULL, X'80D48EAE81BBE94071B8B31400F3C11BCB79002CD30FA2CAF13AA738E46633C2', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":2}},"id":"01a22fea-14a1-7095-9cc2-ce796a11bc22","timestamp":1796100199.585025}', NULL);
insert into events values ('shop', 'ada', 'files-2', 2003841718876480441, 3, '01a22fea-14a2-7460-ba9c-25989ffb38ee', 1796100199586715, 1796100199587138, 'user', 'rewind-01a22fea-14a2-7460-ba9c-2599f62f6488', NULL, 5, 4, 1, X'C1D1567DFD0DC9F07FBF80A8B86E747EC44B05FB21BFB0393D98FBD7CDDFDC74', '{"author":"user","invocationId":"rewind-01a22fea-14a2-7460-ba9c-2599f62f6488","actions":{"stateDelta":{},"rewindBeforeInvocationId":"","artifactDelta":{"page.html":3}},"customMetadata":{"rewindToRevision":1},"id":"01a22fea-14a2-7460-ba9c-25989ffb38ee","timestamp":1796100199.586715}', NULL);
insert into events values ('shop', 'ada', 'files-2', 2003841718876480441, 4, '01a22fea-14a4-749f-b6fe-68cb7e1e5c23', 1796100199588865, 1796100199589348, 'user', '', NULL, 5, 4, NULL, X'65F05C4408D5AECEBEA0AD84224D538BAEA2B514D41885DC4A2462ECE115D210', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"gone":0}},"id":"01a22fea-14a4-749f-b6fe-68cb7e1e5c23","timestamp":1796100199.588865}', NULL);
insert into events values ('shop', 'ada', 'compacted', 2044980878896099994, 1, 'c1', 1000000, 1796100199593595, 'user', '', NULL, 5, 4, NULL, X'249CD456F8A74212A410A302A901B41D830C2659E48737E6AE21D7CF0B6AFF57', '{"id":"c1","author":"user","timestamp":1,"content":{"parts":[{"text":"1"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 2044980878896099994, 2, 'c2', 2000000, 1796100199595123, 'user', '', NULL, 5, 4, NULL, X'F680371D2B6E2F9D8A0FDEAFE556555B5DF34CB1FD66A522FF0A8ABAEE264B2D', '{"id":"c2","author":"user","timestamp":2,"content":{"parts":[{"text":"2"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 2044980878896099994, 3, 'c3', 3000000, 1796100199595981, 'user', '', NULL, 5, 4, NULL, X'E49233C089B6757E03E35240335E71790F5C5EFE2BB2F209D847FCC8719F6D55', '{"id":"c3","author":"user","timestamp":3,"content":{"parts":[{"text":"3"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 2044980878896099994, 4, 'c4', 4000000, 1796100199596793, 'user', '', NULL, 5, 4, NULL, X'BE10D376FFB0E7AEEB33FBE5F68C72675B04DC9A8E0541BBE6CD7690CA245DD4', '{"id":"c4","author":"user","timestamp":4,"content":{"parts":[{"text":"4"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 2044980878896099994, 5, 'sum', 5000000, 1796100199597576, 'agent', '', NULL, 5, 4, -1, X'2585B1D6369DD3B1F387F46B7886EACF90A8ACF9098174BC4BB3BAC18B6AD881', '{"id":"sum","author":"agent","timestamp":5,"actions":{"compaction":{"startTimestamp":1,"endTimestamp":3,"compactedContent":{"role":"model","parts":[{"text":"1 to 3"}]}}}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 2044980878896099994, 6, 'last', 6000000, 1796100199598798, 'user', '', NULL, 5, 4, NULL, X'6E30AB5A008548DD04251542838F5591806078AD17B61289A8EDF5F1F50CB1A6', '{"id":"last","author":"user","timestamp":6}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 8037773771806621103, 1, 't1', 1796100199602576, 1796100199602627, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 8037773771806621103, 2, 't2', 1796100199604004, 1796100199604042, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 8037773771806621103, 3, 't3', 1796100199604728, 1796100199604765, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 8037773771806621103, 4, 't4', 1796100199605378, 1796100199605663, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1796100199.605378}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 8037773771806621103, 5, 't5', 1796100199606226, 1796100199606262, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1796100199.606226}', NULL);
insert into events values ('shop', 'ada', 'redacted', 8630093990935967607, 1, 'kept', 1796100199628280, 1796100199628326, 'user', '', NULL, 6, 4, NULL, X'0000000000000000000000000000000000000000000000000000000000000000', '{"id":"kept","timestamp":1796100199.628280,"author":"user","actions":{"stateDelta":{"kept":"hunter2","user:kept":"hunter2"}},"redacted":{"time":1796100199.630336,"reason":"a password"}}', 1);
insert into events values ('shop', 'ada', 'redacted', 8630093990935967607, 2, 'removed', 1796100199642693, 1796100199643023, 'user', '', NULL, 7, 4, NULL, X'0000000000000000000000000000000000000000000000000000000000000000', '{"id":"removed","timestamp":1796100199.642693,"author":"user","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"redacted":{"time":1796100199.644052,"reason":"a password"}}', 2);
insert into events values ('shop', 'ada', 'redacted', 8630093990935967607, 3, '01a22fea-14db-7743-9579-6c465e5155ac', 1796100199643916, 1796100199644721, 'user', '', NULL, 8, 4, NULL, X'8C372D64E780678DB298D472C65643BBAC5AB92E04588C224C9EA5E5E0C7EDE4', '{"id":"01a22fea-14db-7743-9579-6c465e5155ac","author":"user","invocationId":"","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"timestamp":1796100199.643916}', -2);
insert into events values ('shop', 'ada', 'moved', 3870612151811848036, 1, 't1', 1796100199622783, 1796100199622876, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'moved', 3870612151811848036, 2, 't2', 1796100199623814, 1796100199623853, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'moved', 3870612151811848036, 3, 't3', 1796100199624455, 1796100199624499, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'moved', 3870612151811848036, 4, 't4', 1796100199625067, 1796100199625102, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1796100199.625067}', NULL);
insert into events values ('shop', 'ada', 'moved', 3870612151811848036, 5, 't5', 1796100199625816, 1796100199625851, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1796100199.625816}', NULL);
insert into events values ('copy', 'ada', 'order-1', 6622120021705273650, 1, 'e1', 1500000, 1796100199497752, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('copy', 'ada', 'order-1', 6622120021705273650, 2, 'e2', 1796100199499193, 1796100199499555, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796100199.499193}', NULL);
insert into events values ('copy', 'ada', 'order-1', 6622120021705273650, 3, 'e3', 1796100199499193, 1796100199499555, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796100199.499193}', NULL);
insert into events values ('copy', 'ada', 'order-1', 6622120021705273650, 4, 'rewind-1', 1796100199501218, 1796100199502147, 'user', 'rewind-01a22fea-144d-74f3-942b-defbc6655f71', NULL, 3, 4, 2, X'B99912CD55262A522463E7AE17C4AA713F6DD0F447D9CE3495DC72A48A9FF3B5', '{"author":"user","invocationId":"rewind-01a22fea-144d-74f3-942b-defbc6655f71","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1796100199.501218}', NULL);
insert into events values ('copy', 'ada', 'order-1', 6622120021705273650, 5, 'put-1', 1796100199503856, 1796100199504121, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1796100199.503856}', NULL);
insert into events values ('copy', 'ada', 'order-1', 6622120021705273650, 6, 'patch-1', 1796100199505473, 1796100199506392, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1796100199.505473}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 1, 'e/ä', 1796100199710360, 1796100199710455, 'agent', '', NULL, 0, 0, NULL, X'E78CFB5291353133438166F3E9E1F7DA2539E819856DE2D160DEA064905B1F7C', '{"id":"e/ä","author":"agent","actions":{"stateDelta":{ "k0ä": 0 , "k1ä": -0 , "k2ä": 1 , "k3ä": 1.0 , "k4ä": 1E2 , "k5ä": 1e+2 , "k6ä": -0.0 , "k7ä": 0e0 , "k8ä": 1e-400 , "k9ä": 0.1000000000000000055511151231257827 , "k10ä": 1180591620717411303424 , "k11ä": -170141183460469231731687303715884105729 , "k12ä": 1.7976931348623157e308 , "k13ä": 9007199254740993 , "k14ä": "\u0000" , "k15ä": "a\u0000b\u001f\u007f" , "k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "k17ä": "\/ / \" \\ \b\f\n\r\t" , "k18ä": " ﻿�􏿿" , "k19ä": "" , "k20ä": {"b":1,"a":2,"":3,"B":4} , "k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "k22ä": [ ] , "k23ä": {"$serde_json::private::RawValue": "[1]"} , "k24ä": {"$serde_json::private::Number": "1"} , "k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "k26ä": {"__proto__":1,"constructor":{"x":null}} , "k27ä": true , "k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796100199.710360}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 2, 'user:e/ä', 1796100199712165, 1796100199713612, 'agent', '', NULL, 1, 0, NULL, X'AAEB3F9FD8C682C65552B5F40D0C01C5E8880C8B8CC9650F2751ABEAFFB0268B', '{"id":"user:e/ä","author":"agent","actions":{"stateDelta":{ "user:k0ä": 0 , "user:k1ä": -0 , "user:k2ä": 1 , "user:k3ä": 1.0 , "user:k4ä": 1E2 , "user:k5ä": 1e+2 , "user:k6ä": -0.0 , "user:k7ä": 0e0 , "user:k8ä": 1e-400 , "user:k9ä": 0.1000000000000000055511151231257827 , "user:k10ä": 1180591620717411303424 , "user:k11ä": -170141183460469231731687303715884105729 , "user:k12ä": 1.7976931348623157e308 , "user:k13ä": 9007199254740993 , "user:k14ä": "\u0000" , "user:k15ä": "a\u0000b\u001f\u007f" , "user:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "user:k17ä": "\/ / \" \\ \b\f\n\r\t" , "user:k18ä": " ﻿�􏿿" , "user:k19ä": "" , "user:k20ä": {"b":1,"a":2,"":3,"B":4} , "user:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "user:k22ä": [ ] , "user:k23ä": {"$serde_json::private::RawValue": "[1]"} , "user:k24ä": {"$serde_json::private::Number": "1"} , "user:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "user:k26ä": {"__proto__":1,"constructor":{"x":null}} , "user:k27ä": true , "user:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796100199.712165}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 3, 'app:e/ä', 1796100199715082, 1796100199715148, 'agent', '', NULL, 1, 1, NULL, X'7C243795615B1D07ED39E8C4AFFB45B944DE62BE3E14B9683ECFEFE79FB05006', '{"id":"app:e/ä","author":"agent","actions":{"stateDelta":{ "app:k0ä": 0 , "app:k1ä": -0 , "app:k2ä": 1 , "app:k3ä": 1.0 , "app:k4ä": 1E2 , "app:k5ä": 1e+2 , "app:k6ä": -0.0 , "app:k7ä": 0e0 , "app:k8ä": 1e-400 , "app:k9ä": 0.1000000000000000055511151231257827 , "app:k10ä": 1180591620717411303424 , "app:k11ä": -170141183460469231731687303715884105729 , "app:k12ä": 1.7976931348623157e308 , "app:k13ä": 9007199254740993 , "app:k14ä": "\u0000" , "app:k15ä": "a\u0000b\u001f\u007f" , "app:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "app:k17ä": "\/ / \" \\ \b\f\n\r\t" , "app:k18ä": " ﻿�􏿿" , "app:k19ä": "" , "app:k20ä": {"b":1,"a":2,"":3,"B":4} , "app:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "app:k22ä": [ ] , "app:k23ä": {"$serde_json::private::RawValue": "[1]"} , "app:k24ä": {"$serde_json::private::Number": "1"} , "app:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "app:k26ä": {"__proto__":1,"constructor":{"x":null}} , "app:k27ä": true , "app:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796100199.715082}', NULL);
insert into policies values ('none', 2, NULL, NULL, NULL, NULL, 0);
insert into policies values ('shop', 1, '{"sessions":{"maxAge":"36500d"},"artifacts":{"keepVersions":50},"limits":{"sessionsPerUser":1000,"eventsPerSession":1000}}', 1000, 1000, NULL, 0);
insert into session_spans values ('shop', 'ada', 'order-1-again', 1806184974909272147, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1-again', 1806184974909272147, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1-again', 1806184974909272147, 2, 'topic', 0, 3, 1, '"return"');
insert into session_spans values ('shop', 'ada', 'moved', 3870612151811848036, 4, 'k', 3, 4, 0, '3');
insert into session_spans values ('shop', 'ada', 'moved', 3870612151811848036, 5, 'k', 4, 5, 0, '4');
insert into session_spans values ('shop', 'ada', 'order-1', 5053195046130704321, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1', 5053195046130704321, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1', 5053195046130704321, 2, 'topic', 0, 3, 1, '"return"');
insert into session_spans values ('shop', 'ada', 'order-1', 5053195046130704321, 4, 'n', 3, 4, 0, 'null');
insert into session_spans values ('copy', 'ada', 'order-1', 6622120021705273650, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('copy', 'ada', 'order-1', 6622120021705273650, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('copy', 'ada', 'order-1', 6622120021705273650, 2, 'topic', 0, 3, 1, '"return"');
insert into session_spans values ('copy', 'ada', 'order-1', 6622120021705273650, 4, 'n', 3, 4, 0, 'null');
insert into session_spans values ('shop', 'ada', 'trimmed', 8037773771806621103, 4, 'k', 3, 4, 0, '3');
insert into session_spans values ('shop', 'ada', 'trimmed', 8037773771806621103, 5, 'k', 4, 5, 0, '4');
insert into session_state values ('shop', 'ada', 'order-1', 5053195046130704321, 'n', '1E2', 4);
insert into session_state values ('shop', 'ada', 'order-1', 5053195046130704321, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1', 5053195046130704321, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1', 5053195046130704321, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1', 5053195046130704321, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1', 5053195046130704321, 'topic', '"return"', 4);
insert into session_state values ('shop', 'ada', 'order-1', 5053195046130704321, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('shop', 'ada', 'order-1', 5053195046130704321, 'step', '"refund"', 6);
insert into session_state values ('shop', 'ada', 'order-1-again', 1806184974909272147, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 1806184974909272147, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 1806184974909272147, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 1806184974909272147, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 1806184974909272147, 'n', 'null', 3);
insert into session_state values ('shop', 'ada', 'files-2', 2003841718876480441, 'k', '1', 0);
insert into session_state values ('shop', 'ada', 'trimmed', 8037773771806621103, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'trimmed', 8037773771806621103, 'k1', '1', 1);
insert into session_state values ('shop', 'ada', 'trimmed', 8037773771806621103, 'k2', '2', 2);
insert into session_state values ('shop', 'ada', 'trimmed', 8037773771806621103, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'trimmed', 8037773771806621103, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'trimmed', 8037773771806621103, 'k5', '5', 5);
insert into session_state values ('shop', 'ada', 'redacted', 8630093990935967607, 'kept', '"hunter2"', 1);
insert into session_state values ('shop', 'bob', 'by-adk', 7427070682609985236, 'topic', '"warranty"', 0);
insert into session_state values ('shop', 'ada', 'moved', 3870612151811848036, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'moved', 3870612151811848036, 'k1', '1', 3);
insert into session_state values ('shop', 'ada', 'moved', 3870612151811848036, 'k2', '2', 3);
insert into session_state values ('shop', 'ada', 'moved', 3870612151811848036, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'moved', 3870612151811848036, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'moved', 3870612151811848036, 'k5', '5', 5);
insert into session_state values ('copy', 'ada', 'order-1', 6622120021705273650, 'big', '1180591620717411303424', 1);
insert into session_state values ('copy', 'ada', 'order-1', 6622120021705273650, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('copy', 'ada', 'order-1', 6622120021705273650, 'list', '[-0.0]', 2);
insert into session_state values ('copy', 'ada', 'order-1', 6622120021705273650, 'n', '1E2', 4);
insert into session_state values ('copy', 'ada', 'order-1', 6622120021705273650, 'neg', '-0', 1);
insert into session_state values ('copy', 'ada', 'order-1', 6622120021705273650, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('copy', 'ada', 'order-1', 6622120021705273650, 'step', '"refund"', 6);
insert into session_state values ('copy', 'ada', 'order-1', 6622120021705273650, 'topic', '"return"', 4);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k0ä', '0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k10ä', '1180591620717411303424', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k11ä', '-170141183460469231731687303715884105729', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k12ä', '1.7976931348623157e308', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k13ä', '9007199254740993', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k14ä', '"\u0000"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k15ä', '"a\u0000b\u001f\u007f"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k18ä', '" ﻿�􏿿"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k19ä', '""', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k1ä', '-0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k22ä', '[ ]', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k24ä', '{"$serde_json::private::Number": "1"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k27ä', 'true', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k28ä', 'null', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k2ä', '1', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k3ä', '1.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k4ä', '1E2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k5ä', '1e+2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k6ä', '-0.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k7ä', '0e0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k8ä', '1e-400', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 'k9ä', '0.1000000000000000055511151231257827', 1);
insert into session_updates values ('copy', 'ada', 'order-1', 0, 1796100199505473);
insert into session_updates values ('läger/1 ü', 'ß ø@例え', 'a b😀', 0, 1796100199715082);
insert into session_updates values ('shop', 'ada', 'files', 0, 1796100199550246);
insert into session_updates values ('shop', 'ada', 'order-1-again', 0, 1796100199563609);
insert into session_updates values ('shop', 'ada', 'files-2', 0, 1796100199588865);
insert into session_updates values ('shop', 'ada', 'moved', 0, 1796100199625816);
insert into session_updates values ('shop', 'ada', 'redacted', 0, 1796100199643916);
insert into session_updates values ('shop', 'bob', 'by-adk', 0, 1796100199650538);
insert into session_updates values ('shop', 'ada', 'compacted', 1, 0);
insert into session_updates values ('shop', 'ada', 'order-1', 1, 179610019);
insert into session_updates values ('shop', 'ada', 'trimmed', 1, 179610019);
insert into sessiond_migrations values (1, 'sessions', '2026-12-01 04:43:19', 1, X'1B27946FAA94C8E774064C945B9412B88D88F8AC696F3D2BFB2D7183FAECA7AEFD7691D573B0CF761566D5113C2FAE52', 5447542);
insert into sessions values ('shop', 'ada', 'files', 6909095069163761924, 2, 0, 1796100199493422, 1796100199551007, 1796100199550246, '1796100199.550246', 20788, NULL, NULL, NULL, 0, '{}', 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('shop', 'ada', 'order-1', 5053195046130704321, 6, 0, 1796100199495772, 1796100199506392, 1796100199505473, '1796100199.505473', 20788, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, 'create-1', X'986E8347A1CA037F059646A89B18A481CB8A30C7777918AC2E45F9DF0E63F133', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'pod-7/4f1c', 'i9', 1796100259552335, 60000000, 0, 1);
insert into sessions values ('shop', 'ada', 'order-1-again', 1806184974909272147, 4, 1, 1796100199520116, 1796100199563954, 1796100199563609, '1796100199.563609', 20788, '"forked"', '{"a":"b"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, 'order-1', 3, 'fork-1', X'5852D7B187AB49A4BD7E012F6F3D1B907F2E43D839BF5FEE347D0B6E3CD017E4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('shop', 'ada', 'files-2', 2003841718876480441, 4, 0, 1796100199565528, 1796100199589348, 1796100199588865, '1796100199.588865', 20788, NULL, NULL, NULL, 0, '{"k":1}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('shop', 'ada', 'compacted', 2044980878896099994, 6, 0, 1796100199591209, 1796100199598798, 6000000, '6', 20788, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 1);
insert into sessions values ('shop', 'ada', 'trimmed', 8037773771806621103, 5, 1, 1796100199600254, 1796100199606262, 1796100199606226, '1796100199.606226', 20788, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 1);
insert into sessions values ('shop', 'ada', 'redacted', 8630093990935967607, 3, 2, 1796100199627231, 1796100199644721, 1796100199643916, '1796100199.643916', 20788, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('shop', 'bob', 'by-adk', 7427070682609985236, 0, 0, 1796100199650538, 1796100199650538, 1796100199650538, '1796100199.650538', 20788, NULL, NULL, NULL, 0, '{"topic":"warranty"}', 1, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('shop', 'ada', 'moved', 3870612151811848036, 5, 0, 1796100199620007, 1796100199625851, 1796100199625816, '1796100199.625816', 20788, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, '86a96973ded1a98', X'F55EEA184A9103EA64ECCE763200CBE53696716E55EABD4E73E45F2F32A15983', 5, 3, 5, 3, 5, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('copy', 'ada', 'order-1', 6622120021705273650, 6, 0, 1796100199495772, 1796100199506392, 1796100199505473, '1796100199.505473', 20788, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, NULL, NULL, '46208e1f19625fc1', X'EB8DB3BE2F79DDC87004642519CCA57E7A1E89E31065B517973625DA33073870', 6, 0, 6, 0, 6, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('läger/1 ü', 'ß ø@例え', 'a b😀', 559194794298146780, 3, 0, 1796100199709380, 1796100199715148, 1796100199715082, '1796100199.715082', 20788, NULL, NULL, NULL, 0, '{}', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into token_epochs values ('shop', X'0DD6F193FD865C4CDDB2CE6236AF2B7C0425A411700D91922F1662610C65A095', 1, 2);
insert into token_epochs values ('shop', X'B8A35B98EF160C1D9034E8BEB03660FF2A14E15668109676ED5DD5626755F16C', 1, 0);
insert into token_epochs values ('shop', X'E3F222DDF6F81AECD21E09EFDF781EFF66D68FEA248EEB59109852B205C4F1B6', 1, 1);
insert into token_secrets values ('current', X'E6F23DAA9045AACEC112710569911BA97793BC299F54AEF9FC2DB2ED834679CC');
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k0ä', 1, '0', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k10ä', 1, '1180591620717411303424', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k11ä', 1, '-170141183460469231731687303715884105729', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k12ä', 1, '1.7976931348623157e308', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k13ä', 1, '9007199254740993', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k14ä', 1, '"\u0000"', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k18ä', 1, '" ﻿�􏿿"', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k19ä', 1, '""', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k1ä', 1, '-0', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k22ä', 1, '[ ]', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k27ä', 1, 'true', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k28ä', 1, 'null', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k2ä', 1, '1', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k3ä', 1, '1.0', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k4ä', 1, '1E2', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k5ä', 1, '1e+2', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k6ä', 1, '-0.0', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k7ä', 1, '0e0', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k8ä', 1, '1e-400', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k9ä', 1, '0.1000000000000000055511151231257827', 1796100199714000, 559194794298146780, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'kept', 6, '"hunter2"', 1796100199629000, 8630093990935967607, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'language', 1, '"en"', 1796100199492000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 3, '-0.0', 1796100199498000, 5053195046130704321, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 5, '7', 1796100199564000, 1806184974909272147, 4, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'name', 2, '"Ada"', 1796100199496000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 7, NULL, 1796100199643000, 8630093990935967607, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 8, NULL, 1796100199645000, 8630093990935967607, 3, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'returns', 4, '1', 1796100199506000, 5053195046130704321, 6, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'bob', 'name', 1, '"Bob"', 1796100199651000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'zoe', 'alone', 1, 'true', 1796100199492000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_scopes values ('läger/1 ü', 'ß ø@例え', 1, 0, 0, 0, 0, 0);
insert into user_scopes values ('shop', 'ada', 8, 0, 0, 0, 0, 1);
insert into user_scopes values ('shop', 'bob', 1, 0, 0, 0, 0, 0);
insert into user_scopes values ('shop', 'zoe', 1, 0, 0, 0, 0, 0);
insert into user_spans values ('shop', 'ada', 4, 'n', 3, 5);
insert into user_state values ('shop', 'zoe', 'alone', 'true', 1);
insert into user_state values ('shop', 'ada', 'language', '"en"', 1);
insert into user_state values ('shop', 'ada', 'name', '"Ada"', 2);
insert into user_state values ('shop', 'ada', 'n', '7', 5);
insert into user_state values ('shop', 'ada', 'returns', '1', 4);
insert into user_state values ('shop', 'ada', 'kept', '"hunter2"', 6);
insert into user_state values ('shop', 'bob', 'name', '"Bob"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k0ä', '0', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k10ä', '1180591620717411303424', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k11ä', '-170141183460469231731687303715884105729', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k12ä', '1.7976931348623157e308', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k13ä', '9007199254740993', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k14ä', '"\u0000"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k15ä', '"a\u0000b\u001f\u007f"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k18ä', '" ﻿�􏿿"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k19ä', '""', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k1ä', '-0', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k22ä', '[ ]', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k24ä', '{"$serde_json::private::Number": "1"}', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k27ä', 'true', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k28ä', 'null', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k2ä', '1', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k3ä', '1.0', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k4ä', '1E2', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k5ä', '1e+2', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k6ä', '-0.0', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k7ä', '0e0', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k8ä', '1e-400', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k9ä', '0.1000000000000000055511151231257827', 1);
delete from sqlite_sequence;
insert into sqlite_sequence values ('changes', 95);
commit;
