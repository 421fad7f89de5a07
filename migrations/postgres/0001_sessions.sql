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
    -- The lease: how often one was granted, and who holds it; all but the epoch is null if nobody does. `lease_ttl` is by how
    -- much an append under it extends it; `lease_all`: it excludes writes without a lease.
    lease_epoch           bigint not null default 0,
    lease_owner           text,
    lease_invocation      text,
    lease_expire          bigint,
    lease_ttl             bigint,
    lease_all             boolean not null default false
) with (fillfactor = 70);
create index sessions_by_user_create on sessions (app_name, user_id, create_time, id);
create index sessions_by_app_create on sessions (app_name, create_time, user_id, id);
create unique index sessions_creation_key on sessions (creation_key, user_id, app_name) where creation_key is not null;
create index sessions_by_expiry on sessions (expire_time) where expire_time is not null;
-- Begins otherwise than the other indexes, and is the last one: a planner without statistics takes all that have the
-- columns of a key for equally good, and then the one that was made last. With another one it would look for a session
-- through all those of its user, or of its app.
alter table sessions add constraint sessions_pkey primary key (id, user_id, app_name);

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

-- Of a trimmed event, up to its session's base, the sweep leaves a stub: no author, branch and body.
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
    -- A key that ends with user and app admits tables that are distributed by either, and costs next to nothing.
    constraint events_pkey primary key (incarnation, sequence, user_id, app_name),
    -- Has no column in front that the primary key has in front: a planner that took both for equally good would look
    -- through all events of the session.
    constraint events_id_key unique (id, incarnation, user_id, app_name)
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

-- `floor`: what the scope was before that revision is not known, or not any more. `emptied`: nothing is left of what was before
-- that one. `began`: the scope of a user has had no revision up to here, but 0. `imported`: the revision at which an import took it,
-- until its past has come, which is written below the floor.
create table user_scopes (
    app_name text collate "C" not null,
    user_id  text collate "C" not null,
    revision bigint not null,
    floor    bigint not null default 0,
    emptied  bigint not null default 0,
    began    bigint not null default 0,
    imported bigint not null default 0,
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
    value       text not null,
    constraint session_spans_pkey primary key (incarnation, node, key, user_id, app_name)
);

create table user_log (
    app_name text collate "C" not null,
    user_id  text collate "C" not null,
    key      text collate "C" not null,
    revision bigint not null,
    value    text,
    time     bigint not null default (extract(epoch from statement_timestamp()) * 1000000)::bigint,
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
    constraint app_log_pkey primary key (app_name, key, revision)
);
create index app_log_by_revision on app_log (app_name, revision, key);
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
    -- The erasure that it is a part of.
    erasure     text collate "C",
    constraint buried_sessions_pkey primary key (app_name, user_id, session_id, incarnation)
);
create index buried_by_erasure on buried_sessions (erasure) where erasure is not null;

-- Sessions of which trimmed events are still to be emptied: those after `emptied`, up to the session's base.
create table trims (
    app_name    text collate "C" not null,
    user_id     text collate "C" not null,
    session_id  text collate "C" not null,
    incarnation bigint not null,
    emptied     bigint not null,
    constraint trims_pkey primary key (app_name, user_id, session_id, incarnation)
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
--     h  sessions: what they were (`was`, `metadata`, `was_time`) and what they become. None for sessions that the
--        transaction itself has made. `lease` is the epoch that an append names, which must be the present one, and whose
--        lease is extended; `side` says that an append names none, and no lease may exclude it. Null for the whole arrays of
--        both: no append names one
--     u  revisions of user state before and after; equal: only compared. `first` is the first that the batch makes: of state that has
--        none, it must be the one after `erased_revisions`. `a_was`, `a_revision`: the same for the app, or null
--     e  events. Where a revision of shared state is null, the event notes the present one; `incarnations`,
--        `user_revisions`, `app_revisions` and `commit_times` say what each event notes. It is committed when all is locked, by
--        this clock, and never before the session's last one; those of a session that the transaction made, with it
--     s, v, w  rows of session, user and app state after the batch: `first` is the revision that ended what was there
--        before it, a value of null removes the row. Where `until` is not null, the value did not outlast the batch: it held
--        from `revision` up to, not including, `until`. Null for the whole array of `until`: all lasted
--     p_feed  whether the change feed gets a row for each session and scope that changes
--
-- Every table is asked by app, and by user where it has users, so that a database that distributes tables by either can run
-- a call in one place; rows that are inserted take the app from a row that is there, which says where they go. So an index
-- that begins with the app, or just has it, always is a candidate, and a planner without statistics would begin a join there,
-- and go through all that the app has. Hence rows are found one by one, by their whole keys: in lateral queries that
-- `offset 0` keeps apart, and by the app's name from the array, as no index has the collation in which the name is compared to
-- that of the call. In a loop, each of its statements would be planned by Citus: ten times what it takes to run.
--
-- Nothing is set to an element of an array (`set c = a[i]`): within a function that is sent to a node, that crashes the node's server in
-- Citus 13.2.
--
-- There is no `set search_path`: the function sees the tables that its caller sees, with the caller's rights. Another form
-- of it gets another name, as processes of two versions may run at a time.
create function sessiond_write(
    p_app text,
    h_user text[], h_session text[], h_incarnation bigint[], h_was bigint[], h_metadata bigint[], h_was_time bigint[],
    h_revision bigint[], h_time bigint[], h_time_number text[], h_lease bigint[], h_side boolean[],
    u_user text[], u_was bigint[], u_first bigint[], u_revision bigint[],
    a_was bigint, a_revision bigint,
    e_user text[], e_session text[], e_incarnation bigint[], e_sequence bigint[], e_id text[], e_time bigint[],
    e_author text[], e_invocation text[], e_branch text[], e_user_revision bigint[], e_app_revision bigint[],
    e_rewind_to bigint[], e_digest bytea[], e_body text[],
    s_user text[], s_session text[], s_incarnation bigint[], s_key text[], s_value text[], s_first bigint[],
    s_revision bigint[], s_until bigint[],
    v_user text[], v_key text[], v_value text[], v_first bigint[], v_revision bigint[], v_until bigint[],
    w_key text[], w_value text[], w_first bigint[], w_revision bigint[], w_until bigint[],
    p_feed boolean,
    out verdict text, out incarnations bigint[], out user_revisions bigint[], out app_revisions bigint[],
    out commit_times bigint[]
) language plpgsql
    -- As the service's connections have it, here also where it cannot set them: behind PgBouncer, and on the nodes of Citus.
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    present bigint := (extract(epoch from statement_timestamp()) * 1000000)::bigint;
    -- Null where the sessions are of this transaction.
    committed bigint;
    found_rows bigint;
    r record;
    -- How many events a session may have, if the app has a policy that says so.
    most bigint;
    -- Scopes of which there was no row. One of revision 0 says the same, and can be locked.
    made_users text[] := '{}';
    made_app boolean := false;
begin
    -- A success is answered after a durable commit, also on a node of Citus whose default is to be lax.
    if current_setting('synchronous_commit') = 'off' then
        perform set_config('synchronous_commit', 'on', true);
    end if;
    verdict := 'ok';
    incarnations := '{}';
    user_revisions := '{}';
    app_revisions := '{}';
    commit_times := '{}';

    if cardinality(h_user) > 0 then
        select p.events_per_session into most from policies p where p.app_name = p_app;
        perform 1
        from unnest(h_user, h_session, h_incarnation, h_was, h_metadata, h_revision, h_lease, h_side)
            as h(user_id, id, incarnation, was, metadata, revision, lease, side)
        cross join lateral (
            select 1 from sessions l
            where l.app_name = p_app and l.user_id = h.user_id and l.id = h.id and l.incarnation = h.incarnation
              and l.revision = h.was and l.metadata_revision = h.metadata
              and (l.expire_time is null or l.expire_time > present)
              and (h.lease is null or l.lease_epoch = h.lease)
              and (h.side is false or not l.lease_all or l.lease_expire <= present)
              and (most is null or h.revision - l.base_revision <= most)
            for no key update skip locked) as s;
        get diagnostics found_rows = row_count;
        if found_rows < cardinality(h_user) then
            perform 1
            from unnest(h_user, h_session, h_incarnation, h_was, h_metadata, h_revision, h_lease, h_side)
                as h(user_id, id, incarnation, was, metadata, revision, lease, side)
            cross join lateral (
                select 1 from sessions l
                where l.app_name = p_app and l.user_id = h.user_id and l.id = h.id and l.incarnation = h.incarnation
                  and l.revision = h.was and l.metadata_revision = h.metadata
                  and (l.expire_time is null or l.expire_time > present)
                  and (h.lease is null or l.lease_epoch = h.lease)
                  and (h.side is false or not l.lease_all or l.lease_expire <= present)
                  and (most is null or h.revision - l.base_revision <= most) offset 0) as s;
            get diagnostics found_rows = row_count;
            verdict := case when found_rows < cardinality(h_user) then 'conflict' else 'locked' end;
            return;
        end if;
    end if;

    if cardinality(u_user) > 0 then
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
        perform 1
        from unnest(u_user, u_was) as u(user_id, was)
        cross join lateral (
            select 1 from user_scopes l where l.app_name = p_app and l.user_id = u.user_id and l.revision = u.was
            for update skip locked) as s;
        get diagnostics found_rows = row_count;
        if verdict = 'ok' and found_rows < cardinality(u_user) then
            perform 1
            from unnest(u_user, u_was) as u(user_id, was)
            cross join lateral (
                select 1 from user_scopes l
                where l.app_name = p_app and l.user_id = u.user_id and l.revision = u.was offset 0) as s;
            get diagnostics found_rows = row_count;
            verdict := case when found_rows < cardinality(u_user) then 'conflict' else 'locked' end;
        end if;
    end if;

    if verdict = 'ok' and a_was is not null then
        if a_was = 0 then
            insert into app_scopes (app_name, revision) values (p_app, 0) on conflict do nothing;
            made_app := found;
        end if;
        perform 1 from app_scopes s where s.app_name = p_app and s.revision = a_was for update skip locked;
        if not found then
            perform 1 from app_scopes s where s.app_name = p_app and s.revision = a_was;
            verdict := case when found then 'locked' else 'conflict' end;
        end if;
    end if;

    -- Statements before this one may have waited.
    present := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    committed := case when cardinality(h_user) > 0 then present end;

    if verdict = 'ok' and cardinality(e_user) > 0 then
        for r in
            insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
                invocation_id, branch, user_revision, app_revision, rewind_to, digest, body)
            select s.app_name, e.user_id, e.session_id, e.incarnation, e.sequence, e.id, e.event_time,
                greatest(committed, s.commit_time), e.author, e.invocation_id, e.branch,
                coalesce(e.user_revision, (select u.revision from user_scopes u
                                           where u.app_name = p_app and u.user_id = e.user_id), 0),
                coalesce(e.app_revision, (select a.revision from app_scopes a where a.app_name = p_app), 0),
                e.rewind_to, e.digest, e.body
            from unnest(e_user, e_session, e_incarnation, e_sequence, e_id, e_time, e_author, e_invocation, e_branch,
                    e_user_revision, e_app_revision, e_rewind_to, e_digest, e_body)
                as e(user_id, session_id, incarnation, sequence, id, event_time, author, invocation_id, branch,
                    user_revision, app_revision, rewind_to, digest, body)
            cross join lateral (select l.app_name, l.commit_time from sessions l where l.app_name = p_app
                                  and l.user_id = e.user_id and l.id = e.session_id and l.incarnation = e.incarnation
                                offset 0) as s
            on conflict (id, incarnation, user_id, app_name) do nothing
            returning events.incarnation, events.user_revision, events.app_revision, events.commit_time
        loop
            incarnations := incarnations || r.incarnation;
            user_revisions := user_revisions || r.user_revision;
            app_revisions := app_revisions || r.app_revision;
            commit_times := commit_times || r.commit_time;
        end loop;
        if cardinality(incarnations) < cardinality(e_user) then
            -- An id is taken. What was stored is taken back: whatever has these sequences is of this call.
            verdict := 'conflict';
            for r in
                select * from unnest(e_user, e_session, e_incarnation, e_sequence, e_id)
                    as e(user_id, session_id, incarnation, sequence, id)
            loop
                delete from events t where t.app_name = p_app and t.user_id = r.user_id and t.session_id = r.session_id
                  and t.incarnation = r.incarnation and t.sequence = r.sequence and t.id = r.id;
            end loop;
        end if;
    end if;

    if verdict <> 'ok' then
        for r in select * from unnest(made_users) as u(user_id) loop
            delete from user_scopes s where s.app_name = p_app and s.user_id = r.user_id;
        end loop;
        if made_app then
            delete from app_scopes s where s.app_name = p_app;
        end if;
        return;
    end if;

    if cardinality(h_user) > 0 then
        update session_updates o
        set update_time = h.update_time
        from (select p_app as app_name, h.* from unnest(h_user, h_session, h_was_time, h_time)
                as h(user_id, id, was_time, update_time) offset 0) as h
        where o.app_name = p_app collate "POSIX" and o.app_name = h.app_name and o.user_id = h.user_id
          and o.update_time = h.was_time and o.id = h.id;
        update sessions s
        set revision = h.revision, commit_time = greatest(present, s.commit_time), update_time = h.update_time,
            update_time_number = h.update_time_number, active_day = present / 86400000000,
            -- Null where no lease is named, and `greatest` takes no notice of nulls.
            lease_expire = greatest(s.lease_expire, present + s.lease_ttl + 0 * h.lease)
        from (select p_app as app_name, h.* from unnest(h_user, h_session, h_revision, h_time, h_time_number, h_lease)
                as h(user_id, id, revision, update_time, update_time_number, lease) offset 0) as h
        where s.app_name = p_app collate "POSIX" and s.app_name = h.app_name and s.user_id = h.user_id and s.id = h.id;
    end if;

    -- The node (src/domain/history.rs) of a span from one revision to another: in the latter, all bits below the highest in
    -- which the two differ are cleared.
    if cardinality(s_user) > 0 then
        insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, value)
        select t.app_name, k.user_id, k.session_id, k.incarnation,
            k.first & (-1::bigint << (length(ltrim((t.revision # k.first)::bit(64)::text, '0')) - 1)),
            k.key, t.revision, k.first, t.value
        from unnest(s_user, s_session, s_incarnation, s_key, s_first, s_until)
            as k(user_id, session_id, incarnation, key, first, until)
        cross join lateral (select l.app_name, l.revision, l.value from session_state l where l.app_name = p_app
                              and l.user_id = k.user_id and l.session_id = k.session_id
                              and l.incarnation = k.incarnation and l.key = k.key offset 0) as t
        where k.until is null;
        insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
        select s.app_name, k.user_id, k.session_id, k.incarnation, k.key, k.value, k.revision
        from unnest(s_user, s_session, s_incarnation, s_key, s_value, s_revision, s_until)
            as k(user_id, session_id, incarnation, key, value, revision, until)
        cross join lateral (select l.app_name from sessions l where l.app_name = p_app and l.user_id = k.user_id
                              and l.id = k.session_id and l.incarnation = k.incarnation offset 0) as s
        where k.until is null and k.value is not null
        on conflict (incarnation, key, session_id, user_id, app_name)
        do update set value = excluded.value, revision = excluded.revision;
        if array_position(s_value, null) is not null then
            for r in
                select * from unnest(s_user, s_session, s_incarnation, s_key, s_value, s_until)
                    as k(user_id, session_id, incarnation, key, value, until)
                where k.until is null and k.value is null
            loop
                delete from session_state t where t.app_name = p_app and t.user_id = r.user_id
                  and t.session_id = r.session_id and t.incarnation = r.incarnation and t.key = r.key;
            end loop;
        end if;
        if s_until is not null then
            insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, value)
            select s.app_name, k.user_id, k.session_id, k.incarnation,
                k.until & (-1::bigint << (length(ltrim((k.revision # k.until)::bit(64)::text, '0')) - 1)),
                k.key, k.revision, k.until, k.value
            from unnest(s_user, s_session, s_incarnation, s_key, s_value, s_revision, s_until)
                as k(user_id, session_id, incarnation, key, value, revision, until)
            cross join lateral (select l.app_name from sessions l where l.app_name = p_app and l.user_id = k.user_id
                                  and l.id = k.session_id and l.incarnation = k.incarnation offset 0) as s
            where k.until is not null and k.value is not null;
        end if;
    end if;

    if cardinality(u_user) > 0 then
        update user_scopes s
        set revision = u.revision, floor = greatest(s.floor, u.began), emptied = greatest(s.emptied, u.began),
            began = greatest(s.began, u.began)
        from (select p_app as app_name, u.user_id, u.revision, (u.first - 1) * (1 - least(u.was, 1)) as began
              from unnest(u_user, u_was, u_first, u_revision) as u(user_id, was, first, revision)
              where u.revision <> u.was offset 0) as u
        where s.app_name = p_app collate "POSIX" and s.app_name = u.app_name and s.user_id = u.user_id;
    end if;
    if cardinality(v_user) > 0 then
        insert into user_log (app_name, user_id, key, revision, value, time)
        select s.app_name, k.user_id, k.key, k.revision, k.value, present
        from unnest(v_user, v_key, v_value, v_revision) as k(user_id, key, value, revision)
        cross join lateral (select l.app_name from user_scopes l where l.app_name = p_app and l.user_id = k.user_id offset 0) as s;
        insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
        select t.app_name, k.user_id,
            k.first & (-1::bigint << (length(ltrim((t.revision # k.first)::bit(64)::text, '0')) - 1)),
            k.key, t.revision, k.first
        from unnest(v_user, v_key, v_first, v_until) as k(user_id, key, first, until)
        cross join lateral (select l.app_name, l.revision from user_state l where l.app_name = p_app and l.user_id = k.user_id
                              and l.key = k.key offset 0) as t
        where k.until is null;
        insert into user_state (app_name, user_id, key, value, revision)
        select s.app_name, k.user_id, k.key, k.value, k.revision
        from unnest(v_user, v_key, v_value, v_revision, v_until) as k(user_id, key, value, revision, until)
        cross join lateral (select l.app_name from user_scopes l where l.app_name = p_app and l.user_id = k.user_id offset 0) as s
        where k.until is null and k.value is not null
        on conflict (app_name, user_id, key) do update set value = excluded.value, revision = excluded.revision;
        if array_position(v_value, null) is not null then
            for r in
                select * from unnest(v_user, v_key, v_value, v_until) as k(user_id, key, value, until)
                where k.until is null and k.value is null
            loop
                delete from user_state t where t.app_name = p_app and t.user_id = r.user_id and t.key = r.key;
            end loop;
        end if;
        if v_until is not null then
            insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
            select s.app_name, k.user_id,
                k.until & (-1::bigint << (length(ltrim((k.revision # k.until)::bit(64)::text, '0')) - 1)),
                k.key, k.revision, k.until
            from unnest(v_user, v_key, v_value, v_revision, v_until) as k(user_id, key, value, revision, until)
            cross join lateral (select l.app_name from user_scopes l
                                where l.app_name = p_app and l.user_id = k.user_id offset 0) as s
            where k.until is not null and k.value is not null;
        end if;
    end if;

    if a_revision <> a_was then
        update app_scopes s set revision = a_revision where s.app_name = p_app;
    end if;
    if cardinality(w_key) > 0 then
        insert into app_log (app_name, key, revision, value, time)
        select s.app_name, k.key, k.revision, k.value, present
        from unnest(w_key, w_value, w_revision) as k(key, value, revision)
        cross join lateral (select l.app_name from app_scopes l where l.app_name = p_app offset 0) as s;
        insert into app_spans (app_name, node, key, valid_from, valid_to)
        select t.app_name, k.first & (-1::bigint << (length(ltrim((t.revision # k.first)::bit(64)::text, '0')) - 1)),
            k.key, t.revision, k.first
        from unnest(w_key, w_first, w_until) as k(key, first, until)
        cross join lateral (select l.app_name, l.revision from app_state l
                            where l.app_name = p_app and l.key = k.key offset 0) as t
        where k.until is null;
        insert into app_state (app_name, key, value, revision)
        select s.app_name, k.key, k.value, k.revision
        from unnest(w_key, w_value, w_revision, w_until) as k(key, value, revision, until)
        cross join lateral (select l.app_name from app_scopes l where l.app_name = p_app offset 0) as s
        where k.until is null and k.value is not null
        on conflict (app_name, key) do update set value = excluded.value, revision = excluded.revision;
        if array_position(w_value, null) is not null then
            for r in
                select * from unnest(w_key, w_value, w_until) as k(key, value, until)
                where k.until is null and k.value is null
            loop
                delete from app_state t where t.app_name = p_app and t.key = r.key;
            end loop;
        end if;
        if w_until is not null then
            insert into app_spans (app_name, node, key, valid_from, valid_to)
            select s.app_name, k.until & (-1::bigint << (length(ltrim((k.revision # k.until)::bit(64)::text, '0')) - 1)),
                k.key, k.revision, k.until
            from unnest(w_key, w_value, w_revision, w_until) as k(key, value, revision, until)
            cross join lateral (select l.app_name from app_scopes l where l.app_name = p_app offset 0) as s
            where k.until is not null and k.value is not null;
        end if;
    end if;

    if p_feed then
        if cardinality(h_user) > 0 then
            insert into changes (kind, app_name, user_id, session_id, incarnation, first_revision, last_revision, time)
            select 2, p_app, h.user_id, h.id, h.incarnation, h.was + 1, h.revision, present
            from unnest(h_user, h_session, h_incarnation, h_was, h_revision) as h(user_id, id, incarnation, was, revision)
            where h.revision > h.was;
        end if;
        if cardinality(u_user) > 0 then
            insert into changes (kind, app_name, user_id, first_revision, last_revision, time)
            select 6, p_app, u.user_id, u.first, u.revision, present
            from unnest(u_user, u_was, u_first, u_revision) as u(user_id, was, first, revision)
            where u.revision > u.was;
        end if;
        if a_revision > a_was then
            insert into changes (kind, app_name, first_revision, last_revision, time)
            values (7, p_app, a_was + 1, a_revision, present);
        end if;
    end if;
end
$$;
