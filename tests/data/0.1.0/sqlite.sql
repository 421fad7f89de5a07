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
);
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
);
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
insert into api_keys values ('mk3jr3xpdnqg', 'admin', X'D6A6D3A9DE99FCE0D2DC7D4164FAA3D276C5406EB816B8E0296741C974584089', 'admin', '["*"]', '["*"]', 1796080873465627, NULL, 1796080873519418, NULL);
insert into api_keys values ('mu5uww2p7ije', 'ends', X'E4A881FC7DB431F672DCC9D40D933FEBB8983459B9A2CAF95E70082890DA4428', 'operator', '["*"]', '["*"]', 1796080873527827, 4102444800000000, NULL, NULL);
insert into api_keys values ('p5kd33ntxgnd', 'reads less', X'7DE09B6F557CBB3E00E9344FD5375AE551C0D57BF3B98576C465D31199091CAE', 'reader', '["shop"]', '["ada"]', 1796080873522906, NULL, NULL, NULL);
insert into api_keys values ('xuvdw5vxaw7s', 'is revoked', NULL, 'agent', '["läger*","shop"]', '["*"]', 1796080873526834, NULL, NULL, 1796080873529976);
insert into app_log values ('läger/1 ü', 'k0ä', 1, '0', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k10ä', 1, '1180591620717411303424', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k11ä', 1, '-170141183460469231731687303715884105729', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k12ä', 1, '1.7976931348623157e308', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k13ä', 1, '9007199254740993', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k14ä', 1, '"\u0000"', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k18ä', 1, '" ﻿�􏿿"', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k19ä', 1, '""', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k1ä', 1, '-0', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k22ä', 1, '[ ]', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k27ä', 1, 'true', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k28ä', 1, 'null', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k2ä', 1, '1', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k3ä', 1, '1.0', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k4ä', 1, '1E2', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k5ä', 1, '1e+2', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k6ä', 1, '-0.0', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k7ä', 1, '0e0', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k8ä', 1, '1e-400', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k9ä', 1, '0.1000000000000000055511151231257827', 1796080873764000, 3665928100662165867, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'by', 5, '"deleted"', 1796080873699000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'count', 4, '2', 1796080873564000, 671347109008163381, 2, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'currency', 3, '"EUR"', 1796080873559000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 1, '[1.0]', 1796080873552000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 2, NULL, 1796080873553000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 6, '"x"', 1796080873766000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 7, '"x"', 1796080873835000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'returnDays', 1, '30', 1796080873552000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_scopes values ('shop', 7, 0, 0, 0, 0);
insert into app_scopes values ('läger/1 ü', 1, 0, 0, 0, 0);
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
insert into artifact_names values ('shop', 'ada', 'files', 3482415187745907882, 'notes/summary', 2, 1, 2, NULL);
insert into artifact_names values ('shop', 'ada', 'files-2', 907168408244370063, 'gone', 1, NULL, 0, NULL);
insert into artifact_names values ('shop', 'ada', 'files-2', 907168408244370063, 'page.html', 4, 3, 4, 3);
insert into artifact_names values ('shop', 'bob', 'by-adk', 521229397707086304, 'a', 1, 0, 1, NULL);
insert into artifact_places values ('shop', 'ada', '', 0, 1);
insert into artifact_places values ('shop', 'ada', 'files', 3482415187745907882, 2);
insert into artifact_places values ('shop', 'ada', 'files-2', 907168408244370063, 4);
insert into artifact_places values ('shop', 'bob', 'by-adk', 521229397707086304, 1);
insert into artifact_spans values ('shop', 'ada', 'files-2', 907168408244370063, 2, 'page.html', 1, 2, 0);
insert into artifact_spans values ('shop', 'ada', 'files-2', 907168408244370063, 3, 'page.html', 2, 3, 2);
insert into artifact_state values ('shop', 'ada', 'files-2', 907168408244370063, 'gone', 0, 4);
insert into artifact_state values ('shop', 'ada', 'files-2', 907168408244370063, 'page.html', 3, 3);
insert into artifact_state values ('shop', 'ada', 'files', 3482415187745907882, 'notes/summary', 0, 1);
insert into artifact_state values ('shop', 'ada', 'files', 3482415187745907882, 'user:address', 0, 2);
insert into artifacts values ('shop', 'ada', 'files', 3482415187745907882, 'notes/summary', 0, 5434018590199948165, 'text', 'text/plain', 14, X'3E6C1234228EB2390FA98A214DC9021924B308E03BDFF3C19BE6E22D608173DE', '01a22ec3-306a-714c-8e5e-71b053d51077', 1796080873578600, '{"n":1.0}', NULL, NULL, 1, 'save-1', X'26419E28C76E7A79A0E9095791E4F0F2C2B8762A3394F5C51365C71CEBEB2984');
insert into artifacts values ('shop', 'ada', 'files', 3482415187745907882, 'notes/summary', 1, 365169935463002853, 'bytes', 'a/b', 7, X'A9D7A888389F7C168A45F653D59E171FD5188CA7A88DE23A306070AB968E847D', '01a22ec3-306c-74c3-9627-62f09b154812', 1796080873580861, NULL, '"n"', NULL, NULL, 'save-2', X'139E072544FC51136CE7148E64C95E8C2BC71D474CFBEB1A793EA2274D6939A7');
insert into artifacts values ('shop', 'ada', '', 0, 'user:address', 0, 4262530632426109963, 'uri', 'c/d', NULL, NULL, NULL, 1796080873582887, NULL, NULL, '"gs://a/b"', 2, 'save-3', X'5F891A92236FAB2F7566EF7A7A61B65A17ECCF13C674360002BBFD995648A46B');
insert into artifacts values ('shop', 'ada', 'files-2', 907168408244370063, 'page.html', 0, 332224228964934228, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a22ec3-3080-7206-b87a-7e397c6d0253', 1796080873601002, NULL, NULL, NULL, 1, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 907168408244370063, 'page.html', 1, 4013860728231246231, 'bytes', 'text/html', 8, X'6E784353EA75228D9D65F28D704F77C2B294757AE6D8CA74AE74A459DE564CFA', '01a22ec3-3083-71ec-8848-123d16c2495f', 1796080873603275, NULL, NULL, NULL, NULL, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 907168408244370063, 'page.html', 2, 6543608776847057386, 'bytes', 'text/html', 8, X'F543C768A1419D4865F627460E7D4F974AE95606E4981F9B6E829D09299E7DA8', '01a22ec3-3085-7261-b9f5-d5f5aaf7789f', 1796080873605744, NULL, '"ü"', NULL, 2, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 907168408244370063, 'page.html', 3, 5651264994596088943, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a22ec3-3080-7206-b87a-7e397c6d0253', 1796080873607000, NULL, NULL, NULL, 3, NULL, NULL);
insert into artifacts values ('shop', 'bob', 'by-adk', 521229397707086304, 'a', 0, 5748647377596753524, 'text', 'text/plain', 6, X'9A2F5DA45C096840A0CE25B489C89C3B91F4ECA1054E71D338BE0BCEFA7D3A2A', '01a22ec3-30e9-749e-ae91-86f12a1ef141', 1796080873705102, '{"m":"s"}', NULL, NULL, NULL, NULL, NULL);
insert into blob_chunks values ('shop', 'ada', '01a22ec3-306a-714c-8e5e-71b053d51077', 0, X'6772C3BCC39F000A22476F747422');
insert into blob_chunks values ('shop', 'ada', '01a22ec3-306c-74c3-9627-62f09b154812', 0, X'000102030405FF');
insert into blob_chunks values ('shop', 'ada', '01a22ec3-3080-7206-b87a-7e397c6d0253', 0, X'3C623E313C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a22ec3-3083-71ec-8848-123d16c2495f', 0, X'3C623E323C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a22ec3-3085-7261-b9f5-d5f5aaf7789f', 0, X'3C623E333C2F623E');
insert into blob_chunks values ('shop', 'bob', '01a22ec3-30e9-749e-ae91-86f12a1ef141', 0, X'62792041444B');
insert into blobs values ('shop', 'ada', '01a22ec3-306a-714c-8e5e-71b053d51077', 14, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22ec3-306c-74c3-9627-62f09b154812', 7, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22ec3-3080-7206-b87a-7e397c6d0253', 8, 2, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22ec3-3083-71ec-8848-123d16c2495f', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22ec3-3085-7261-b9f5-d5f5aaf7789f', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'bob', '01a22ec3-30e9-749e-ae91-86f12a1ef141', 6, 1, NULL, NULL, NULL, NULL, NULL);
insert into blocked_users values ('shop', X'791BC6581748B4555D662454E225B3DB980718936267CAB160FAFB1D302830CA');
insert into changes values (1, 0, '', NULL, NULL, NULL, 0, 0, NULL, 1796080873419000);
insert into changes values (2, 7, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796080873552000);
insert into changes values (3, 7, 'shop', NULL, NULL, NULL, 2, 2, NULL, 1796080873553000);
insert into changes values (4, 6, 'shop', 'zoe', NULL, NULL, 1, 1, NULL, 1796080873555000);
insert into changes values (5, 6, 'shop', 'ada', NULL, NULL, 1, 1, NULL, 1796080873556000);
insert into changes values (6, 1, 'shop', 'ada', 'files', 3482415187745907882, 0, 0, NULL, 1796080873557000);
insert into changes values (7, 1, 'shop', 'ada', 'order-1', 671347109008163381, 0, 0, NULL, 1796080873559000);
insert into changes values (8, 6, 'shop', 'ada', NULL, NULL, 2, 2, NULL, 1796080873559000);
insert into changes values (9, 7, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1796080873559000);
insert into changes values (10, 2, 'shop', 'ada', 'order-1', 671347109008163381, 1, 1, NULL, 1796080873561000);
insert into changes values (11, 6, 'shop', 'ada', NULL, NULL, 3, 3, NULL, 1796080873561000);
insert into changes values (12, 2, 'shop', 'ada', 'order-1', 671347109008163381, 2, 3, NULL, 1796080873564000);
insert into changes values (13, 7, 'shop', NULL, NULL, NULL, 4, 4, NULL, 1796080873564000);
insert into changes values (14, 2, 'shop', 'ada', 'order-1', 671347109008163381, 4, 4, NULL, 1796080873566000);
insert into changes values (15, 2, 'shop', 'ada', 'order-1', 671347109008163381, 5, 5, NULL, 1796080873571000);
insert into changes values (16, 2, 'shop', 'ada', 'order-1', 671347109008163381, 6, 6, NULL, 1796080873575000);
insert into changes values (17, 6, 'shop', 'ada', NULL, NULL, 4, 4, NULL, 1796080873575000);
insert into changes values (18, 1, 'shop', 'ada', 'order-1-again', 7826997119949190349, 0, 3, '{"sessionId":"order-1","revision":3}', 1796080873577000);
insert into changes values (19, 2, 'shop', 'ada', 'order-1-again', 7826997119949190349, 1, 3, NULL, 1796080873577000);
insert into changes values (20, 9, 'shop', 'ada', 'files', 3482415187745907882, 0, 0, '{"name":"notes/summary","version":0,"size":14}', 1796080873580000);
insert into changes values (21, 2, 'shop', 'ada', 'files', 3482415187745907882, 1, 1, NULL, 1796080873580000);
insert into changes values (22, 9, 'shop', 'ada', 'files', 3482415187745907882, 0, 0, '{"name":"notes/summary","version":1,"size":7}', 1796080873581000);
insert into changes values (23, 9, 'shop', 'ada', NULL, NULL, 0, 0, '{"name":"user:address","version":0}', 1796080873583000);
insert into changes values (24, 2, 'shop', 'ada', 'files', 3482415187745907882, 2, 2, NULL, 1796080873583000);
insert into changes values (25, 3, 'shop', 'ada', 'order-1-again', 7826997119949190349, 0, 0, '{"displayName":"forked","labels":{"a":"b"},"expireTime":4102444800.000000}', 1796080873591000);
insert into changes values (26, 2, 'shop', 'ada', 'order-1-again', 7826997119949190349, 4, 4, NULL, 1796080873597000);
insert into changes values (27, 6, 'shop', 'ada', NULL, NULL, 5, 5, NULL, 1796080873597000);
insert into changes values (28, 1, 'shop', 'ada', 'files-2', 907168408244370063, 0, 0, NULL, 1796080873600000);
insert into changes values (29, 9, 'shop', 'ada', 'files-2', 907168408244370063, 0, 0, '{"name":"page.html","version":0,"size":8}', 1796080873602000);
insert into changes values (30, 2, 'shop', 'ada', 'files-2', 907168408244370063, 1, 1, NULL, 1796080873602000);
insert into changes values (31, 9, 'shop', 'ada', 'files-2', 907168408244370063, 0, 0, '{"name":"page.html","version":1,"size":8}', 1796080873604000);
insert into changes values (32, 9, 'shop', 'ada', 'files-2', 907168408244370063, 0, 0, '{"name":"page.html","version":2,"size":8}', 1796080873606000);
insert into changes values (33, 2, 'shop', 'ada', 'files-2', 907168408244370063, 2, 2, NULL, 1796080873606000);
insert into changes values (34, 9, 'shop', 'ada', 'files-2', 907168408244370063, 0, 0, '{"name":"page.html","version":3,"size":8}', 1796080873612000);
insert into changes values (35, 2, 'shop', 'ada', 'files-2', 907168408244370063, 3, 3, NULL, 1796080873612000);
insert into changes values (36, 9, 'shop', 'ada', 'files-2', 907168408244370063, 0, 0, '{"name":"gone","version":0,"size":1}', 1796080873613000);
insert into changes values (37, 2, 'shop', 'ada', 'files-2', 907168408244370063, 4, 4, NULL, 1796080873613000);
insert into changes values (38, 10, 'shop', 'ada', 'files-2', 907168408244370063, 0, 0, '{"name":"gone","reason":"deleted"}', 1796080873614000);
insert into changes values (39, 1, 'shop', 'ada', 'compacted', 249469143173954357, 0, 0, NULL, 1796080873618000);
insert into changes values (40, 2, 'shop', 'ada', 'compacted', 249469143173954357, 1, 1, NULL, 1796080873620000);
insert into changes values (41, 2, 'shop', 'ada', 'compacted', 249469143173954357, 2, 2, NULL, 1796080873621000);
insert into changes values (42, 2, 'shop', 'ada', 'compacted', 249469143173954357, 3, 3, NULL, 1796080873621000);
insert into changes values (43, 2, 'shop', 'ada', 'compacted', 249469143173954357, 4, 4, NULL, 1796080873622000);
insert into changes values (44, 2, 'shop', 'ada', 'compacted', 249469143173954357, 5, 5, NULL, 1796080873623000);
insert into changes values (45, 2, 'shop', 'ada', 'compacted', 249469143173954357, 6, 6, NULL, 1796080873627000);
insert into changes values (46, 1, 'shop', 'ada', 'trimmed', 2466460211129952588, 0, 0, NULL, 1796080873629000);
insert into changes values (47, 2, 'shop', 'ada', 'trimmed', 2466460211129952588, 1, 1, NULL, 1796080873633000);
insert into changes values (48, 2, 'shop', 'ada', 'trimmed', 2466460211129952588, 2, 2, NULL, 1796080873634000);
insert into changes values (49, 2, 'shop', 'ada', 'trimmed', 2466460211129952588, 3, 3, NULL, 1796080873636000);
insert into changes values (50, 2, 'shop', 'ada', 'trimmed', 2466460211129952588, 4, 4, NULL, 1796080873637000);
insert into changes values (51, 2, 'shop', 'ada', 'trimmed', 2466460211129952588, 5, 5, NULL, 1796080873638000);
insert into changes values (52, 4, 'shop', 'ada', 'trimmed', 2466460211129952588, 0, 3, NULL, 1796080873641000);
insert into changes values (53, 1, 'shop', 'ada', 'moved', 8839491583063891090, 0, 0, NULL, 1796080873642000);
insert into changes values (54, 2, 'shop', 'ada', 'moved', 8839491583063891090, 1, 1, NULL, 1796080873644000);
insert into changes values (55, 2, 'shop', 'ada', 'moved', 8839491583063891090, 2, 2, NULL, 1796080873645000);
insert into changes values (56, 2, 'shop', 'ada', 'moved', 8839491583063891090, 3, 3, NULL, 1796080873646000);
insert into changes values (57, 2, 'shop', 'ada', 'moved', 8839491583063891090, 4, 4, NULL, 1796080873647000);
insert into changes values (58, 2, 'shop', 'ada', 'moved', 8839491583063891090, 5, 5, NULL, 1796080873648000);
insert into changes values (59, 4, 'shop', 'ada', 'moved', 8839491583063891090, 0, 3, NULL, 1796080873649000);
insert into changes values (60, 1, 'shop', 'ada', 'redacted', 5444416713785835950, 0, 0, NULL, 1796080873651000);
insert into changes values (61, 2, 'shop', 'ada', 'redacted', 5444416713785835950, 1, 1, NULL, 1796080873653000);
insert into changes values (62, 6, 'shop', 'ada', NULL, NULL, 6, 6, NULL, 1796080873653000);
insert into changes values (63, 11, 'shop', 'ada', 'redacted', 5444416713785835950, 1, 1, NULL, 1796080873654000);
insert into changes values (64, 2, 'shop', 'ada', 'redacted', 5444416713785835950, 2, 2, NULL, 1796080873680000);
insert into changes values (65, 6, 'shop', 'ada', NULL, NULL, 7, 7, NULL, 1796080873680000);
insert into changes values (66, 11, 'shop', 'ada', 'redacted', 5444416713785835950, 2, 2, NULL, 1796080873698000);
insert into changes values (67, 2, 'shop', 'ada', 'redacted', 5444416713785835950, 3, 3, NULL, 1796080873698000);
insert into changes values (68, 6, 'shop', 'ada', NULL, NULL, 8, 8, NULL, 1796080873698000);
insert into changes values (69, 1, 'shop', 'ada', 'deleted', 3596955241775542407, 0, 0, NULL, 1796080873700000);
insert into changes values (70, 7, 'shop', NULL, NULL, NULL, 5, 5, NULL, 1796080873700000);
insert into changes values (71, 5, 'shop', 'ada', 'deleted', 3596955241775542407, 0, 0, 'deleted', 1796080873702000);
insert into changes values (72, 1, 'shop', 'bob', 'by-adk', 521229397707086304, 0, 0, NULL, 1796080873704000);
insert into changes values (73, 6, 'shop', 'bob', NULL, NULL, 1, 1, NULL, 1796080873704000);
insert into changes values (74, 9, 'shop', 'bob', 'by-adk', 521229397707086304, 0, 0, '{"name":"a","version":0,"size":6}', 1796080873705000);
insert into changes values (75, 5, 'shop', 'ada', 'moved', 8839491583063891090, 0, 0, 'deleted', 1796080873726000);
insert into changes values (76, 1, 'shop', 'ada', 'moved', 6914406340717014266, 0, 5, NULL, 1796080873729000);
insert into changes values (77, 2, 'shop', 'ada', 'moved', 6914406340717014266, 4, 5, NULL, 1796080873729000);
insert into changes values (78, 1, 'copy', 'ada', 'order-1', 3817240814965638341, 0, 6, NULL, 1796080873754000);
insert into changes values (79, 2, 'copy', 'ada', 'order-1', 3817240814965638341, 1, 6, NULL, 1796080873754000);
insert into changes values (80, 1, 'läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 0, 0, NULL, 1796080873755000);
insert into changes values (81, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 1, 1, NULL, 1796080873756000);
insert into changes values (82, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 2, 2, NULL, 1796080873759000);
insert into changes values (83, 6, 'läger/1 ü', 'ß ø@例え', NULL, NULL, 1, 1, NULL, 1796080873759000);
insert into changes values (84, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 3, 3, NULL, 1796080873764000);
insert into changes values (85, 7, 'läger/1 ü', NULL, NULL, NULL, 1, 1, NULL, 1796080873764000);
insert into changes values (86, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1796080873768000);
insert into changes values (87, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796080873768000);
insert into changes values (88, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796080873768000);
insert into changes values (89, 7, 'shop', NULL, NULL, NULL, 6, 6, NULL, 1796080873768000);
insert into changes values (90, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22ec3-312a-7785-90e1-b50546017bab","subject":"791bc6581748b4555d662454e225b3db980718936267cab160fafb1d302830ca"}', 1796080873775000);
insert into changes values (91, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1796080873836000);
insert into changes values (92, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796080873836000);
insert into changes values (93, 0, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1796080873836000);
insert into changes values (94, 7, 'shop', NULL, NULL, NULL, 7, 7, NULL, 1796080873836000);
insert into changes values (95, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22ec3-316e-70ea-9338-40622c17b9e3","subject":"d4523a677ba7e6427f3f229cf9e009bd6431a9714deb00497227355187f7d23f"}', 1796080873840000);
insert into effective_views values ('shop', 'ada', 'compacted', 249469143173954357, 5, '{"covered":[[1,3]],"needed":[],"unsure":false,"kept":[[5,4607182418800017408,4613937818241073152,{"scope":null,"branch":null,"node":false},5]]}');
insert into erased_revisions values ('shop', 4);
insert into erasure_counts values ('shop', 2);
insert into erasure_secrets values ('receipt', X'3051020101300506032B6570042204209F7A97B564477FDB861D67C152903D61363980D8735311ED688AE71BC2DB040F81210006C02AF476DBCD26FA769F1D065839728008F7B7C7C54C0528A918ACF3C58D23');
insert into erasure_secrets values ('salt', X'FC673FEDF7DC17CD9FF08FA27E63C8997CB2708553C740FB8A0D9CB7CE513215');
insert into erasures values ('01a22ec3-312a-7785-90e1-b50546017bab', 'shop', X'791BC6581748B4555D662454E225B3DB980718936267CAB160FAFB1D302830CA', X'29622E164471FF26717C2E47AFEFA6D2EFB0FD17B32960DA8FB935B716BAD775', 'case 17', 1, 1, 1796080873770997, 1796080873814984, 1, 1, 2, 1, 0, '{"id":"01a22ec3-312a-7785-90e1-b50546017bab","appName":"shop","subject":"791bc6581748b4555d662454e225b3db980718936267cab160fafb1d302830ca","reference":"case 17","requestTime":1796080873.770997,"doneTime":1796080873.814984,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":true,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","a keyed hash of app and user by which the user is refused"],"instance":"0fd38a27168c6b2449b51beb388181bc","keyId":"3f0fed8a7def90e6","signature":"R7Ut4973mtu5bDGz_fcXNSK5w7uKFtVcse439sN0axztv29DAAnVsKnAsNHAvnsqN-mpm8vwRCNDRJR_duP9Dg"}');
insert into erasures values ('01a22ec3-316e-70ea-9338-40622c17b9e3', 'shop', X'D4523A677BA7E6427F3F229CF9E009BD6431A9714DEB00497227355187F7D23F', NULL, 'case 18', NULL, 0, 1796080873838476, 1796080873891414, 1, 1, 2, 1, 0, '{"id":"01a22ec3-316e-70ea-9338-40622c17b9e3","appName":"shop","subject":"d4523a677ba7e6427f3f229cf9e009bd6431a9714deb00497227355187f7d23f","reference":"case 18","requestTime":1796080873.838476,"doneTime":1796080873.891414,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":false,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens"],"instance":"0fd38a27168c6b2449b51beb388181bc","keyId":"3f0fed8a7def90e6","signature":"Pfd0ccpHwgZ9BCHCThmRyO1nJs1H5EEqvqB97-tF8-Zjw1DeiYviLIraai5SVy5myTMErJIpCXemVdYjYkQTDA"}');
insert into events values ('shop', 'ada', 'order-1', 671347109008163381, 1, 'e1', 1500000, 1796080873560710, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1', 671347109008163381, 2, 'e2', 1796080873563351, 1796080873563576, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796080873.563351}', NULL);
insert into events values ('shop', 'ada', 'order-1', 671347109008163381, 3, 'e3', 1796080873563351, 1796080873563576, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796080873.563351}', NULL);
insert into events values ('shop', 'ada', 'order-1', 671347109008163381, 4, 'rewind-1', 1796080873565148, 1796080873565764, 'user', 'rewind-01a22ec3-305d-76ab-aac5-c0f9a6a33cf9', NULL, 3, 4, 2, X'54EC53CE57B2630469E1BA2B56446E910E189131F5C78941CFFAFA03E28CC9E7', '{"author":"user","invocationId":"rewind-01a22ec3-305d-76ab-aac5-c0f9a6a33cf9","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1796080873.565148}', NULL);
insert into events values ('shop', 'ada', 'order-1', 671347109008163381, 5, 'put-1', 1796080873567119, 1796080873570855, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1796080873.567119}', NULL);
insert into events values ('shop', 'ada', 'order-1', 671347109008163381, 6, 'patch-1', 1796080873572001, 1796080873575107, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1796080873.572001}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 7826997119949190349, 1, 'e1', 1500000, 1796080873560710, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 7826997119949190349, 2, 'e2', 1796080873563351, 1796080873563576, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796080873.563351}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 7826997119949190349, 3, 'e3', 1796080873563351, 1796080873563576, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796080873.563351}', NULL);
insert into events values ('shop', 'ada', 'files', 3482415187745907882, 1, '01a22ec3-306a-714c-8e5e-71b12c58e1fc', 1796080873578600, 1796080873579121, 'user', '', NULL, 4, 4, NULL, X'D2E2E5C0F9AED3095775C9C8F1BC1925FBCEB4704466F38B9E2A05F080ED24B6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"notes/summary":0}},"id":"01a22ec3-306a-714c-8e5e-71b12c58e1fc","timestamp":1796080873.578600}', NULL);
insert into events values ('shop', 'ada', 'files', 3482415187745907882, 2, '01a22ec3-306e-7453-b563-a3eb22174243', 1796080873582887, 1796080873583290, 'user', '', NULL, 4, 4, NULL, X'601AC91DD78257428AFF5E52EF0CF956333CE74FF62FF6F9C0EE2174F1AEEBC6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"user:address":0}},"id":"01a22ec3-306e-7453-b563-a3eb22174243","timestamp":1796080873.582887}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 7826997119949190349, 4, 'own', 1796080873596674, 1796080873596935, 'user', '', NULL, 5, 4, NULL, X'ABAC0094F067CA3A080374546A8F16559889F3D0C2DB27C80EC48CA855EDF5D3', '{"id":"own","author":"user","actions":{"stateDelta":{"user:n":7}},"timestamp":1796080873.596674}', NULL);
insert into events values ('shop', 'ada', 'files-2', 907168408244370063, 1, '01a22ec3-3081-714b-8fba-757189166d17', 1796080873601002, 1796080873602361, 'user', '', NULL, 5, 4, NULL, X'2E8CC7579CFFF08786CE4C8806BD956E831F50E37DDCFEFE584B2D0E6EA27985', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":0}},"id":"01a22ec3-3081-714b-8fba-757189166d17","timestamp":1796080873.601002}', NULL);
insert into events values ('shop', 'ada', 'files-2', 907168408244370063, 2, '01a22ec3-3085-7261-b9f5-d5f694c30cb1', 1796080873605744, 1796080873606122, 'user', '', NULL, 5, 4, NULL, X'80D48EAE81BBE94071B8B31400F3C11BCB79002CD30FA2CAF13AA738E46633C2', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":2}},"id":"01a22ec3-3085-7261-b9f5-d5f694c30cb1","timestamp":1796080873.605744}', NULL);
insert into events values ('shop', 'ada', 'files-2', 907168408244370063, 3, '01a22ec3-3086-7341-8fe3-cf13dd29d866', 1796080873607000, 1796080873609682, 'user', 'rewind-01a22ec3-3086-7341-8fe3-cf14aa71e001', NULL, 5, 4, 1, X'D8E19A3B91271D26CE967A77FC0329C1BA52BBE2F2327784AE1DDBFD5E02809E', '{"author":"user","invocationId":"rewind-01a22ec3-3086-7341-8fe3-cf14aa71e001","actions":{"stateDelta":{},"rewindBeforeInvocationId":"","artifactDelta":{"page.html":3}},"customMetadata":{"rewindToRevision":1},"id":"01a22ec3-3086-7341-8fe3-cf13dd29d866","timestamp":1796080873.607000}', NULL);
insert into events values ('shop', 'ada', 'files-2', 907168408244370063, 4, '01a22ec3-308c-7411-a135-17b4ebee93bb', 1796080873612661, 1796080873612973, 'user', '', NULL, 5, 4, NULL, X'65F05C4408D5AECEBEA0AD84224D538BAEA2B514D41885DC4A2462ECE115D210', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"gone":0}},"id":"01a22ec3-308c-7411-a135-17b4ebee93bb","timestamp":1796080873.612661}', NULL);
insert into events values ('shop', 'ada', 'compacted', 249469143173954357, 1, 'c1', 1000000, 1796080873620064, 'user', '', NULL, 5, 4, NULL, X'249CD456F8A74212A410A302A901B41D830C2659E48737E6AE21D7CF0B6AFF57', '{"id":"c1","author":"user","timestamp":1,"content":{"parts":[{"text":"1"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 249469143173954357, 2, 'c2', 2000000, 1796080873621053, 'user', '', NULL, 5, 4, NULL, X'F680371D2B6E2F9D8A0FDEAFE556555B5DF34CB1FD66A522FF0A8ABAEE264B2D', '{"id":"c2","author":"user","timestamp":2,"content":{"parts":[{"text":"2"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 249469143173954357, 3, 'c3', 3000000, 1796080873621725, 'user', '', NULL, 5, 4, NULL, X'E49233C089B6757E03E35240335E71790F5C5EFE2BB2F209D847FCC8719F6D55', '{"id":"c3","author":"user","timestamp":3,"content":{"parts":[{"text":"3"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 249469143173954357, 4, 'c4', 4000000, 1796080873622383, 'user', '', NULL, 5, 4, NULL, X'BE10D376FFB0E7AEEB33FBE5F68C72675B04DC9A8E0541BBE6CD7690CA245DD4', '{"id":"c4","author":"user","timestamp":4,"content":{"parts":[{"text":"4"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 249469143173954357, 5, 'sum', 5000000, 1796080873623107, 'agent', '', NULL, 5, 4, -1, X'2585B1D6369DD3B1F387F46B7886EACF90A8ACF9098174BC4BB3BAC18B6AD881', '{"id":"sum","author":"agent","timestamp":5,"actions":{"compaction":{"startTimestamp":1,"endTimestamp":3,"compactedContent":{"role":"model","parts":[{"text":"1 to 3"}]}}}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 249469143173954357, 6, 'last', 6000000, 1796080873626966, 'user', '', NULL, 5, 4, NULL, X'6E30AB5A008548DD04251542838F5591806078AD17B61289A8EDF5F1F50CB1A6', '{"id":"last","author":"user","timestamp":6}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 2466460211129952588, 1, 't1', 1796080873630923, 1796080873632818, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 2466460211129952588, 2, 't2', 1796080873633958, 1796080873634016, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 2466460211129952588, 3, 't3', 1796080873636522, 1796080873636577, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 2466460211129952588, 4, 't4', 1796080873637308, 1796080873637360, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1796080873.637308}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 2466460211129952588, 5, 't5', 1796080873638292, 1796080873638348, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1796080873.638292}', NULL);
insert into events values ('shop', 'ada', 'redacted', 5444416713785835950, 1, 'kept', 1796080873652481, 1796080873652540, 'user', '', NULL, 6, 4, NULL, X'0000000000000000000000000000000000000000000000000000000000000000', '{"id":"kept","timestamp":1796080873.652481,"author":"user","actions":{"stateDelta":{"kept":"hunter2","user:kept":"hunter2"}},"redacted":{"time":1796080873.653776,"reason":"a password"}}', 1);
insert into events values ('shop', 'ada', 'redacted', 5444416713785835950, 2, 'removed', 1796080873680185, 1796080873680432, 'user', '', NULL, 7, 4, NULL, X'0000000000000000000000000000000000000000000000000000000000000000', '{"id":"removed","timestamp":1796080873.680185,"author":"user","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"redacted":{"time":1796080873.681400,"reason":"a password"}}', 2);
insert into events values ('shop', 'ada', 'redacted', 5444416713785835950, 3, '01a22ec3-30d1-71f2-b260-c0a4701df986', 1796080873681313, 1796080873695140, 'user', '', NULL, 8, 4, NULL, X'8C372D64E780678DB298D472C65643BBAC5AB92E04588C224C9EA5E5E0C7EDE4', '{"id":"01a22ec3-30d1-71f2-b260-c0a4701df986","author":"user","invocationId":"","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"timestamp":1796080873.681313}', -2);
insert into events values ('shop', 'ada', 'moved', 6914406340717014266, 1, 't1', 1796080873643624, 1796080873644505, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'moved', 6914406340717014266, 2, 't2', 1796080873645189, 1796080873645247, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'moved', 6914406340717014266, 3, 't3', 1796080873646212, 1796080873646266, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'moved', 6914406340717014266, 4, 't4', 1796080873647050, 1796080873647106, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1796080873.647050}', NULL);
insert into events values ('shop', 'ada', 'moved', 6914406340717014266, 5, 't5', 1796080873647852, 1796080873647926, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1796080873.647852}', NULL);
insert into events values ('copy', 'ada', 'order-1', 3817240814965638341, 1, 'e1', 1500000, 1796080873560710, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('copy', 'ada', 'order-1', 3817240814965638341, 2, 'e2', 1796080873563351, 1796080873563576, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796080873.563351}', NULL);
insert into events values ('copy', 'ada', 'order-1', 3817240814965638341, 3, 'e3', 1796080873563351, 1796080873563576, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796080873.563351}', NULL);
insert into events values ('copy', 'ada', 'order-1', 3817240814965638341, 4, 'rewind-1', 1796080873565148, 1796080873565764, 'user', 'rewind-01a22ec3-305d-76ab-aac5-c0f9a6a33cf9', NULL, 3, 4, 2, X'54EC53CE57B2630469E1BA2B56446E910E189131F5C78941CFFAFA03E28CC9E7', '{"author":"user","invocationId":"rewind-01a22ec3-305d-76ab-aac5-c0f9a6a33cf9","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1796080873.565148}', NULL);
insert into events values ('copy', 'ada', 'order-1', 3817240814965638341, 5, 'put-1', 1796080873567119, 1796080873570855, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1796080873.567119}', NULL);
insert into events values ('copy', 'ada', 'order-1', 3817240814965638341, 6, 'patch-1', 1796080873572001, 1796080873575107, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1796080873.572001}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 1, 'e/ä', 1796080873756099, 1796080873756180, 'agent', '', NULL, 0, 0, NULL, X'E78CFB5291353133438166F3E9E1F7DA2539E819856DE2D160DEA064905B1F7C', '{"id":"e/ä","author":"agent","actions":{"stateDelta":{ "k0ä": 0 , "k1ä": -0 , "k2ä": 1 , "k3ä": 1.0 , "k4ä": 1E2 , "k5ä": 1e+2 , "k6ä": -0.0 , "k7ä": 0e0 , "k8ä": 1e-400 , "k9ä": 0.1000000000000000055511151231257827 , "k10ä": 1180591620717411303424 , "k11ä": -170141183460469231731687303715884105729 , "k12ä": 1.7976931348623157e308 , "k13ä": 9007199254740993 , "k14ä": "\u0000" , "k15ä": "a\u0000b\u001f\u007f" , "k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "k17ä": "\/ / \" \\ \b\f\n\r\t" , "k18ä": " ﻿�􏿿" , "k19ä": "" , "k20ä": {"b":1,"a":2,"":3,"B":4} , "k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "k22ä": [ ] , "k23ä": {"$serde_json::private::RawValue": "[1]"} , "k24ä": {"$serde_json::private::Number": "1"} , "k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "k26ä": {"__proto__":1,"constructor":{"x":null}} , "k27ä": true , "k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796080873.756099}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 2, 'user:e/ä', 1796080873757521, 1796080873758834, 'agent', '', NULL, 1, 0, NULL, X'AAEB3F9FD8C682C65552B5F40D0C01C5E8880C8B8CC9650F2751ABEAFFB0268B', '{"id":"user:e/ä","author":"agent","actions":{"stateDelta":{ "user:k0ä": 0 , "user:k1ä": -0 , "user:k2ä": 1 , "user:k3ä": 1.0 , "user:k4ä": 1E2 , "user:k5ä": 1e+2 , "user:k6ä": -0.0 , "user:k7ä": 0e0 , "user:k8ä": 1e-400 , "user:k9ä": 0.1000000000000000055511151231257827 , "user:k10ä": 1180591620717411303424 , "user:k11ä": -170141183460469231731687303715884105729 , "user:k12ä": 1.7976931348623157e308 , "user:k13ä": 9007199254740993 , "user:k14ä": "\u0000" , "user:k15ä": "a\u0000b\u001f\u007f" , "user:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "user:k17ä": "\/ / \" \\ \b\f\n\r\t" , "user:k18ä": " ﻿�􏿿" , "user:k19ä": "" , "user:k20ä": {"b":1,"a":2,"":3,"B":4} , "user:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "user:k22ä": [ ] , "user:k23ä": {"$serde_json::private::RawValue": "[1]"} , "user:k24ä": {"$serde_json::private::Number": "1"} , "user:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "user:k26ä": {"__proto__":1,"constructor":{"x":null}} , "user:k27ä": true , "user:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796080873.757521}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 3, 'app:e/ä', 1796080873762960, 1796080873763031, 'agent', '', NULL, 1, 1, NULL, X'7C243795615B1D07ED39E8C4AFFB45B944DE62BE3E14B9683ECFEFE79FB05006', '{"id":"app:e/ä","author":"agent","actions":{"stateDelta":{ "app:k0ä": 0 , "app:k1ä": -0 , "app:k2ä": 1 , "app:k3ä": 1.0 , "app:k4ä": 1E2 , "app:k5ä": 1e+2 , "app:k6ä": -0.0 , "app:k7ä": 0e0 , "app:k8ä": 1e-400 , "app:k9ä": 0.1000000000000000055511151231257827 , "app:k10ä": 1180591620717411303424 , "app:k11ä": -170141183460469231731687303715884105729 , "app:k12ä": 1.7976931348623157e308 , "app:k13ä": 9007199254740993 , "app:k14ä": "\u0000" , "app:k15ä": "a\u0000b\u001f\u007f" , "app:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "app:k17ä": "\/ / \" \\ \b\f\n\r\t" , "app:k18ä": " ﻿�􏿿" , "app:k19ä": "" , "app:k20ä": {"b":1,"a":2,"":3,"B":4} , "app:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "app:k22ä": [ ] , "app:k23ä": {"$serde_json::private::RawValue": "[1]"} , "app:k24ä": {"$serde_json::private::Number": "1"} , "app:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "app:k26ä": {"__proto__":1,"constructor":{"x":null}} , "app:k27ä": true , "app:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796080873.762960}', NULL);
insert into policies values ('none', 2, NULL, NULL, NULL, NULL, 0);
insert into policies values ('shop', 1, '{"sessions":{"maxAge":"36500d"},"artifacts":{"keepVersions":50},"limits":{"sessionsPerUser":1000,"eventsPerSession":1000}}', 1000, 1000, NULL, 0);
insert into session_spans values ('shop', 'ada', 'order-1', 671347109008163381, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1', 671347109008163381, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1', 671347109008163381, 2, 'topic', 0, 3, 1, '"return"');
insert into session_spans values ('shop', 'ada', 'order-1', 671347109008163381, 4, 'n', 3, 4, 0, 'null');
insert into session_spans values ('shop', 'ada', 'trimmed', 2466460211129952588, 4, 'k', 3, 4, 0, '3');
insert into session_spans values ('shop', 'ada', 'trimmed', 2466460211129952588, 5, 'k', 4, 5, 0, '4');
insert into session_spans values ('copy', 'ada', 'order-1', 3817240814965638341, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('copy', 'ada', 'order-1', 3817240814965638341, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('copy', 'ada', 'order-1', 3817240814965638341, 2, 'topic', 0, 3, 1, '"return"');
insert into session_spans values ('copy', 'ada', 'order-1', 3817240814965638341, 4, 'n', 3, 4, 0, 'null');
insert into session_spans values ('shop', 'ada', 'moved', 6914406340717014266, 4, 'k', 3, 4, 0, '3');
insert into session_spans values ('shop', 'ada', 'moved', 6914406340717014266, 5, 'k', 4, 5, 0, '4');
insert into session_spans values ('shop', 'ada', 'order-1-again', 7826997119949190349, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1-again', 7826997119949190349, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1-again', 7826997119949190349, 2, 'topic', 0, 3, 1, '"return"');
insert into session_state values ('shop', 'ada', 'order-1', 671347109008163381, 'n', '1E2', 4);
insert into session_state values ('shop', 'ada', 'order-1', 671347109008163381, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1', 671347109008163381, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1', 671347109008163381, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1', 671347109008163381, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1', 671347109008163381, 'topic', '"return"', 4);
insert into session_state values ('shop', 'ada', 'order-1', 671347109008163381, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('shop', 'ada', 'order-1', 671347109008163381, 'step', '"refund"', 6);
insert into session_state values ('shop', 'ada', 'order-1-again', 7826997119949190349, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 7826997119949190349, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 7826997119949190349, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 7826997119949190349, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 7826997119949190349, 'n', 'null', 3);
insert into session_state values ('shop', 'ada', 'files-2', 907168408244370063, 'k', '1', 0);
insert into session_state values ('shop', 'ada', 'trimmed', 2466460211129952588, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'trimmed', 2466460211129952588, 'k1', '1', 1);
insert into session_state values ('shop', 'ada', 'trimmed', 2466460211129952588, 'k2', '2', 2);
insert into session_state values ('shop', 'ada', 'trimmed', 2466460211129952588, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'trimmed', 2466460211129952588, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'trimmed', 2466460211129952588, 'k5', '5', 5);
insert into session_state values ('shop', 'ada', 'redacted', 5444416713785835950, 'kept', '"hunter2"', 1);
insert into session_state values ('shop', 'bob', 'by-adk', 521229397707086304, 'topic', '"warranty"', 0);
insert into session_state values ('shop', 'ada', 'moved', 6914406340717014266, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'moved', 6914406340717014266, 'k1', '1', 3);
insert into session_state values ('shop', 'ada', 'moved', 6914406340717014266, 'k2', '2', 3);
insert into session_state values ('shop', 'ada', 'moved', 6914406340717014266, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'moved', 6914406340717014266, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'moved', 6914406340717014266, 'k5', '5', 5);
insert into session_state values ('copy', 'ada', 'order-1', 3817240814965638341, 'big', '1180591620717411303424', 1);
insert into session_state values ('copy', 'ada', 'order-1', 3817240814965638341, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('copy', 'ada', 'order-1', 3817240814965638341, 'list', '[-0.0]', 2);
insert into session_state values ('copy', 'ada', 'order-1', 3817240814965638341, 'n', '1E2', 4);
insert into session_state values ('copy', 'ada', 'order-1', 3817240814965638341, 'neg', '-0', 1);
insert into session_state values ('copy', 'ada', 'order-1', 3817240814965638341, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('copy', 'ada', 'order-1', 3817240814965638341, 'step', '"refund"', 6);
insert into session_state values ('copy', 'ada', 'order-1', 3817240814965638341, 'topic', '"return"', 4);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k0ä', '0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k10ä', '1180591620717411303424', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k11ä', '-170141183460469231731687303715884105729', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k12ä', '1.7976931348623157e308', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k13ä', '9007199254740993', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k14ä', '"\u0000"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k15ä', '"a\u0000b\u001f\u007f"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k18ä', '" ﻿�􏿿"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k19ä', '""', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k1ä', '-0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k22ä', '[ ]', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k24ä', '{"$serde_json::private::Number": "1"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k27ä', 'true', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k28ä', 'null', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k2ä', '1', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k3ä', '1.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k4ä', '1E2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k5ä', '1e+2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k6ä', '-0.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k7ä', '0e0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k8ä', '1e-400', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 'k9ä', '0.1000000000000000055511151231257827', 1);
insert into session_updates values ('copy', 'ada', 'order-1', 0, 1796080873572001);
insert into session_updates values ('läger/1 ü', 'ß ø@例え', 'a b😀', 0, 1796080873762960);
insert into session_updates values ('shop', 'ada', 'files', 0, 1796080873582887);
insert into session_updates values ('shop', 'ada', 'order-1-again', 0, 1796080873596674);
insert into session_updates values ('shop', 'ada', 'files-2', 0, 1796080873612661);
insert into session_updates values ('shop', 'ada', 'moved', 0, 1796080873647852);
insert into session_updates values ('shop', 'ada', 'redacted', 0, 1796080873681313);
insert into session_updates values ('shop', 'bob', 'by-adk', 0, 1796080873703479);
insert into session_updates values ('shop', 'ada', 'compacted', 1, 0);
insert into session_updates values ('shop', 'ada', 'order-1', 1, 179608087);
insert into session_updates values ('shop', 'ada', 'trimmed', 1, 179608087);
insert into sessiond_migrations values (1, 'sessions', '2026-11-30 23:21:13', 1, X'B2B935B3CC4D96F67FCF89019285D804971DC1EBBDDEB067DCA43C4E02CEED452FDF1539B9AAD6395FF45A4EF6EF0E06', 17872179);
insert into sessions values ('shop', 'ada', 'files', 3482415187745907882, 2, 0, 1796080873557016, 1796080873583290, 1796080873582887, '1796080873.582887', 20787, NULL, NULL, NULL, 0, '{}', 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('shop', 'ada', 'order-1', 671347109008163381, 6, 0, 1796080873558462, 1796080873575107, 1796080873572001, '1796080873.572001', 20787, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, 'create-1', X'986E8347A1CA037F059646A89B18A481CB8A30C7777918AC2E45F9DF0E63F133', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'pod-7/4f1c', 'i9', 1796080933586893, 60000000, 0, 1);
insert into sessions values ('shop', 'ada', 'order-1-again', 7826997119949190349, 4, 1, 1796080873576482, 1796080873596935, 1796080873596674, '1796080873.596674', 20787, '"forked"', '{"a":"b"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, 'order-1', 3, 'fork-1', X'5852D7B187AB49A4BD7E012F6F3D1B907F2E43D839BF5FEE347D0B6E3CD017E4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('shop', 'ada', 'files-2', 907168408244370063, 4, 0, 1796080873598085, 1796080873612973, 1796080873612661, '1796080873.612661', 20787, NULL, NULL, NULL, 0, '{"k":1}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('shop', 'ada', 'compacted', 249469143173954357, 6, 0, 1796080873615040, 1796080873626966, 6000000, '6', 20787, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 1);
insert into sessions values ('shop', 'ada', 'trimmed', 2466460211129952588, 5, 1, 1796080873628637, 1796080873638348, 1796080873638292, '1796080873.638292', 20787, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 1);
insert into sessions values ('shop', 'ada', 'redacted', 5444416713785835950, 3, 2, 1796080873650565, 1796080873695140, 1796080873681313, '1796080873.681313', 20787, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('shop', 'bob', 'by-adk', 521229397707086304, 0, 0, 1796080873703479, 1796080873703479, 1796080873703479, '1796080873.703479', 20787, NULL, NULL, NULL, 0, '{"topic":"warranty"}', 1, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('shop', 'ada', 'moved', 6914406340717014266, 5, 0, 1796080873642307, 1796080873647926, 1796080873647852, '1796080873.647852', 20787, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, '7aac2ec2db941c92', X'044977E8DB661AAD20BECD62B0EA24A95AD609C5F5C96D05D26A5C29B03D4876', 5, 3, 5, 3, 5, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('copy', 'ada', 'order-1', 3817240814965638341, 6, 0, 1796080873558462, 1796080873575107, 1796080873572001, '1796080873.572001', 20787, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, NULL, NULL, '9511aa3816ac235', X'58CFD4A2146739BAC098E7FDC8A5365AF9210064E398A13305F6D374F8CDFB83', 6, 0, 6, 0, 6, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into sessions values ('läger/1 ü', 'ß ø@例え', 'a b😀', 3665928100662165867, 3, 0, 1796080873754693, 1796080873763031, 1796080873762960, '1796080873.762960', 20787, NULL, NULL, NULL, 0, '{}', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0);
insert into token_epochs values ('shop', X'6DF8AB4E719ADFE08BA471D35DB28A06344A049BF9D99CD1B022D547A07FC8DB', 1, 0);
insert into token_epochs values ('shop', X'791BC6581748B4555D662454E225B3DB980718936267CAB160FAFB1D302830CA', 1, 1);
insert into token_epochs values ('shop', X'D4523A677BA7E6427F3F229CF9E009BD6431A9714DEB00497227355187F7D23F', 1, 2);
insert into token_secrets values ('current', X'FBF988905B1331601E54976EA330BDA7E8F81328CB52CF34FAE978647A3D6CFF');
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k0ä', 1, '0', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k10ä', 1, '1180591620717411303424', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k11ä', 1, '-170141183460469231731687303715884105729', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k12ä', 1, '1.7976931348623157e308', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k13ä', 1, '9007199254740993', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k14ä', 1, '"\u0000"', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k18ä', 1, '" ﻿�􏿿"', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k19ä', 1, '""', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k1ä', 1, '-0', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k22ä', 1, '[ ]', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k27ä', 1, 'true', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k28ä', 1, 'null', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k2ä', 1, '1', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k3ä', 1, '1.0', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k4ä', 1, '1E2', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k5ä', 1, '1e+2', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k6ä', 1, '-0.0', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k7ä', 1, '0e0', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k8ä', 1, '1e-400', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k9ä', 1, '0.1000000000000000055511151231257827', 1796080873759000, 3665928100662165867, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'kept', 6, '"hunter2"', 1796080873652000, 5444416713785835950, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'language', 1, '"en"', 1796080873556000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 3, '-0.0', 1796080873561000, 671347109008163381, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 5, '7', 1796080873597000, 7826997119949190349, 4, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'name', 2, '"Ada"', 1796080873559000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 7, NULL, 1796080873680000, 5444416713785835950, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 8, NULL, 1796080873695000, 5444416713785835950, 3, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'returns', 4, '1', 1796080873575000, 671347109008163381, 6, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'bob', 'name', 1, '"Bob"', 1796080873704000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'zoe', 'alone', 1, 'true', 1796080873555000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_scopes values ('shop', 'zoe', 1, 0, 0, 0, 0, 0);
insert into user_scopes values ('shop', 'ada', 8, 0, 0, 0, 0, 1);
insert into user_scopes values ('shop', 'bob', 1, 0, 0, 0, 0, 0);
insert into user_scopes values ('läger/1 ü', 'ß ø@例え', 1, 0, 0, 0, 0, 0);
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
