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
    -- When its last event was committed, or it was created; 0: not known. No event is committed earlier than the one
    -- before it.
    commit_time           bigint not null default 0,
    update_time           bigint not null,
    -- The JSON number that shows update_time: the very text that a client gave.
    update_time_number    text not null,
    -- The day of the last commit, in whole days since 1970. No index has it: appends write it.
    active_day            bigint not null,
    -- A JSON string, a JSON object of strings.
    display_name          text,
    labels                text,
    expire_time           bigint,
    -- Where the log begins: events up to here were trimmed, and have left stubs at most.
    base_revision         bigint not null default 0,
    -- The session keys at that revision, and the shared scopes that it saw.
    initial_state         text not null,
    created_user_revision bigint not null,
    created_app_revision  bigint not null,
    -- The session of the same user, and its revision, of which this one is a fork.
    forked_from           text collate "C",
    forked_revision       bigint,
    -- The Idempotency-Key of the request that made it, and a digest of what that asked.
    creation_key          text collate "C",
    creation_digest       bytea,
    -- Of an imported session: the incarnation that it had where it comes from, a digest of its lines, and its revision. From one
    -- sequence to another (the base counts), what user and app state were did not come along.
    imported_mark         text,
    imported_digest       bytea,
    imported_revision     bigint,
    lost_user_from        bigint,
    lost_user_through     bigint,
    lost_app_from         bigint,
    lost_app_through      bigint,
    lost_files_from       bigint,
    lost_files_through    bigint,
    -- The lease: how often one was granted, and who holds it; all but the epoch is null if nobody does. `lease_ttl` is by how
    -- much an append under it extends it; `lease_all`: it excludes writes without a lease.
    lease_epoch           bigint not null default 0,
    lease_owner           text,
    lease_invocation      text,
    lease_expire          bigint,
    lease_ttl             bigint,
    lease_all             boolean not null default false,
    -- Whether its place in lists by last update is rough (session_updates).
    rough                 boolean not null default false
) with (fillfactor = 70);
create index sessions_by_user_create on sessions (app_name, user_id, create_time, id);
create index sessions_by_app_create on sessions (app_name, create_time, user_id, id);
create unique index sessions_creation_key on sessions (creation_key, user_id, app_name) where creation_key is not null;
create index sessions_by_expiry on sessions (expire_time) where expire_time is not null;
create index sessions_by_source on sessions (app_name, user_id, forked_from) where forked_from is not null;
-- Begins otherwise than the other indexes, and is the last one: a planner without statistics takes all that have the
-- columns of a key for equally good, and then the one that was made last. With another one it would look for a session
-- through all those of its user, or of its app.
alter table sessions add constraint sessions_pkey primary key (id, user_id, app_name);

-- Where sessions stand in lists by their last update, apart from them: an append changes nothing of a session that an
-- index of it has, so its row is rewritten in its page, and no index grows. The place is exact, `update_time`, until a session
-- changes often. Then it is rough: `update_time` in whole tens of seconds, so most appends change nothing here. Lists sort
-- those of the same ten seconds by the sessions' own times.
create table session_updates (
    app_name text collate "C" not null,
    user_id  text collate "C" not null,
    id       text collate "C" not null,
    rough    boolean not null default false,
    place    bigint not null,
    constraint session_updates_pkey primary key (app_name, user_id, rough, place, id)
);
create index session_updates_by_app on session_updates (app_name, rough, place, user_id, id);

-- Of a trimmed event, up to its session's base, the sweep leaves a stub: no author, branch and body. Of a redacted one the body has what may
-- be read; the digest is that of the event as it was given.
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
    -- What it does to the history of its session. One that rewinds: the last event before those that it takes back. A compaction: -1.
    effect        bigint,
    digest        bytea not null,
    body          text not null,
    -- Of a redacted event: the metadata revision of its session that the last redaction made, unless it was copied since. -N: an event
    -- that removes values of the redacted event N, of which there is no span.
    redaction     bigint,
    -- A key that ends with user and app admits tables that are distributed by either, and costs next to nothing.
    constraint events_pkey primary key (incarnation, sequence, user_id, app_name),
    -- Has no column in front that the primary key has in front: a planner that took both for equally good would look
    -- through all events of the session.
    constraint events_id_key unique (id, incarnation, user_id, app_name)
);
-- With as many columns of the key as the primary key: a planner without statistics would take that one.
create index events_rewinds on events (incarnation, sequence, user_id, app_name) where effect >= 0;
create index events_compactions on events (incarnation, sequence, user_id, app_name) where effect = -1;
create index events_redactions on events (incarnation, redaction) where redaction is not null;

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

-- `floor`: what the scope was before that revision is not known, or not any more. `emptied`: nothing is left of what was before
-- that one. `began`: the scope of a user has had no revision up to here, but 0. `imported`: the revision at which an import took it,
-- until its past has come, which is written below the floor. `redacted`: how often values of its past were taken.
create table user_scopes (
    app_name text collate "C" not null,
    user_id  text collate "C" not null,
    revision bigint not null,
    floor    bigint not null default 0,
    emptied  bigint not null default 0,
    began    bigint not null default 0,
    imported bigint not null default 0,
    redacted bigint not null default 0,
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

-- A revision that is above all that the state of an erased user of the app ever had. Scopes of users begin above it, so that none of
-- a user who was erased comes again; and nothing says whose they were.
create table erased_revisions (
    app_name text collate "C" not null,
    revision bigint not null,
    constraint erased_revisions_pkey primary key (app_name)
);

create table app_scopes (
    app_name text collate "C" not null,
    revision bigint not null,
    floor    bigint not null default 0,
    emptied  bigint not null default 0,
    imported bigint not null default 0,
    redacted bigint not null default 0,
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
-- gone (a value of null: the key was removed), and when it was made. Spans find what held at a revision without walking the log: a value that
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
    -- A removal ended it, or a redaction; not another value.
    removed     boolean not null,
    value       text not null
);
-- The past of a key: of its spans at most one in 32 revisions, and each that a removal ended, from which the others are found
-- (store/past/key.rs). An index of all would cost each append.
create index session_spans_by_key on session_spans (key, incarnation, valid_to) where node & 31 = 0 or removed;
-- The last one, as with sessions.
alter table session_spans add constraint session_spans_pkey primary key (incarnation, node, key, user_id, app_name);

create table user_log (
    app_name text collate "C" not null,
    user_id  text collate "C" not null,
    key      text collate "C" not null,
    revision bigint not null,
    value    text,
    time     bigint not null default (extract(epoch from statement_timestamp()) * 1000000)::bigint,
    -- The event that made the change, if one did. While its session has it, `incarnation` finds it; what an export or a
    -- session that is gone says of it is in the columns after `sequence`, in the forms that `events` has.
    incarnation   bigint,
    sequence      bigint,
    by_user       text collate "C",
    by_session    text collate "C",
    by_event      text collate "C",
    by_author     text,
    by_invocation text,
    constraint user_log_pkey primary key (app_name, user_id, key, revision)
);
create index user_log_by_revision on user_log (app_name, user_id, revision, key);
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
    time     bigint not null default (extract(epoch from statement_timestamp()) * 1000000)::bigint,
    -- The event that made the change, if one did. While its session has it, `incarnation` finds it; what an export or a
    -- session that is gone says of it is in the columns after `sequence`, in the forms that `events` has.
    incarnation   bigint,
    sequence      bigint,
    by_user       text collate "C",
    by_session    text collate "C",
    by_event      text collate "C",
    by_author     text,
    by_invocation text,
    constraint app_log_pkey primary key (app_name, key, revision)
);
create index app_log_by_revision on app_log (app_name, revision, key);
create index app_log_by_user on app_log (app_name, by_user) where by_user is not null;
create table app_spans (
    app_name   text collate "C" not null,
    node       bigint not null,
    key        text collate "C" not null,
    valid_from bigint not null,
    valid_to   bigint not null,
    constraint app_spans_pkey primary key (app_name, node, key)
);

-- The effective history of sessions with compactions: what the log has left up to an event, as text (domain/effective.rs). Kept so that
-- a reader need not begin with the first event; nothing depends on one.
create table effective_views (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    sequence    bigint not null,
    view        text not null,
    constraint effective_views_pkey primary key (incarnation, sequence, user_id, app_name)
);
-- Where the events before a kept view mention function calls: digests of their ids. `roles`: 1 it calls, 2 it responds, 4 it was written
-- for the call, or a sum of these.
create table effective_ids (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    sequence    bigint not null,
    id          bigint not null,
    roles       bigint not null,
    constraint effective_ids_pkey primary key (incarnation, sequence, id, user_id, app_name)
);
create index effective_ids_by_id on effective_ids (id, incarnation, user_id, app_name);

-- The words of what was said, for the apps whose policy says so: of each event that has some, its words as numbers (domain/search.rs).
-- The last row of a session says how far it is indexed. Derived from the events, and removed with them.
create table event_words (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    sequence    bigint not null,
    commit_time bigint not null,
    author      text not null,
    words       bigint[] not null,
    constraint event_words_pkey primary key (incarnation, sequence, user_id, app_name)
);
create index event_words_by_word on event_words using gin (words);

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
    -- The erasure that it is a part of.
    erasure     text collate "C",
    constraint buried_sessions_pkey primary key (app_name, user_id, session_id, incarnation)
);
create index buried_by_erasure on buried_sessions (erasure) where erasure is not null;

-- Forks that were removed, of which there were forks, and what they were forks of: redactions reach their forks through them. For as long
-- as the user is there.
create table removed_forks (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    id          text collate "C" not null,
    forked_from text collate "C" not null,
    constraint removed_forks_pkey primary key (id, forked_from, user_id, app_name)
);
create index removed_forks_by_source on removed_forks (app_name, user_id, forked_from);

-- Sessions of which trimmed events are still to be emptied: those after `emptied`, up to the session's base.
create table trims (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    emptied     bigint not null,
    constraint trims_pkey primary key (app_name, user_id, session_id, incarnation)
);

-- Apps in which events were redacted, and how often, since the files were overwritten: where they are this process's, which those of
-- PostgreSQL are not.
create table scrubs (
    app_name text collate "C" not null,
    count    bigint not null,
    constraint scrubs_pkey primary key (app_name)
);

-- Sessions of which an import has begun, and when it wrote last. Their rows are hidden until the row in `sessions` is there.
create table imports (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    time        bigint not null,
    constraint imports_pkey primary key (app_name, user_id, session_id, incarnation)
);

-- Artifacts: files, each a name with versions. Those of a session are keyed by its incarnation, as its other rows are; those of a user
-- have an empty `session_id` and the incarnation 0.
--
-- How many versions all artifacts of a session, or of a user, have together: those of the incarnation that saved last.
create table artifact_places (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    versions    bigint not null,
    constraint artifact_places_pkey primary key (app_name, user_id, session_id)
) with (fillfactor = 50);
create index artifact_places_of_users on artifact_places (app_name, user_id) where session_id = '';

-- `next`: the version that the next save gets; none is given twice, also if it was removed. `latest`: the last version that is there, or
-- null. `versions`: how many are there.
-- `named`: the highest version that events of the session, or of any session of the user, named without it being here: the next save
-- gets a higher number, unless it asks for this one.
create table artifact_names (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    name        text collate "C" not null,
    next        bigint not null,
    latest      bigint,
    versions    bigint not null,
    named       bigint,
    constraint artifact_names_pkey primary key (app_name, user_id, session_id, incarnation, name)
) with (fillfactor = 70);

-- A version never changes. `mark` is random: by it a save that is tried again finds what it has written.
create table artifacts (
    app_name       text collate "C" not null,
    user_id        text collate "C" not null,
    session_id     text collate "C" not null,
    incarnation    bigint not null,
    name           text collate "C" not null,
    version        bigint not null,
    mark           bigint not null,
    kind           text not null,
    mime_type      text,
    -- Null of a version that is an address alone.
    size           bigint,
    sha256         bytea,
    blob           text collate "C",
    create_time    bigint not null,
    -- A JSON object, JSON strings.
    metadata       text,
    display_name   text,
    file_uri       text,
    -- The revision of the session to which the save appended its event.
    revision       bigint,
    -- The Idempotency-Key of the save, and a digest of what it saved.
    request_key    text collate "C",
    request_digest bytea,
    constraint artifacts_pkey primary key (app_name, user_id, session_id, incarnation, name, version)
);
create unique index artifacts_request_key on artifacts (app_name, user_id, session_id, incarnation, name, request_key)
    where request_key is not null;

-- Which version of each artifact the events of a session named last, and before: as `session_state` and `session_spans` have what its
-- keys are and were. A version that is named need not be there.
create table artifact_state (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    name        text collate "C" not null,
    version     bigint not null,
    revision    bigint not null,
    constraint artifact_state_pkey primary key (incarnation, name, session_id, user_id, app_name)
) with (fillfactor = 80);
create table artifact_spans (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    node        bigint not null,
    name        text collate "C" not null,
    valid_from  bigint not null,
    valid_to    bigint not null,
    version     bigint not null,
    constraint artifact_spans_pkey primary key (incarnation, node, name, user_id, app_name)
);

-- The bytes of artifacts. `versions`: how many versions hold them: 0 before the first does and after the last did; -1 if they are
-- being removed. `loose_since`: since when none holds them, and, while they come in, when some came last.
create table blobs (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    id          text collate "C" not null,
    size        bigint not null,
    versions    bigint not null,
    loose_since bigint,
    -- Where they are: null for the chunks below, else the name of a store, and of the object there.
    store       text,
    object      text,
    -- The unfinished upload that the store keeps while they come in.
    upload      text,
    -- The erasure that they are a part of.
    erasure     text collate "C",
    constraint blobs_pkey primary key (app_name, user_id, id)
) with (fillfactor = 70);
create index blobs_loose on blobs (loose_since) where loose_since is not null;
create index blobs_by_object on blobs (object) where object is not null;
create index blobs_by_erasure on blobs (erasure) where erasure is not null;

-- All chunks of a blob have the same size, but for the last one.
create table blob_chunks (
    app_name text collate "C" not null,
    user_id  text collate "C" not null,
    blob     text collate "C" not null,
    n        bigint not null,
    bytes    bytea not null,
    constraint blob_chunks_pkey primary key (app_name, user_id, blob, n)
);
-- Files are mostly compressed already.
alter table blob_chunks alter column bytes set storage external;

-- Who may do what. Of a key there is the digest of its secret alone; apps and users are JSON arrays of patterns. A revoked
-- key keeps its row, without the digest: as long as there is a row, whoever asks must say who they are.
create table api_keys (
    id             text collate "C" not null,
    name           text not null,
    digest         bytea,
    role           text not null,
    apps           text not null,
    users          text not null,
    create_time    bigint not null,
    expire_time    bigint,
    last_used_time bigint,
    revoke_time    bigint,
    constraint api_keys_pkey primary key (id)
);

-- What signs the tokens of users: one row, `current`. Whoever can read it can make tokens.
create table token_secrets (
    name   text collate "C" not null,
    secret bytea not null,
    constraint token_secrets_pkey primary key (name)
);

-- How often the tokens of a user were revoked. Nothing here names the user: see erasures.
create table token_epochs (
    app_name text collate "C" not null,
    subject  bytea not null,
    epoch    bigint not null,
    -- The number of the user's last erasure in the app.
    erasure  bigint not null default 0,
    constraint token_epochs_pkey primary key (subject, app_name)
);


-- How long the data of an app is kept: a JSON object, or null if the policy was removed. `revision` counts changes.
create table policies (
    app_name text collate "C" not null,
    revision bigint not null,
    policy   text,
    -- What the policy bounds of what is stored, for those who write: null for no bound.
    sessions_per_user  bigint,
    events_per_session bigint,
    artifact_bytes_per_user bigint,
    -- What is said is indexed: 1; it was, and the index is there still: 2.
    search bigint not null default 0,
    constraint policies_pkey primary key (app_name)
);


-- `salt`: with which users are hashed where nothing may name them; made with the database, so that every backup has it.
-- `receipt`: the private key that signs receipts.
create table erasure_secrets (
    name   text collate "C" not null,
    secret bytea not null,
    constraint erasure_secrets_pkey primary key (name)
);
insert into erasure_secrets (name, secret)
values ('salt', decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

-- Users who were erased: `subject` is a keyed hash of app and user, `request` one of the id of the request. `block` is what was
-- asked, `blocked` what held after it. The counts are of what was removed; `done_time` and `receipt` are null until all is.
create table erasures (
    id           text collate "C" not null,
    app_name     text collate "C" not null,
    subject      bytea not null,
    request      bytea,
    reference    text,
    block        boolean,
    blocked      boolean not null,
    request_time bigint not null,
    done_time    bigint,
    sessions     bigint not null,
    events       bigint not null,
    state_keys   bigint not null,
    changes      bigint not null,
    artifacts    bigint not null,
    receipt      text,
    constraint erasures_pkey primary key (id, app_name)
);
create unique index erasures_request on erasures (request, app_name) where request is not null;
create index erasures_running on erasures (subject, app_name, request_time, id) where done_time is null;

-- How many erasures an app had: they are numbered one after the other, so that an import knows which came after its beginning.
create table erasure_counts (
    app_name text collate "C" not null,
    count    bigint not null,
    constraint erasure_counts_pkey primary key (app_name)
);

-- Erased users who get no new sessions and no state.
create table blocked_users (
    app_name text collate "C" not null,
    subject  bytea not null,
    constraint blocked_users_pkey primary key (subject, app_name)
);

-- The change feed: a row for each session and scope that a transaction changed, if the feed is on. `tx` tells which transaction,
-- for ticks; ids grow along the changes of one session or scope, which its lock puts in order. The first and last revision are
-- those that the transaction made; `detail` is what else is to be told (domain/writes.rs). What an erasure took has the kind 0.
create table changes (
    tx             xid8 not null default pg_current_xact_id(),
    id             bigint generated always as identity,
    kind           bigint not null,
    app_name       text collate "C" not null,
    user_id        text collate "C",
    session_id     text collate "C",
    incarnation    bigint,
    first_revision bigint not null,
    last_revision  bigint not null,
    detail         text,
    time           bigint not null default (extract(epoch from statement_timestamp()) * 1000000)::bigint,
    constraint changes_pkey primary key (tx, id)
);
-- By a hash, as each append writes here: names would double what a row costs.
create index changes_by_user on changes (hashtextextended(user_id, hashtextextended(app_name, 0)), tx)
    where user_id is not null;

-- Moments of the feed. Behind a tick comes what its snapshot shows, and the one before, `since`, did not: all readers get the same,
-- no commit is late for it, and none waits. Where the feed begins anew, so does an epoch, with a tick that shows nothing.
create table ticks (
    tick     bigint not null,
    epoch    bigint not null,
    since    pg_snapshot not null,
    snapshot pg_snapshot not null,
    time     bigint not null default (extract(epoch from statement_timestamp()) * 1000000)::bigint,
    constraint ticks_pkey primary key (tick)
);

-- The planner has no use for samples of what clients store. Without them nothing of it stays in `pg_statistic` when it is removed.
alter table sessions
    alter column initial_state set statistics 0, alter column display_name set statistics 0, alter column labels set statistics 0;
alter table events alter column body set statistics 0;
alter table session_state alter column value set statistics 0;
alter table session_spans alter column value set statistics 0;
alter table user_state alter column value set statistics 0;
alter table user_log alter column value set statistics 0;
alter table app_state alter column value set statistics 0;
alter table app_log alter column value set statistics 0;
alter table effective_views alter column view set statistics 0;
alter table event_words alter column words set statistics 0;
alter table artifacts
    alter column metadata set statistics 0, alter column display_name set statistics 0, alter column file_uri set statistics 0;
alter table blob_chunks alter column bytes set statistics 0;
insert into ticks (tick, epoch, since, snapshot) values (1, 1, '3:3:', '3:3:');

-- Whether a session may be made for a user, by a statement that saw this revision of the user's state: nobody is erasing the
-- user, who is not blocked, and nobody has since the statement began. Until the transaction ends, nobody can begin to. Each
-- statement in it sees what was committed before it; the caller's may be older.
create function sessiond_admits(p_app text, p_user text, p_subject bytea, p_revision bigint)
returns boolean language plpgsql as $$
begin
    if not pg_try_advisory_xact_lock_shared(('x' || encode(substr(p_subject, 1, 8), 'hex'))::bit(64)::bigint) then
        return false;
    end if;
    return not exists (select 1 from blocked_users b where b.app_name = p_app and b.subject = p_subject)
        and p_revision = coalesce((select u.revision from user_scopes u
                                   where u.app_name = p_app and u.user_id = p_user), 0)
        -- Who counts sessions counts alone.
        and not exists (select 1 from policies p where p.app_name = p_app and p.sessions_per_user is not null);
end
$$;

-- Writes all that a batch of appends changes in one app, if the heads that it was decided on are still what they were.
-- Losing a race is a result, and nothing that the server would log. `verdict` is
--
--     ok        all of it is written
--     conflict  a head has changed, its session has expired, a lease excludes the write, its policy allows no such revision, or
--               an event id is taken; nothing is written
--     locked    somebody else has a head locked; nothing is written. Nobody is waited for, as the caller may hold others up
--
-- Heads are locked and compared before anything is written: sessions, then users, then the app, rows of one kind in the
-- order given. Arrays that begin with the same letter are the columns of rows:
--
--     h  sessions: what they were (`was`, `metadata`) and what they become. None for sessions that the transaction itself has
--        made. `was_bucket` and `bucket` are where those that move in the list by last update stand, and where they go; null for
--        those that stay, null for the whole arrays: all stay. `lease` is the epoch that an append names, which must be the present one, and whose
--        lease is extended; `side` says that an append names none, and no lease may exclude it. Null for the whole arrays of
--        both: no append names one
--     u  revisions of user state before and after; equal: only compared. `first` is the first that the batch makes: of state that has
--        none, it must be the one after `erased_revisions`. `a_was`, `a_revision`: the same for the app, or null
--     e  events. Where a revision of shared state is null, the event notes the present one; `incarnations`,
--        `user_revisions`, `app_revisions` and `commit_times` say what each event notes. It is committed when all is locked, by
--        this clock, and never before the session's last one; those of a session that the transaction made, with it
--     s, v, w  rows of session, user and app state after the batch: `first` is the revision that ended what was there
--        before it, a value of null removes the row. Where `until` is not null, the value did not outlast the batch: it held
--        from `revision` up to, not including, `until`. Null for the whole array of `until`: all lasted. `incarnation` and
--        `sequence` say which event wrote it, for the logs of user and app state; null: none did
--     p_feed  whether the change feed gets a row for each session and scope that changes
--
-- Rows are found one by one, by their whole keys, in lateral queries that `offset 0` or a lock keeps apart: an index that begins
-- with the app is a candidate for each table, and a planner without statistics would begin a join there, and go through all that the
-- app has. What is locked, or protected by a lock, is found once and then written by its `ctid`, which cannot change meanwhile.
--
-- Ids that are taken are looked for once the sessions are locked: then nobody else adds events to them. So what is inserted meets
-- nothing, needs no second look in the index, and there is nothing to take back but rows of scopes. There is no block that catches a
-- unique_violation: it would draw a second transaction id for each call, and make a MultiXact of each row that the transaction
-- had locked before.
--
-- Citus routes none of this. There, `sessiond migrate --citus` puts the body of migrations/citus/sessiond_write.sql in its place.
--
-- There is no `set search_path`: the function sees the tables that its caller sees, with the caller's rights. Another form
-- of it gets another name, as processes of two versions may run at a time.
create function sessiond_write(
    p_app text,
    h_user text[], h_session text[], h_incarnation bigint[], h_was bigint[], h_metadata bigint[], h_rough boolean[],
    h_place bigint[], h_revision bigint[], h_time bigint[], h_time_number text[], h_lease bigint[], h_side boolean[],
    u_user text[], u_was bigint[], u_first bigint[], u_revision bigint[],
    a_was bigint, a_revision bigint,
    e_user text[], e_session text[], e_incarnation bigint[], e_sequence bigint[], e_id text[], e_time bigint[],
    e_author text[], e_invocation text[], e_branch text[], e_user_revision bigint[], e_app_revision bigint[],
    e_effect bigint[], e_digest bytea[], e_body text[],
    s_user text[], s_session text[], s_incarnation bigint[], s_key text[], s_value text[], s_first bigint[],
    s_revision bigint[], s_until bigint[], s_removed boolean[],
    v_user text[], v_key text[], v_value text[], v_first bigint[], v_revision bigint[], v_until bigint[],
    v_incarnation bigint[], v_sequence bigint[],
    w_key text[], w_value text[], w_first bigint[], w_revision bigint[], w_until bigint[],
    w_incarnation bigint[], w_sequence bigint[],
    p_feed boolean,
    out verdict text, out incarnations bigint[], out user_revisions bigint[], out app_revisions bigint[],
    out commit_times bigint[]
) language plpgsql as $$
declare
    present bigint := (extract(epoch from statement_timestamp()) * 1000000)::bigint;
    -- Null where the sessions are of this transaction.
    committed bigint;
    -- Where the locked rows are, in the order given.
    h_at tid[];
    u_at tid[];
    a_at tid;
    -- When the last event of any of the sessions was committed.
    latest bigint;
    is_taken boolean;
    found_rows bigint;
    r record;
    -- Scopes of which there was no row. One of revision 0 says the same, and can be locked.
    made_users text[] := '{}';
    made_app boolean := false;
begin
    -- A success is answered after a durable commit, also on a server whose default is to be lax.
    if current_setting('synchronous_commit') = 'off' then
        perform set_config('synchronous_commit', 'on', true);
    end if;
    -- As the service's connections have it. Behind PgBouncer they have not; there, it lasts as long as the transaction.
    if current_setting('enable_seqscan') = 'on' then
        perform set_config(name, 'off', true)
        from unnest(array['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) as s(name);
    end if;
    verdict := 'ok';
    incarnations := '{}';
    user_revisions := '{}';
    app_revisions := '{}';
    commit_times := '{}';

    if cardinality(h_user) > 0 then
        select array_agg(s.at), max(s.commit_time) into h_at, latest
        from generate_subscripts(h_user, 1) as i
        cross join lateral (
            select l.ctid as at, l.commit_time from sessions l
            where l.app_name = p_app and l.user_id = h_user[i] and l.id = h_session[i] and l.incarnation = h_incarnation[i]
              and l.revision = h_was[i] and l.metadata_revision = h_metadata[i]
              and (l.expire_time is null or l.expire_time > present)
              and (h_lease[i] is null or l.lease_epoch = h_lease[i])
              and (h_side[i] is false or not l.lease_all or l.lease_expire <= present)
              and (h_revision[i] - l.base_revision
                   <= (select p.events_per_session from policies p where p.app_name = p_app)) is not false
            for no key update skip locked) as s;
        if cardinality(h_at) is distinct from cardinality(h_user) then
            select count(*) into found_rows
            from generate_subscripts(h_user, 1) as i
            cross join lateral (
                select 1 from sessions l
                where l.app_name = p_app and l.user_id = h_user[i] and l.id = h_session[i] and l.incarnation = h_incarnation[i]
                  and l.revision = h_was[i] and l.metadata_revision = h_metadata[i]
                  and (l.expire_time is null or l.expire_time > present)
                  and (h_lease[i] is null or l.lease_epoch = h_lease[i])
                  and (h_side[i] is false or not l.lease_all or l.lease_expire <= present)
                  and (h_revision[i] - l.base_revision
                       <= (select p.events_per_session from policies p where p.app_name = p_app)) is not false
                offset 0) as s;
            verdict := case when found_rows < cardinality(h_user) then 'conflict' else 'locked' end;
        end if;
    end if;

    if verdict = 'ok' and cardinality(u_user) > 0 then
        if 0 = any(u_was) then
            for r in select * from unnest(u_user, u_was, u_first) as u(user_id, was, first) where u.was = 0 loop
                if r.first <> coalesce((select x.revision from erased_revisions x where x.app_name = p_app), 0) + 1 then
                    verdict := 'conflict';
                    exit;
                end if;
                insert into user_scopes (app_name, user_id, revision) values (p_app, r.user_id, 0) on conflict do nothing;
                if found then
                    made_users := made_users || r.user_id;
                end if;
            end loop;
        end if;
        select array_agg(s.at) into u_at
        from generate_subscripts(u_user, 1) as i
        cross join lateral (
            select l.ctid as at from user_scopes l where l.app_name = p_app and l.user_id = u_user[i] and l.revision = u_was[i]
            for update skip locked) as s;
        if verdict = 'ok' and cardinality(u_at) is distinct from cardinality(u_user) then
            select count(*) into found_rows
            from generate_subscripts(u_user, 1) as i
            cross join lateral (
                select 1 from user_scopes l
                where l.app_name = p_app and l.user_id = u_user[i] and l.revision = u_was[i] offset 0) as s;
            verdict := case when found_rows < cardinality(u_user) then 'conflict' else 'locked' end;
        end if;
    end if;

    if verdict = 'ok' and a_was is not null then
        if a_was = 0 then
            insert into app_scopes (app_name, revision) values (p_app, 0) on conflict do nothing;
            made_app := found;
        end if;
        select s.ctid into a_at from app_scopes s where s.app_name = p_app and s.revision = a_was for update skip locked;
        if not found then
            perform 1 from app_scopes s where s.app_name = p_app and s.revision = a_was;
            verdict := case when found then 'locked' else 'conflict' end;
        end if;
    end if;

    -- Making a row of a scope may have waited.
    present := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    committed := case when cardinality(h_user) > 0 then present end;

    if verdict = 'ok' and cardinality(e_user) > 0 then
        select array_agg(coalesce(e_user_revision[i], (select u.revision from user_scopes u
                                                       where u.app_name = p_app and u.user_id = e_user[i]), 0)),
            array_agg(coalesce(e_app_revision[i], (select a.revision from app_scopes a where a.app_name = p_app), 0)),
            array_agg(case when committed >= latest then committed
                      else greatest(committed, (select l.commit_time from sessions l where l.app_name = p_app
                          and l.user_id = e_user[i] and l.id = e_session[i] and l.incarnation = e_incarnation[i])) end),
            bool_or((select true from events t where t.app_name = p_app and t.user_id = e_user[i]
                        and t.incarnation = e_incarnation[i] and t.id = e_id[i]))
        into user_revisions, app_revisions, commit_times, is_taken
        from generate_subscripts(e_user, 1) as i;
        if is_taken then
            verdict := 'conflict';
        end if;
    end if;

    if verdict <> 'ok' then
        delete from user_scopes s where s.app_name = p_app and s.user_id = any(made_users);
        if made_app then
            delete from app_scopes s where s.app_name = p_app;
        end if;
        return;
    end if;

    incarnations := e_incarnation;
    insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
        invocation_id, branch, user_revision, app_revision, effect, digest, body)
    select p_app, e_user[i], e_session[i], e_incarnation[i], e_sequence[i], e_id[i], e_time[i], commit_times[i], e_author[i],
        e_invocation[i], e_branch[i], user_revisions[i], app_revisions[i], e_effect[i], e_digest[i], e_body[i]
    from generate_subscripts(e_user, 1) as i;

    if h_place is not null then
        update session_updates o
        set rough = h_rough[i], place = h_place[i]
        from generate_subscripts(h_user, 1) as i
        cross join lateral (
            select l.rough, case when l.rough then l.update_time / 10000000 else l.update_time end as place
            from sessions l where l.ctid = h_at[i] and h_place[i] is not null offset 0) as s
        cross join lateral (
            select l.ctid as at from session_updates l
            where l.app_name = p_app and l.user_id = h_user[i] and l.rough = s.rough and l.place = s.place
              and l.id = h_session[i]
            offset 0) as l
        where o.ctid = l.at;
    end if;
    if cardinality(h_user) > 0 then
        update sessions s
        set revision = h_revision[i], commit_time = greatest(present, s.commit_time), update_time = h_time[i],
            update_time_number = h_time_number[i], active_day = present / 86400000000,
            rough = coalesce(h_rough[i], s.rough),
            -- Null where no lease is named, and `greatest` takes no notice of nulls.
            lease_expire = greatest(s.lease_expire, present + s.lease_ttl + 0 * h_lease[i])
        from generate_subscripts(h_user, 1) as i
        where s.ctid = h_at[i];
        get diagnostics found_rows = row_count;
        if found_rows <> cardinality(h_user) then
            raise exception 'a locked session is not where it was';
        end if;
    end if;

    -- State: one look finds what each key had, which ends as a span, and where the new value goes. The node
    -- (src/domain/history.rs) of a span from one revision to another: in the latter, all bits below the highest in which the two
    -- differ are cleared.
    if cardinality(s_key) > 0 then
        with k as materialized (
            select i, t.at, coalesce(t.revision, s_revision[i]) as valid_from, coalesce(s_until[i], s_first[i]) as valid_to,
                coalesce(t.value, case when s_until[i] is not null then s_value[i] end) as held
            from generate_subscripts(s_key, 1) as i
            left join lateral (
                select l.ctid as at, l.revision, l.value from session_state l
                where s_until[i] is null and l.app_name = p_app and l.user_id = s_user[i] and l.session_id = s_session[i] and l.incarnation = s_incarnation[i] and l.key = s_key[i]
                offset 0) as t on true),
        ended as (
            insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, removed, value)
            select p_app, s_user[i], s_session[i], s_incarnation[i], valid_to & (-1::bigint << (length(ltrim((valid_from # valid_to)::bit(64)::text, '0')) - 1)),
                s_key[i], valid_from, valid_to, s_removed[i] is true, held
            from k where held is not null)
        update session_state t set value = s_value[i], revision = s_revision[i]
        from k where t.ctid = k.at and s_value[i] is not null;
        get diagnostics found_rows = row_count;
        if found_rows < cardinality(s_key) then
            delete from session_state t
            using generate_subscripts(s_key, 1) as i
            cross join lateral (select l.ctid as at from session_state l where l.app_name = p_app and l.user_id = s_user[i] and l.session_id = s_session[i] and l.incarnation = s_incarnation[i] and l.key = s_key[i] offset 0) as k
            where t.ctid = k.at and s_until[i] is null and s_value[i] is null;
            insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
            select p_app, s_user[i], s_session[i], s_incarnation[i], s_key[i], s_value[i], s_revision[i]
            from generate_subscripts(s_key, 1) as i
            where s_until[i] is null and s_value[i] is not null
              and (select true from session_state l where l.app_name = p_app and l.user_id = s_user[i] and l.session_id = s_session[i] and l.incarnation = s_incarnation[i] and l.key = s_key[i]) is null;
        end if;
    end if;

    if cardinality(u_user) > 0 then
        update user_scopes s
        set revision = u.revision, floor = greatest(s.floor, u.began), emptied = greatest(s.emptied, u.began),
            began = greatest(s.began, u.began)
        from (select u_at[i] as at, u_revision[i] as revision, (u_first[i] - 1) * (1 - least(u_was[i], 1)) as began
              from generate_subscripts(u_user, 1) as i where u_revision[i] <> u_was[i] offset 0) as u
        where s.ctid = u.at;
        get diagnostics found_rows = row_count;
        if found_rows <> (select count(*) from generate_subscripts(u_user, 1) as i where u_revision[i] <> u_was[i]) then
            raise exception 'a locked user is not where it was';
        end if;
    end if;
    if cardinality(v_key) > 0 then
        with k as materialized (
            select i, t.at, coalesce(t.revision, v_revision[i]) as valid_from, coalesce(v_until[i], v_first[i]) as valid_to
            from generate_subscripts(v_key, 1) as i
            left join lateral (
                select l.ctid as at, l.revision from user_state l
                where v_until[i] is null and l.app_name = p_app and l.user_id = v_user[i] and l.key = v_key[i]
                offset 0) as t on true),
        logged as (
            insert into user_log (app_name, user_id, key, revision, value, time, incarnation, sequence)
            select p_app, v_user[i], v_key[i], v_revision[i], v_value[i], present, v_incarnation[i], v_sequence[i] from k),
        ended as (
            insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
            select p_app, v_user[i], valid_to & (-1::bigint << (length(ltrim((valid_from # valid_to)::bit(64)::text, '0')) - 1)),
                v_key[i], valid_from, valid_to
            from k where at is not null or v_until[i] is not null and v_value[i] is not null)
        update user_state t set value = v_value[i], revision = v_revision[i]
        from k where t.ctid = k.at and v_value[i] is not null;
        get diagnostics found_rows = row_count;
        if found_rows < cardinality(v_key) then
            delete from user_state t
            using generate_subscripts(v_key, 1) as i
            cross join lateral (select l.ctid as at from user_state l where l.app_name = p_app and l.user_id = v_user[i] and l.key = v_key[i] offset 0) as k
            where t.ctid = k.at and v_until[i] is null and v_value[i] is null;
            insert into user_state (app_name, user_id, key, value, revision)
            select p_app, v_user[i], v_key[i], v_value[i], v_revision[i]
            from generate_subscripts(v_key, 1) as i
            where v_until[i] is null and v_value[i] is not null
              and (select true from user_state l where l.app_name = p_app and l.user_id = v_user[i] and l.key = v_key[i]) is null;
        end if;
    end if;

    if a_revision <> a_was then
        update app_scopes s set revision = a_revision where s.ctid = a_at;
        if not found then
            raise exception 'a locked app is not where it was';
        end if;
    end if;
    if cardinality(w_key) > 0 then
        with k as materialized (
            select i, t.at, coalesce(t.revision, w_revision[i]) as valid_from, coalesce(w_until[i], w_first[i]) as valid_to
            from generate_subscripts(w_key, 1) as i
            left join lateral (
                select l.ctid as at, l.revision from app_state l
                where w_until[i] is null and l.app_name = p_app and l.key = w_key[i]
                offset 0) as t on true),
        logged as (
            insert into app_log (app_name, key, revision, value, time, incarnation, sequence)
            select p_app, w_key[i], w_revision[i], w_value[i], present, w_incarnation[i], w_sequence[i] from k),
        ended as (
            insert into app_spans (app_name, node, key, valid_from, valid_to)
            select p_app, valid_to & (-1::bigint << (length(ltrim((valid_from # valid_to)::bit(64)::text, '0')) - 1)),
                w_key[i], valid_from, valid_to
            from k where at is not null or w_until[i] is not null and w_value[i] is not null)
        update app_state t set value = w_value[i], revision = w_revision[i]
        from k where t.ctid = k.at and w_value[i] is not null;
        get diagnostics found_rows = row_count;
        if found_rows < cardinality(w_key) then
            delete from app_state t
            using generate_subscripts(w_key, 1) as i
            cross join lateral (select l.ctid as at from app_state l where l.app_name = p_app and l.key = w_key[i] offset 0) as k
            where t.ctid = k.at and w_until[i] is null and w_value[i] is null;
            insert into app_state (app_name, key, value, revision)
            select p_app, w_key[i], w_value[i], w_revision[i]
            from generate_subscripts(w_key, 1) as i
            where w_until[i] is null and w_value[i] is not null
              and (select true from app_state l where l.app_name = p_app and l.key = w_key[i]) is null;
        end if;
    end if;

    if p_feed then
        if cardinality(h_user) > 0 then
            insert into changes (kind, app_name, user_id, session_id, incarnation, first_revision, last_revision, time)
            select 2, p_app, h_user[i], h_session[i], h_incarnation[i], h_was[i] + 1, h_revision[i], present
            from generate_subscripts(h_user, 1) as i
            where h_revision[i] > h_was[i];
        end if;
        if cardinality(u_user) > 0 then
            insert into changes (kind, app_name, user_id, first_revision, last_revision, time)
            select 6, p_app, u_user[i], u_first[i], u_revision[i], present
            from generate_subscripts(u_user, 1) as i
            where u_revision[i] > u_was[i];
        end if;
        if a_revision > a_was then
            insert into changes (kind, app_name, first_revision, last_revision, time)
            values (7, p_app, a_was + 1, a_revision, present);
        end if;
    end if;
end
$$;

-- `sessiond_write` for one event of one session: the same checks, locks, rows and verdicts, without arrays of rows. Parameters have
-- the names that they have there. The scopes `u` and `a` are those of the session; null: not compared. One event makes one revision
-- of each, so the state rows `s`, `v` and `w` are keys and values alone, and no value passes.
create function sessiond_append(
    p_app text, p_user text, p_session text, p_incarnation bigint,
    h_was bigint, h_metadata bigint, h_rough boolean, h_place bigint, h_revision bigint, h_time bigint,
    h_time_number text, h_lease bigint, h_side boolean,
    u_was bigint, u_revision bigint, a_was bigint, a_revision bigint,
    e_id text, e_time bigint, e_author text, e_invocation text, e_branch text, e_user_revision bigint,
    e_app_revision bigint, e_effect bigint, e_digest bytea, e_body text,
    s_key text[], s_value text[], v_key text[], v_value text[], w_key text[], w_value text[],
    p_feed boolean,
    out verdict text, out user_revision bigint, out app_revision bigint, out commit_time bigint
) language plpgsql as $$
declare
    present bigint := (extract(epoch from statement_timestamp()) * 1000000)::bigint;
    committed bigint;
    h_at tid;
    u_at tid;
    a_at tid;
    s_at tid;
    s_revision bigint;
    s_was text;
    made_user boolean := false;
    made_app boolean := false;
begin
    -- As in `sessiond_write`.
    if current_setting('synchronous_commit') = 'off' then
        perform set_config('synchronous_commit', 'on', true);
    end if;
    if current_setting('enable_seqscan') = 'on' then
        perform set_config(name, 'off', true)
        from unnest(array['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) as s(name);
    end if;
    verdict := 'ok';

    select l.ctid, l.commit_time into h_at, committed from sessions l
    where l.app_name = p_app and l.user_id = p_user and l.id = p_session and l.incarnation = p_incarnation
      and l.revision = h_was and l.metadata_revision = h_metadata
      and (l.expire_time is null or l.expire_time > present)
      and (h_lease is null or l.lease_epoch = h_lease)
      and (h_side is false or not l.lease_all or l.lease_expire <= present)
      and (h_revision - l.base_revision <= (select p.events_per_session from policies p where p.app_name = p_app)) is not false
    for no key update skip locked;
    if not found then
        perform 1 from sessions l
        where l.app_name = p_app and l.user_id = p_user and l.id = p_session and l.incarnation = p_incarnation
          and l.revision = h_was and l.metadata_revision = h_metadata
          and (l.expire_time is null or l.expire_time > present)
          and (h_lease is null or l.lease_epoch = h_lease)
          and (h_side is false or not l.lease_all or l.lease_expire <= present)
          and (h_revision - l.base_revision <= (select p.events_per_session from policies p where p.app_name = p_app)) is not false;
        verdict := case when found then 'locked' else 'conflict' end;
        return;
    end if;

    if u_was is not null then
        if u_was = 0 then
            insert into user_scopes (app_name, user_id, revision) select p_app, p_user, 0
            where u_revision = coalesce((select x.revision from erased_revisions x where x.app_name = p_app), 0) + 1
            on conflict do nothing;
            made_user := found;
        end if;
        select l.ctid into u_at from user_scopes l where l.app_name = p_app and l.user_id = p_user and l.revision = u_was
        for update skip locked;
        if not found then
            perform 1 from user_scopes l where l.app_name = p_app and l.user_id = p_user and l.revision = u_was;
            verdict := case when found then 'locked' else 'conflict' end;
        end if;
    end if;
    if verdict = 'ok' and a_was is not null then
        if a_was = 0 then
            insert into app_scopes (app_name, revision) values (p_app, 0) on conflict do nothing;
            made_app := found;
        end if;
        select s.ctid into a_at from app_scopes s where s.app_name = p_app and s.revision = a_was for update skip locked;
        if not found then
            perform 1 from app_scopes s where s.app_name = p_app and s.revision = a_was;
            verdict := case when found then 'locked' else 'conflict' end;
        end if;
    end if;
    if verdict = 'ok' then
        present := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
        committed := greatest(present, committed);
        commit_time := committed;
        insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
            invocation_id, branch, user_revision, app_revision, effect, digest, body)
        values (p_app, p_user, p_session, p_incarnation, h_revision, e_id, e_time, committed, e_author, e_invocation, e_branch,
            coalesce(e_user_revision, (select u.revision from user_scopes u where u.app_name = p_app and u.user_id = p_user), 0),
            coalesce(e_app_revision, (select a.revision from app_scopes a where a.app_name = p_app), 0),
            e_effect, e_digest, e_body)
        on conflict on constraint events_id_key do nothing
        returning events.user_revision, events.app_revision into user_revision, app_revision;
        if not found then
            verdict := 'conflict';
        end if;
    end if;
    if verdict <> 'ok' then
        if made_user then
            delete from user_scopes s where s.app_name = p_app and s.user_id = p_user;
        end if;
        if made_app then
            delete from app_scopes s where s.app_name = p_app;
        end if;
        return;
    end if;

    if h_place is not null then
        update session_updates o set rough = h_rough, place = h_place
        from (select l.rough, case when l.rough then l.update_time / 10000000 else l.update_time end as place
              from sessions l where l.ctid = h_at offset 0) as l
        where o.app_name = p_app and o.user_id = p_user and o.rough = l.rough and o.place = l.place and o.id = p_session;
    end if;
    update sessions s
    set revision = h_revision, commit_time = committed, update_time = h_time, update_time_number = h_time_number,
        active_day = present / 86400000000, rough = coalesce(h_rough, s.rough),
        lease_expire = greatest(s.lease_expire, present + s.lease_ttl + 0 * h_lease)
    where s.ctid = h_at;
    if not found then
        raise exception 'a locked session is not where it was';
    end if;

    for i in 1 .. cardinality(s_key) loop
        select t.ctid, t.revision, t.value into s_at, s_revision, s_was from session_state t
        where t.app_name = p_app and t.user_id = p_user and t.session_id = p_session and t.incarnation = p_incarnation and t.key = s_key[i];
        if not found then
            insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
            select p_app, p_user, p_session, p_incarnation, s_key[i], s_value[i], h_revision where s_value[i] is not null;
            continue;
        end if;
        insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, removed, value)
        values (p_app, p_user, p_session, p_incarnation,
            h_revision & (-1::bigint << (length(ltrim((s_revision # h_revision)::bit(64)::text, '0')) - 1)), s_key[i], s_revision, h_revision,
            s_value[i] is null, s_was);
        if s_value[i] is null then
            delete from session_state t where t.ctid = s_at;
        else
            update session_state t set value = s_value[i], revision = h_revision where t.ctid = s_at;
        end if;
    end loop;

    if u_revision <> u_was then
        update user_scopes s
        set revision = u_revision, floor = greatest(s.floor, (u_revision - 1) * (1 - least(u_was, 1))),
            emptied = greatest(s.emptied, (u_revision - 1) * (1 - least(u_was, 1))),
            began = greatest(s.began, (u_revision - 1) * (1 - least(u_was, 1)))
        where s.ctid = u_at;
        if not found then
            raise exception 'a locked user is not where it was';
        end if;
    end if;
    for i in 1 .. cardinality(v_key) loop
        insert into user_log (app_name, user_id, key, revision, value, time, incarnation, sequence)
        values (p_app, p_user, v_key[i], u_revision, v_value[i], present, p_incarnation, h_revision);
        select t.ctid, t.revision into s_at, s_revision from user_state t
        where t.app_name = p_app and t.user_id = p_user and t.key = v_key[i];
        if not found then
            insert into user_state (app_name, user_id, key, value, revision)
            select p_app, p_user, v_key[i], v_value[i], u_revision where v_value[i] is not null;
            continue;
        end if;
        insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
        values (p_app, p_user, u_revision & (-1::bigint << (length(ltrim((s_revision # u_revision)::bit(64)::text, '0')) - 1)),
            v_key[i], s_revision, u_revision);
        if v_value[i] is null then
            delete from user_state t where t.ctid = s_at;
        else
            update user_state t set value = v_value[i], revision = u_revision where t.ctid = s_at;
        end if;
    end loop;

    if a_revision <> a_was then
        update app_scopes s set revision = a_revision where s.ctid = a_at;
        if not found then
            raise exception 'a locked app is not where it was';
        end if;
    end if;
    for i in 1 .. cardinality(w_key) loop
        insert into app_log (app_name, key, revision, value, time, incarnation, sequence)
        values (p_app, w_key[i], a_revision, w_value[i], present, p_incarnation, h_revision);
        select t.ctid, t.revision into s_at, s_revision from app_state t where t.app_name = p_app and t.key = w_key[i];
        if not found then
            insert into app_state (app_name, key, value, revision)
            select p_app, w_key[i], w_value[i], a_revision where w_value[i] is not null;
            continue;
        end if;
        insert into app_spans (app_name, node, key, valid_from, valid_to)
        values (p_app, a_revision & (-1::bigint << (length(ltrim((s_revision # a_revision)::bit(64)::text, '0')) - 1)),
            w_key[i], s_revision, a_revision);
        if w_value[i] is null then
            delete from app_state t where t.ctid = s_at;
        else
            update app_state t set value = w_value[i], revision = a_revision where t.ctid = s_at;
        end if;
    end loop;

    if p_feed then
        insert into changes (kind, app_name, user_id, session_id, incarnation, first_revision, last_revision, time)
        values (2, p_app, p_user, p_session, p_incarnation, h_revision, h_revision, present);
        if u_revision > u_was then
            insert into changes (kind, app_name, user_id, first_revision, last_revision, time)
            values (6, p_app, p_user, u_revision, u_revision, present);
        end if;
        if a_revision > a_was then
            insert into changes (kind, app_name, first_revision, last_revision, time)
            values (7, p_app, a_revision, a_revision, present);
        end if;
    end if;
end
$$;
