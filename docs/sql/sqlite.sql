-- The statements that sessiond sends to SQLite, by name. Generated: UPDATE_DOCS=1 cargo test --lib documented
-- Lists of rows have one size or a few; here the smallest, and one larger.

-- head
select s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision, coalesce((select u.revision from user_scopes u where u.app_name = $1 and u.user_id =
    s.user_id), 0) as user_revision, coalesce((select a.revision from app_scopes a where a.app_name = $1), 0)
    as app_revision from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 and (s.expire_time
    is null or s.expire_time > $4);

-- view
select s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision, coalesce((select u.revision from user_scopes u where u.app_name = $1 and u.user_id =
    s.user_id), 0) as user_revision, coalesce((select a.revision from app_scopes a where a.app_name = $1), 0)
    as app_revision, (select group_concat(json_quote('app:' || t.key) || ':' || t.value, ',' order by t.key)
    from app_state t where t.app_name = $1 and ($5 is null or t.key in (select value from json_each($5)))) as
    app_state, (select group_concat(json_quote('user:' || t.key) || ':' || t.value, ',' order by t.key) from
    user_state t where t.app_name = $1 and t.user_id = s.user_id and ($6 is null or t.key in (select value from
    json_each($6)))) as user_state, (select group_concat(json_quote(t.key) || ':' || t.value, ',' order by
    t.key) from session_state t where t.app_name = $1 and t.user_id = s.user_id and t.session_id = s.id and
    t.incarnation = s.incarnation and ($7 is null or t.key in (select value from json_each($7)))) as
    session_state from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 and (s.expire_time is
    null or s.expire_time > $4);

-- events_ascending
select sequence, commit_time, total, (select e.body from events e where e.app_name = $1 and e.user_id = $2 and
    e.session_id = $3 and e.incarnation = $4 and e.sequence = sized.sequence) as body from ( select sequence,
    commit_time, sum(size) over (order by sequence asc) as size_so_far, row_number() over (order by sequence
    asc) as place, count(*) over () as total from ( select sequence, commit_time, octet_length(body) + 80 as
    size from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and sequence
    > $5 and sequence < $6 and ($7 is null or event_time >= $7) and ($8 is null or author = $8) and ($9 is null
    or invocation_id = $9) and ($10 is null or branch = $10) order by sequence asc limit 0 + $11) as page) as
    sized where size_so_far <= $12 or place = 1 order by sequence asc;

-- events_descending
select sequence, commit_time, total, (select e.body from events e where e.app_name = $1 and e.user_id = $2 and
    e.session_id = $3 and e.incarnation = $4 and e.sequence = sized.sequence) as body from ( select sequence,
    commit_time, sum(size) over (order by sequence desc) as size_so_far, row_number() over (order by sequence
    desc) as place, count(*) over () as total from ( select sequence, commit_time, octet_length(body) + 80 as
    size from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and sequence
    > $5 and sequence < $6 and ($7 is null or event_time >= $7) and ($8 is null or author = $8) and ($9 is null
    or invocation_id = $9) and ($10 is null or branch = $10) order by sequence desc limit 0 + $11) as page) as
    sized where size_so_far <= $12 or place = 1 order by sequence desc;

-- visible_ascending
select sequence, commit_time, total, (select e.body from events e where e.app_name = $1 and e.user_id = $2 and
    e.session_id = $3 and e.incarnation = $4 and e.sequence = sized.sequence) as body from ( select sequence,
    commit_time, sum(size) over (order by sequence asc) as size_so_far, row_number() over (order by sequence
    asc) as place, count(*) over () as total from ( select sequence, commit_time, octet_length(body) + 80 as
    size from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and not
    exists (select 1 from json_each($13) where sequence > value ->> 0 and sequence <= value ->> 1) and sequence
    > $5 and sequence < $6 and ($7 is null or event_time >= $7) and ($8 is null or author = $8) and ($9 is null
    or invocation_id = $9) and ($10 is null or branch = $10) order by sequence asc limit 0 + $11) as page) as
    sized where size_so_far <= $12 or place = 1 order by sequence asc;

-- visible_descending
select sequence, commit_time, total, (select e.body from events e where e.app_name = $1 and e.user_id = $2 and
    e.session_id = $3 and e.incarnation = $4 and e.sequence = sized.sequence) as body from ( select sequence,
    commit_time, sum(size) over (order by sequence desc) as size_so_far, row_number() over (order by sequence
    desc) as place, count(*) over () as total from ( select sequence, commit_time, octet_length(body) + 80 as
    size from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and not
    exists (select 1 from json_each($13) where sequence > value ->> 0 and sequence <= value ->> 1) and sequence
    > $5 and sequence < $6 and ($7 is null or event_time >= $7) and ($8 is null or author = $8) and ($9 is null
    or invocation_id = $9) and ($10 is null or branch = $10) order by sequence desc limit 0 + $11) as page) as
    sized where size_so_far <= $12 or place = 1 order by sequence desc;

-- chosen_ascending
select sequence, commit_time, total, (select e.body from events e where e.app_name = $1 and e.user_id = $2 and
    e.session_id = $3 and e.incarnation = $4 and e.sequence = sized.sequence) as body from ( select sequence,
    commit_time, sum(size) over (order by sequence asc) as size_so_far, row_number() over (order by sequence
    asc) as place, count(*) over () as total from ( select sequence, commit_time, octet_length(body) + 80 as
    size from json_each($13) as k cross join events as l on l.app_name = $1 and l.user_id = $2 and l.session_id
    = $3 and l.incarnation = $4 and l.sequence = k.value where true and sequence > $5 and sequence < $6 and ($7
    is null or event_time >= $7) and ($8 is null or author = $8) and ($9 is null or invocation_id = $9) and
    ($10 is null or branch = $10) order by sequence asc limit 0 + $11) as page) as sized where size_so_far <=
    $12 or place = 1 order by sequence asc;

-- chosen_descending
select sequence, commit_time, total, (select e.body from events e where e.app_name = $1 and e.user_id = $2 and
    e.session_id = $3 and e.incarnation = $4 and e.sequence = sized.sequence) as body from ( select sequence,
    commit_time, sum(size) over (order by sequence desc) as size_so_far, row_number() over (order by sequence
    desc) as place, count(*) over () as total from ( select sequence, commit_time, octet_length(body) + 80 as
    size from json_each($13) as k cross join events as l on l.app_name = $1 and l.user_id = $2 and l.session_id
    = $3 and l.incarnation = $4 and l.sequence = k.value where true and sequence > $5 and sequence < $6 and ($7
    is null or event_time >= $7) and ($8 is null or author = $8) and ($9 is null or invocation_id = $9) and
    ($10 is null or branch = $10) order by sequence desc limit 0 + $11) as page) as sized where size_so_far <=
    $12 or place = 1 order by sequence desc;

-- rewinds
select sequence, effect from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation =
    $4 and effect >= 0 order by sequence;

-- activity
select (select count(*) from (select 1 from session_updates where app_name = $1 limit 0 + $3) as c) as counted,
    s.user_id, s.id, s.revision, s.commit_time, (select count(*) from events e where e.app_name = $1 and
    e.user_id = s.user_id and e.session_id = s.id and e.incarnation = s.incarnation and e.sequence > s.revision
    - 200 and e.commit_time >= $2) as events, (select e.body from events e where e.app_name = $1 and e.user_id
    = s.user_id and e.session_id = s.id and e.incarnation = s.incarnation and e.sequence = s.revision and
    octet_length(e.body) <= 16384 and e.body like '%"errorCode"%') as body from (select * from (select * from
    (select user_id, id, (place + 1) * 10000000 as time from session_updates where app_name = $1 and rough =
    true order by place desc, user_id desc, id desc limit 0 + $4) as l union all select * from (select user_id,
    id, (place + 1) * 1 as time from session_updates where app_name = $1 and rough = false order by place desc,
    user_id desc, id desc limit 0 + $4) as l) as o order by time desc, user_id desc, id desc limit 0 + $4) as o
    cross join sessions s on s.app_name = $1 and s.user_id = o.user_id and s.id = o.id;

-- event
select s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision, coalesce((select u.revision from user_scopes u where u.app_name = $1 and u.user_id =
    s.user_id), 0) as user_revision, coalesce((select a.revision from app_scopes a where a.app_name = $1), 0)
    as app_revision, e.sequence, e.commit_time, e.body from (select * from sessions s where s.app_name = $1 and
    s.user_id = $2 and s.id = $3 and (s.expire_time is null or s.expire_time > $4)) as s left join events e on
    e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and e.incarnation = s.incarnation and e.id = $5;

-- event_at
select sequence, commit_time, body from events where app_name = $1 and user_id = $2 and session_id = $3 and
    incarnation = $4 and sequence = $5;

-- app_value
select s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision, coalesce((select u.revision from user_scopes u where u.app_name = $1 and u.user_id =
    s.user_id), 0) as user_revision, coalesce((select a.revision from app_scopes a where a.app_name = $1), 0)
    as app_revision, (select t.value from app_state t where t.app_name = $1 and t.key = $5) as value from
    sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 and (s.expire_time is null or
    s.expire_time > $4);

-- user_value
select s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision, coalesce((select u.revision from user_scopes u where u.app_name = $1 and u.user_id =
    s.user_id), 0) as user_revision, coalesce((select a.revision from app_scopes a where a.app_name = $1), 0)
    as app_revision, (select t.value from user_state t where t.app_name = $1 and t.user_id = s.user_id and
    t.key = $5) as value from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 and
    (s.expire_time is null or s.expire_time > $4);

-- session_value
select s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision, coalesce((select u.revision from user_scopes u where u.app_name = $1 and u.user_id =
    s.user_id), 0) as user_revision, coalesce((select a.revision from app_scopes a where a.app_name = $1), 0)
    as app_revision, (select t.value from session_state t where t.app_name = $1 and t.user_id = s.user_id and
    t.session_id = s.id and t.incarnation = s.incarnation and t.key = $5) as value from sessions s where
    s.app_name = $1 and s.user_id = $2 and s.id = $3 and (s.expire_time is null or s.expire_time > $4);

-- state_range
select s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision, coalesce((select u.revision from user_scopes u where u.app_name = $1 and u.user_id =
    s.user_id), 0) as user_revision, coalesce((select a.revision from app_scopes a where a.app_name = $1), 0)
    as app_revision, (select max(total) || ' ' || string_agg(concat_ws(' ', octet_length(key),
    octet_length(value), key || value), '') as page from ( select key, value, total from ( select key, value,
    count(*) over () as total, row_number() over (order by key) as place, sum(octet_length(key) +
    octet_length(value)) over (order by key) as size_so_far from (select t.key, t.value from app_state t where
    t.app_name = $1 and t.key >= $5 and t.key < $6 order by key limit 0 + $11) as page) as sized where
    size_so_far <= $12 or place = 1 order by key) as page) as app_state, (select max(total) || ' ' ||
    string_agg(concat_ws(' ', octet_length(key), octet_length(value), key || value), '') as page from ( select
    key, value, total from ( select key, value, count(*) over () as total, row_number() over (order by key) as
    place, sum(octet_length(key) + octet_length(value)) over (order by key) as size_so_far from (select t.key,
    t.value from user_state t where t.app_name = $1 and t.user_id = s.user_id and t.key >= $7 and t.key < $8
    order by key limit 0 + $11) as page) as sized where size_so_far <= $12 or place = 1 order by key) as page)
    as user_state, (select max(total) || ' ' || string_agg(concat_ws(' ', octet_length(key),
    octet_length(value), key || value), '') as page from ( select key, value, total from ( select key, value,
    count(*) over () as total, row_number() over (order by key) as place, sum(octet_length(key) +
    octet_length(value)) over (order by key) as size_so_far from (select t.key, t.value from session_state t
    where t.app_name = $1 and t.user_id = s.user_id and t.session_id = s.id and t.incarnation = s.incarnation
    and t.key >= $9 and t.key < $10 order by key limit 0 + $11) as page) as sized where size_so_far <= $12 or
    place = 1 order by key) as page) as session_state from sessions s where s.app_name = $1 and s.user_id = $2
    and s.id = $3 and (s.expire_time is null or s.expire_time > $4);

-- apps
with recursive names(name) as (select min(n) from (select min(app_name) as n from sessions where app_name >= $1
    union all select min(app_name) from app_scopes where app_name >= $1 union all select min(app_name) from
    user_scopes where app_name >= $1 union all select min(app_name) from artifact_places where session_id = ''
    and app_name >= $1) as first union all select (select min(n) from (select min(app_name) as n from sessions
    where app_name > names.name union all select min(app_name) from app_scopes where app_name > names.name
    union all select min(app_name) from user_scopes where app_name > names.name union all select min(app_name)
    from artifact_places where session_id = '' and app_name > names.name) as next) from names where
    coalesce(name < $3, name is not null)) select name from names where coalesce(name < $3, name is not null)
    limit 0 + $2;

-- users
with recursive names(name) as (select min(n) from (select min(user_id) as n from sessions where app_name = $4
    and user_id >= $1 union all select min(user_id) from user_scopes where app_name = $4 and user_id >= $1
    union all select min(user_id) from artifact_places where session_id = '' and app_name = $4 and user_id >=
    $1) as first union all select (select min(n) from (select min(user_id) as n from sessions where app_name =
    $4 and user_id > names.name union all select min(user_id) from user_scopes where app_name = $4 and user_id
    > names.name union all select min(user_id) from artifact_places where session_id = '' and app_name = $4 and
    user_id > names.name) as next) from names where coalesce(name < $3, name is not null)) select name from
    names where coalesce(name < $3, name is not null) limit 0 + $2;

-- made_by
select id, incarnation, creation_digest from sessions where app_name = $1 and user_id = $2 and creation_key =
    $3;

-- count_sessions
select count(*) from (select 1 from sessions s where s.app_name = $1 and s.user_id = $2 and (s.expire_time is
    null or s.expire_time > $3) limit 0 + $4) as counted;

-- set_created_revisions
update sessions set created_user_revision = $4, created_app_revision = $5 where app_name = $1 and user_id = $2
    and id = $3;

-- list_session
insert into session_updates (app_name, user_id, id, place) select app_name, user_id, id, update_time from
    sessions where app_name = $1 and user_id = $2 and id = $3;

-- set_metadata
update sessions set metadata_revision = metadata_revision + 1, display_name = case when $4 then $5 else
    display_name end, labels = case when $6 then $7 else labels end, expire_time = case when $8 then $9 + case
    when $10 is null then 0 else $10 - $10 end else expire_time end, active_day = $11 / 86400000000 where
    app_name = $1 and user_id = $2 and id = $3;

-- unlist_update
delete from session_updates where app_name = $1 and user_id = $2 and id = $3 and rough = (select s.rough from
    sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 and s.incarnation = $4) and place =
    (select case when s.rough then s.update_time / 10000000 else s.update_time end from sessions s where
    s.app_name = $1 and s.user_id = $2 and s.id = $3 and s.incarnation = $4);

-- unlist_session
delete from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4 returning
    forked_from;

-- bury_session
insert into buried_sessions (app_name, user_id, session_id, incarnation) values ($1, $2, $3, $4) on conflict do
    nothing;

-- last_to_purge
select sequence from (select sequence from events where app_name = $1 and user_id = $2 and session_id = $3 and
    incarnation = $4 order by sequence limit 0 + $5) as page order by sequence desc limit 1;

-- purge_events
delete from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and sequence
    <= $5;

-- purge_state
delete from session_state where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and key
    <= (select key from (select key from session_state where app_name = $1 and user_id = $2 and session_id = $3
    and incarnation = $4 order by key limit 0 + $5) as page order by key desc limit 1);

-- purge_spans
delete from session_spans where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    (node, key) <= (select node, key from (select node, key from session_spans where app_name = $1 and user_id
    = $2 and session_id = $3 and incarnation = $4 order by node, key limit 0 + $5) as page order by node desc,
    key desc limit 1);

-- forget_buried
delete from buried_sessions where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4;

-- note_removed
insert into removed_forks (app_name, user_id, id, forked_from) select k.app_name, k.user_id, $3, $4 from
    (select app_name, user_id from sessions where app_name = $1 and user_id = $2 and forked_from = $3 union all
    select app_name, user_id from removed_forks where app_name = $1 and user_id = $2 and forked_from = $3) as k
    limit 1 on conflict do nothing;

-- note_imported
insert into removed_forks (app_name, user_id, id, forked_from) select app_name, user_id, $4, $5 from sessions
    where app_name = $1 and user_id = $2 and id = $3 on conflict do nothing;

-- first_of_invocation
select min(sequence) from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4
    and invocation_id = $5 and sequence > $6;

-- removals
select sequence, body from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4
    and redaction < 0 and sequence > $5;

-- removed
select key, max(valid_to) from (select key, valid_to from session_spans where app_name = $1 and user_id = $2
    and session_id = $3 and incarnation = $4 and (key in (select k.value from json_each($5) as k)) is true and
    valid_to > $6 and (node > $6 or node in (select value from json_each($7))) union all select k.value,
    s.base_revision from json_each($5) as k cross join sessions s where s.app_name = $1 and s.user_id = $2 and
    s.id = $3 and s.incarnation = $4 and s.base_revision > $6) as r group by key;

-- user_scope
select coalesce((select revision from user_scopes where app_name = $1 and user_id = $2), 0) as revision,
    (select group_concat(json_quote(t.key) || ':' || t.value, ',' order by t.key) from user_state t where
    t.app_name = $1 and t.user_id = $2 and ($3 is null or t.key in (select value from json_each($3)))) as state;

-- app_scope
select coalesce((select revision from app_scopes where app_name = $1), 0) as revision, (select
    group_concat(json_quote(t.key) || ':' || t.value, ',' order by t.key) from app_state t where t.app_name =
    $1 and ($2 is null or t.key in (select value from json_each($2)))) as state;

-- user_range
select max(total) || ' ' || string_agg(concat_ws(' ', octet_length(key), octet_length(value), key || value),
    '') as page from ( select key, value, total from ( select key, value, count(*) over () as total,
    row_number() over (order by key) as place, sum(octet_length(key) + octet_length(value)) over (order by key)
    as size_so_far from (select key, value from user_state where app_name = $1 and user_id = $2 and key >= $3
    and key < $4 order by key limit 0 + $5) as page) as sized where size_so_far <= $6 or place = 1 order by
    key) as page;

-- app_range
select max(total) || ' ' || string_agg(concat_ws(' ', octet_length(key), octet_length(value), key || value),
    '') as page from ( select key, value, total from ( select key, value, count(*) over () as total,
    row_number() over (order by key) as place, sum(octet_length(key) + octet_length(value)) over (order by key)
    as size_so_far from (select key, value from app_state where app_name = $1 and key >= $2 and key < $3 order
    by key limit 0 + $4) as page) as sized where size_so_far <= $5 or place = 1 order by key) as page;

-- user_keys_changed
select p.text, (select max(c.revision) from ( select max(revision) as revision from user_log where app_name =
    $1 and user_id = $2 and key = p.text union all select floor from user_scopes where app_name = $1 and
    user_id = $2 and (p.number > 0 or floor > began)) as c) from (select value ->> 0 as text, value ->> 1 as
    number from json_each($3)) as p;

-- app_keys_changed
select p.text, (select max(c.revision) from ( select max(revision) as revision from app_log where app_name = $1
    and key = p.text union all select floor from app_scopes where app_name = $1 and (p.number > 0 or floor >
    0)) as c) from (select value ->> 0 as text, value ->> 1 as number from json_each($2)) as p;

-- user_patch
select digest from user_patches where app_name = $1 and user_id = $2 and request_key = $3;

-- app_patch
select digest from app_patches where app_name = $1 and request_key = $2;

-- user_remember_patch
insert into user_patches (app_name, user_id, request_key, digest, time) values ($1, $2, $3, $4, $5);

-- app_remember_patch
insert into app_patches (app_name, request_key, digest, time) values ($1, $2, $3, $4);

-- user_forget_patches
delete from user_patches where (app_name, user_id, request_key) in (select app_name, user_id, request_key from
    user_patches where time < $1 - $2 order by time limit 0 + $3);

-- app_forget_patches
delete from app_patches where (app_name, request_key) in (select app_name, request_key from app_patches where
    time < $1 - $2 order by time limit 0 + $3);

-- lease
select s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision, coalesce((select u.revision from user_scopes u where u.app_name = $1 and u.user_id =
    s.user_id), 0) as user_revision, coalesce((select a.revision from app_scopes a where a.app_name = $1), 0)
    as app_revision, s.lease_epoch, s.lease_owner, s.lease_invocation, s.lease_expire, s.lease_ttl,
    s.lease_all, $4 as now from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 and
    (s.expire_time is null or s.expire_time > $4);

-- set_lease
update sessions set lease_epoch = $4, lease_owner = $5, lease_invocation = $6, lease_expire = $7, lease_ttl =
    $8, lease_all = $9 where app_name = $1 and user_id = $2 and id = $3;

-- event_time
select event_time from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    sequence = $5;

-- insert_fork
insert into sessions (app_name, user_id, id, incarnation, revision, create_time, commit_time, update_time,
    update_time_number, display_name, labels, expire_time, base_revision, initial_state, created_user_revision,
    created_app_revision, imported_revision, lost_user_from, lost_user_through, lost_app_from,
    lost_app_through, lost_files_from, lost_files_through, forked_from, forked_revision, creation_key,
    creation_digest, active_day) select app_name, user_id, $5, $6, $8, $7, max(commit_time, $7), coalesce($9,
    $7), coalesce($10, printf('%d.%06d', ($7) / 1000000, ($7) % 1000000)), display_name, labels, expire_time,
    base_revision, initial_state, created_user_revision, created_app_revision, case when imported_revision > $8
    then $8 else imported_revision end, lost_user_from, case when lost_user_through > $8 then $8 else
    lost_user_through end, lost_app_from, case when lost_app_through > $8 then $8 else lost_app_through end,
    lost_files_from, case when lost_files_through > $8 then $8 else lost_files_through end, id, $8, $11, $12,
    $7 / 86400000000 from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4 on
    conflict do nothing; insert into session_updates (app_name, user_id, id, place) select app_name, user_id,
    id, update_time from sessions where changes() = 1 and app_name = $1 and user_id = $2 and id = $5;

-- copy_events
insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
    invocation_id, branch, user_revision, app_revision, effect, digest, body, redaction) select app_name,
    user_id, $5, $6, sequence, id, event_time, commit_time, author, invocation_id, branch, user_revision,
    app_revision, effect, digest, body, case when redaction < 0 then redaction end from events where app_name =
    $1 and user_id = $2 and session_id = $3 and incarnation = $4 and sequence > $7 and sequence <= $8;

-- log_cost
select coalesce(sum(case when octet_length(e.body) > 16384 then (octet_length(e.body) + 16383) / 16384 else 1
    end), 0) from sessions s join events e on e.app_name = s.app_name and e.user_id = s.user_id and
    e.session_id = s.id and e.incarnation = s.incarnation and e.sequence > s.base_revision and e.sequence <= $4
    where s.app_name = $1 and s.user_id = $2 and s.id = $3;

-- differences
select coalesce(p.key, n.key) as key, p.value as was, n.value as now from (select t.key, t.value from
    json_each($6) as n cross join session_spans as t on app_name = $1 and user_id = $2 and session_id = $3 and
    incarnation = $4 and t.node = n.value where t.valid_from <= $5 and t.valid_to > $5) as p full join (select
    key, value from session_state where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4
    and revision > $5) as n on n.key = p.key order by 1;

-- last_compaction
select sequence, '' from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4
    and effect = -1 and sequence > $5 and sequence <= $6 order by sequence desc limit 1;

-- kept_view
select sequence, view from effective_views where app_name = $1 and user_id = $2 and session_id = $3 and
    incarnation = $4 and sequence > $5 and sequence <= $6 order by sequence desc limit 1;

-- records
select l.sequence, l.body from json_each($5) as k cross join events as l on l.app_name = $1 and l.user_id = $2
    and l.session_id = $3 and l.incarnation = $4 and l.sequence = k.value where l.event_time >= $6 and
    l.event_time <= $7 order by l.sequence;

-- mentions
select l.id, l.sequence, l.roles from json_each($5) as k cross join effective_ids as l on l.app_name = $1 and
    l.user_id = $2 and l.session_id = $3 and l.incarnation = $4 and l.id = k.value;

-- keep_view
insert into effective_views (app_name, user_id, session_id, incarnation, sequence, view) values ($1, $2, $3,
    $4, $5, $6) on conflict do nothing;

-- views
select sequence from effective_views where app_name = $1 and user_id = $2 and session_id = $3 and incarnation =
    $4 order by sequence desc;

-- whole_views
select sequence, view from effective_views where app_name = $1 and user_id = $2 and session_id = $3 and
    incarnation = $4;

-- replace_view
update effective_views set view = $6 where app_name = $1 and user_id = $2 and session_id = $3 and incarnation =
    $4 and sequence = $5;

-- forget_views
delete from effective_views where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    sequence in (select value from json_each($5));

-- forget_views_of
delete from effective_views where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    sequence >= $5;

-- forget_mentions_of
delete from effective_ids where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    sequence = $5;

-- forget_compaction
update events set effect = null where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4
    and sequence = $5 and effect < 0;

-- purge_mentions
delete from effective_ids where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    sequence <= $6 and (sequence, id) <= (select sequence, id from ( select sequence, id from effective_ids
    where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 order by sequence, id limit 0
    + $5) as page order by sequence desc, id desc limit 1);

-- seen_revisions
select seen.user_revision, seen.app_revision, coalesce((select u.floor from user_scopes u where u.app_name = $1
    and u.user_id = $2), 0) as user_floor, coalesce((select a.floor from app_scopes a where a.app_name = $1),
    0) as app_floor, coalesce((select u.redacted from user_scopes u where u.app_name = $1 and u.user_id = $2),
    0) + coalesce((select a.redacted from app_scopes a where a.app_name = $1), 0) as redacted, lost_user_from,
    lost_user_through, lost_app_from, lost_app_through, lost_files_from, lost_files_through from (select
    user_revision, app_revision from events where app_name = $1 and user_id = $2 and session_id = $3 and
    incarnation = $4 and sequence = $5 and $5 > (select s.base_revision from sessions s where s.app_name = $1
    and s.user_id = $2 and s.id = $3 and s.incarnation = $4) union all select created_user_revision,
    created_app_revision from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4
    and base_revision = $5) as seen cross join sessions s where s.app_name = $1 and s.user_id = $2 and s.id =
    $3 and s.incarnation = $4;

-- state_then
select (select group_concat(json_quote('app:' || t.key) || ':' || t.value, ',' order by t.key) from (select
    t.key, t.value from app_state t where t.app_name = $1 and t.revision <= $7 and ($11 is null or t.key in
    (select value from json_each($11))) union all select t.key, (select l.value from app_log l where l.app_name
    = $1 and l.key = t.key and l.revision = t.valid_from) from json_each($10) as n cross join app_spans as t on
    app_name = $1 and t.node = n.value where t.valid_from <= $7 and t.valid_to > $7 and ($11 is null or t.key
    in (select value from json_each($11)))) as t) as app_state, (select group_concat(json_quote('user:' ||
    t.key) || ':' || t.value, ',' order by t.key) from (select t.key, t.value from user_state t where
    t.app_name = $1 and t.user_id = $2 and t.revision <= $6 and ($12 is null or t.key in (select value from
    json_each($12))) union all select t.key, (select l.value from user_log l where l.app_name = $1 and
    l.user_id = $2 and l.key = t.key and l.revision = t.valid_from) from json_each($9) as n cross join
    user_spans as t on app_name = $1 and user_id = $2 and t.node = n.value where t.valid_from <= $6 and
    t.valid_to > $6 and ($12 is null or t.key in (select value from json_each($12)))) as t) as user_state,
    (select group_concat(json_quote(t.key) || ':' || t.value, ',' order by t.key) from (select t.key, t.value
    from session_state t where t.app_name = $1 and t.user_id = $2 and t.session_id = $3 and t.incarnation = $4
    and t.revision <= $5 and ($13 is null or t.key in (select value from json_each($13))) union all select
    t.key, t.value from json_each($8) as n cross join session_spans as t on app_name = $1 and user_id = $2 and
    session_id = $3 and incarnation = $4 and t.node = n.value where t.valid_from <= $5 and t.valid_to > $5 and
    ($13 is null or t.key in (select value from json_each($13)))) as t) as session_state;

-- session_range_then
select max(total) || ' ' || string_agg(concat_ws(' ', octet_length(key), octet_length(value), key || value),
    '') as page from ( select key, value, total from ( select key, value, count(*) over () as total,
    row_number() over (order by key) as place, sum(octet_length(key) + octet_length(value)) over (order by key)
    as size_so_far from (select t.key, t.value from session_state t where t.app_name = $1 and t.user_id = $2
    and t.session_id = $3 and t.incarnation = $4 and t.revision <= $5 and t.key >= $7 and t.key < $8 union all
    select t.key, t.value from json_each($6) as n cross join session_spans as t on app_name = $1 and user_id =
    $2 and session_id = $3 and incarnation = $4 and t.node = n.value where t.valid_from <= $5 and t.valid_to >
    $5 and t.key >= $7 and t.key < $8 order by key limit 0 + $9) as page) as sized where size_so_far <= $10 or
    place = 1 order by key) as page;

-- user_range_then
select max(total) || ' ' || string_agg(concat_ws(' ', octet_length(key), octet_length(value), key || value),
    '') as page from ( select key, value, total from ( select key, value, count(*) over () as total,
    row_number() over (order by key) as place, sum(octet_length(key) + octet_length(value)) over (order by key)
    as size_so_far from (select t.key, t.value from user_state t where t.app_name = $1 and t.user_id = $2 and
    t.revision <= $3 and t.key >= $5 and t.key < $6 union all select t.key, (select l.value from user_log l
    where l.app_name = $1 and l.user_id = $2 and l.key = t.key and l.revision = t.valid_from) from
    json_each($4) as n cross join user_spans as t on app_name = $1 and user_id = $2 and t.node = n.value where
    t.valid_from <= $3 and t.valid_to > $3 and t.key >= $5 and t.key < $6 order by key limit 0 + $7) as page)
    as sized where size_so_far <= $8 or place = 1 order by key) as page;

-- app_range_then
select max(total) || ' ' || string_agg(concat_ws(' ', octet_length(key), octet_length(value), key || value),
    '') as page from ( select key, value, total from ( select key, value, count(*) over () as total,
    row_number() over (order by key) as place, sum(octet_length(key) + octet_length(value)) over (order by key)
    as size_so_far from (select t.key, t.value from app_state t where t.app_name = $1 and t.revision <= $2 and
    t.key >= $4 and t.key < $5 union all select t.key, (select l.value from app_log l where l.app_name = $1 and
    l.key = t.key and l.revision = t.valid_from) from json_each($3) as n cross join app_spans as t on app_name
    = $1 and t.node = n.value where t.valid_from <= $2 and t.valid_to > $2 and t.key >= $4 and t.key < $5 order
    by key limit 0 + $6) as page) as sized where size_so_far <= $7 or place = 1 order by key) as page;

-- held
with landmarks as (select * from (select valid_from, valid_to as valid_to, case when valid_from <= $6 then 0
    else octet_length(session_spans.value) + 300 end as size, node, removed from session_spans where app_name =
    $1 and user_id = $2 and session_id = $3 and incarnation = $4 and key = $5 and (node & 31 = 0 or removed)
    and valid_to > $6 and valid_to <= $7 order by valid_to asc limit 0 + $8) as t union all select * from
    (select valid_from, valid_to as valid_to, case when valid_from <= $6 then 0 else
    octet_length(session_spans.value) + 300 end as size, node, removed from session_spans where app_name = $1
    and user_id = $2 and session_id = $3 and incarnation = $4 and key = $5 and (node & 31 = 0 or removed) and
    valid_to > $7 order by valid_to limit 1) as t), blocks as (select began / 32 * 32 as first, max(began) as
    last from (select began, coalesce(lag(ended) over (order by ended), -1) as before from (select valid_from
    as began, valid_to as ended from landmarks union all select s.revision, 9223372036854775807 from
    session_state s where s.app_name = $1 and s.user_id = $2 and s.session_id = $3 and s.incarnation = $4 and
    s.key = $5) as t) as t where before <> began group by began / 32 * 32) select valid_from, nullif(valid_to,
    9223372036854775807) as ended, total, not removed as is_replaced, case when valid_to = 9223372036854775807
    then (select s.value from session_state s where s.app_name = $1 and s.user_id = $2 and s.session_id = $3
    and s.incarnation = $4 and s.key = $5) else (select s.value from session_spans s where s.app_name = $1 and
    s.user_id = $2 and s.session_id = $3 and s.incarnation = $4 and s.key = $5 and s.node = sized.node and
    s.valid_to = sized.valid_to) end as value from (select valid_from, valid_to, node, removed, size, count(*)
    over () as total, sum(size) over (order by valid_to asc) as size_so_far from (select * from landmarks where
    valid_to <= $7 union all select * from (select valid_from, valid_to as valid_to, case when valid_from <= $6
    then 0 else octet_length(l.value) + 300 end as size, node, removed from (select * from blocks order by
    first asc) as b cross join (select value from json_each($10) as k) as k cross join session_spans as l on
    l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and l.incarnation = $4 and l.key = $5 and l.node =
    b.first + k.value and l.node <= b.last where not removed and valid_to > $6 and valid_to <= $7 order by
    b.first asc, k.value asc limit 0 + $8) as t union all select revision, 9223372036854775807 as valid_to,
    case when revision <= $6 then 0 else octet_length(session_state.value) + 300 end as size, 0, false from
    session_state where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and key = $5
    and $7 = 9223372036854775807 order by valid_to asc limit 0 + $8) as page) as sized where size_so_far <= $9
    or size_so_far = size order by valid_to asc;

-- held_backwards
with landmarks as (select * from (select valid_from, valid_to as valid_to, case when valid_from <= $6 then 0
    else octet_length(session_spans.value) + 300 end as size, node, removed from session_spans where app_name =
    $1 and user_id = $2 and session_id = $3 and incarnation = $4 and key = $5 and (node & 31 = 0 or removed)
    and valid_to > $6 and valid_to <= $7 order by valid_to desc limit 0 + $8) as t union all select * from
    (select valid_from, valid_to as valid_to, case when valid_from <= $6 then 0 else
    octet_length(session_spans.value) + 300 end as size, node, removed from session_spans where app_name = $1
    and user_id = $2 and session_id = $3 and incarnation = $4 and key = $5 and (node & 31 = 0 or removed) and
    valid_to > $7 order by valid_to limit 1) as t), blocks as (select began / 32 * 32 as first, max(began) as
    last from (select began, coalesce(lag(ended) over (order by ended), -1) as before from (select valid_from
    as began, valid_to as ended from landmarks union all select s.revision, 9223372036854775807 from
    session_state s where s.app_name = $1 and s.user_id = $2 and s.session_id = $3 and s.incarnation = $4 and
    s.key = $5) as t) as t where before <> began group by began / 32 * 32) select valid_from, nullif(valid_to,
    9223372036854775807) as ended, total, not removed as is_replaced, case when valid_to = 9223372036854775807
    then (select s.value from session_state s where s.app_name = $1 and s.user_id = $2 and s.session_id = $3
    and s.incarnation = $4 and s.key = $5) else (select s.value from session_spans s where s.app_name = $1 and
    s.user_id = $2 and s.session_id = $3 and s.incarnation = $4 and s.key = $5 and s.node = sized.node and
    s.valid_to = sized.valid_to) end as value from (select valid_from, valid_to, node, removed, size, count(*)
    over () as total, sum(size) over (order by valid_to desc) as size_so_far from (select * from landmarks
    where valid_to <= $7 union all select * from (select valid_from, valid_to as valid_to, case when valid_from
    <= $6 then 0 else octet_length(l.value) + 300 end as size, node, removed from (select * from blocks order
    by first desc) as b cross join (select value from json_each($10) as k) as k cross join session_spans as l
    on l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and l.incarnation = $4 and l.key = $5 and
    l.node = b.first + k.value and l.node <= b.last where not removed and valid_to > $6 and valid_to <= $7
    order by b.first desc, k.value desc limit 0 + $8) as t union all select revision, 9223372036854775807 as
    valid_to, case when revision <= $6 then 0 else octet_length(session_state.value) + 300 end as size, 0,
    false from session_state where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    key = $5 and $7 = 9223372036854775807 order by valid_to desc limit 0 + $8) as page) as sized where
    size_so_far <= $9 or size_so_far = size order by valid_to desc;

-- makers
select l.sequence, l.id, l.commit_time, l.author, l.invocation_id from json_each($5) as k cross join events as
    l on l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and l.incarnation = $4 and l.sequence =
    k.value;

-- user_key_changes
select logged.revision, logged.time, logged.total, logged.sequence, coalesce(e.user_id, logged.by_user) as
    by_user, coalesce(e.session_id, logged.by_session) as by_session, coalesce(e.id, logged.by_event) as
    by_event, coalesce(e.author, logged.by_author) as by_author, coalesce(e.invocation_id,
    logged.by_invocation) as by_invocation, (select s.value from user_log s where s.app_name = $1 and s.user_id
    = $2 and s.key = $3 and s.revision = logged.revision) as value from (select page.*, count(*) over () as
    total, row_number() over (order by revision asc) as place, sum(size) over (order by revision asc) as
    size_so_far from (select revision, time, incarnation, sequence, by_user, by_session, by_event, by_author,
    by_invocation, coalesce(octet_length(value), 0) + 300 as size from user_log l where l.app_name = $1 and
    l.user_id = $2 and (l.key, l.revision) > ($3, $4) and (l.key, l.revision) < ($3, $5) and (l.value is not
    null or (select case when s.key = $3 then s.value end from user_log s where s.app_name = $1 and s.user_id =
    $2 and (s.key, s.revision) < ($3, l.revision) order by s.key desc, s.revision desc limit 1) is not null)
    order by l.key asc, l.revision asc limit 0 + $6) as page) as logged left join events as e on e.app_name =
    $1 and e.user_id = $2 and e.incarnation = logged.incarnation and e.sequence = logged.sequence and ( select
    b.erasure from buried_sessions b where b.app_name = $1 and b.user_id = e.user_id and b.session_id =
    e.session_id and b.incarnation = e.incarnation) is null where size_so_far <= $7 or place = 1 order by
    logged.revision asc;

-- app_key_changes
select logged.revision, logged.time, logged.total, logged.sequence, coalesce(e.user_id, logged.by_user) as
    by_user, coalesce(e.session_id, logged.by_session) as by_session, coalesce(e.id, logged.by_event) as
    by_event, coalesce(e.author, logged.by_author) as by_author, coalesce(e.invocation_id,
    logged.by_invocation) as by_invocation, (select s.value from app_log s where s.app_name = $1 and s.key = $2
    and s.revision = logged.revision) as value from (select page.*, count(*) over () as total, row_number()
    over (order by revision asc) as place, sum(size) over (order by revision asc) as size_so_far from (select
    revision, time, incarnation, sequence, by_user, by_session, by_event, by_author, by_invocation,
    coalesce(octet_length(value), 0) + 300 as size from app_log l where l.app_name = $1 and (l.key, l.revision)
    > ($2, $3) and (l.key, l.revision) < ($2, $4) and (l.value is not null or (select case when s.key = $2 then
    s.value end from app_log s where s.app_name = $1 and (s.key, s.revision) < ($2, l.revision) order by s.key
    desc, s.revision desc limit 1) is not null) order by l.key asc, l.revision asc limit 0 + $5) as page) as
    logged left join events as e on e.app_name = $1 and e.incarnation = logged.incarnation and e.sequence =
    logged.sequence and ( select b.erasure from buried_sessions b where b.app_name = $1 and b.user_id =
    e.user_id and b.session_id = e.session_id and b.incarnation = e.incarnation) is null where size_so_far <=
    $6 or place = 1 order by logged.revision asc;

-- user_key_changes_backwards
select logged.revision, logged.time, logged.total, logged.sequence, coalesce(e.user_id, logged.by_user) as
    by_user, coalesce(e.session_id, logged.by_session) as by_session, coalesce(e.id, logged.by_event) as
    by_event, coalesce(e.author, logged.by_author) as by_author, coalesce(e.invocation_id,
    logged.by_invocation) as by_invocation, (select s.value from user_log s where s.app_name = $1 and s.user_id
    = $2 and s.key = $3 and s.revision = logged.revision) as value from (select page.*, count(*) over () as
    total, row_number() over (order by revision desc) as place, sum(size) over (order by revision desc) as
    size_so_far from (select revision, time, incarnation, sequence, by_user, by_session, by_event, by_author,
    by_invocation, coalesce(octet_length(value), 0) + 300 as size from user_log l where l.app_name = $1 and
    l.user_id = $2 and (l.key, l.revision) > ($3, $4) and (l.key, l.revision) < ($3, $5) and (l.value is not
    null or (select case when s.key = $3 then s.value end from user_log s where s.app_name = $1 and s.user_id =
    $2 and (s.key, s.revision) < ($3, l.revision) order by s.key desc, s.revision desc limit 1) is not null)
    order by l.key desc, l.revision desc limit 0 + $6) as page) as logged left join events as e on e.app_name =
    $1 and e.user_id = $2 and e.incarnation = logged.incarnation and e.sequence = logged.sequence and ( select
    b.erasure from buried_sessions b where b.app_name = $1 and b.user_id = e.user_id and b.session_id =
    e.session_id and b.incarnation = e.incarnation) is null where size_so_far <= $7 or place = 1 order by
    logged.revision desc;

-- app_key_changes_backwards
select logged.revision, logged.time, logged.total, logged.sequence, coalesce(e.user_id, logged.by_user) as
    by_user, coalesce(e.session_id, logged.by_session) as by_session, coalesce(e.id, logged.by_event) as
    by_event, coalesce(e.author, logged.by_author) as by_author, coalesce(e.invocation_id,
    logged.by_invocation) as by_invocation, (select s.value from app_log s where s.app_name = $1 and s.key = $2
    and s.revision = logged.revision) as value from (select page.*, count(*) over () as total, row_number()
    over (order by revision desc) as place, sum(size) over (order by revision desc) as size_so_far from (select
    revision, time, incarnation, sequence, by_user, by_session, by_event, by_author, by_invocation,
    coalesce(octet_length(value), 0) + 300 as size from app_log l where l.app_name = $1 and (l.key, l.revision)
    > ($2, $3) and (l.key, l.revision) < ($2, $4) and (l.value is not null or (select case when s.key = $2 then
    s.value end from app_log s where s.app_name = $1 and (s.key, s.revision) < ($2, l.revision) order by s.key
    desc, s.revision desc limit 1) is not null) order by l.key desc, l.revision desc limit 0 + $5) as page) as
    logged left join events as e on e.app_name = $1 and e.incarnation = logged.incarnation and e.sequence =
    logged.sequence and ( select b.erasure from buried_sessions b where b.app_name = $1 and b.user_id =
    e.user_id and b.session_id = e.session_id and b.incarnation = e.incarnation) is null where size_so_far <=
    $6 or place = 1 order by logged.revision desc;

-- user_key_at_floor
select value from user_log where app_name = $1 and user_id = $2 and (key, revision) >= ($3, $4) and (key,
    revision) <= ($3, $5) order by key desc, revision desc limit 1;

-- app_key_at_floor
select value from app_log where app_name = $1 and (key, revision) >= ($2, $3) and (key, revision) <= ($2, $4)
    order by key desc, revision desc limit 1;

-- user_made_by
select distinct l.revision from (select distinct user_revision as revision from events where app_name = $1 and
    user_id = $2 and session_id = $3 and incarnation = $4 and sequence > $5 and sequence <= $6) as k cross join
    user_log as l indexed by user_log_by_revision on l.app_name = $1 and l.user_id = $2 and l.revision =
    k.revision and l.incarnation = $4 and l.sequence > $5 and l.sequence <= $6 limit 0 + $7;

-- app_made_by
select distinct l.revision from (select distinct app_revision as revision from events where app_name = $1 and
    user_id = $2 and session_id = $3 and incarnation = $4 and sequence > $5 and sequence <= $6) as k cross join
    app_log as l indexed by app_log_by_revision on l.app_name = $1 and l.revision = k.revision and
    l.incarnation = $4 and l.sequence > $5 and l.sequence <= $6 limit 0 + $7;

-- user_keep_makers
update user_log as l indexed by user_log_by_revision set incarnation = null, by_user = $2, by_session = $3,
    by_event = (select e.id from events e where e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and
    e.incarnation = $4 and e.sequence = l.sequence), by_author = (select e.author from events e where
    e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and e.incarnation = $4 and e.sequence =
    l.sequence), by_invocation = (select e.invocation_id from events e where e.app_name = $1 and e.user_id = $2
    and e.session_id = $3 and e.incarnation = $4 and e.sequence = l.sequence) where l.app_name = $1 and
    l.user_id = $2 and l.revision = $5 and l.incarnation = $4;

-- app_keep_makers
update app_log as l indexed by app_log_by_revision set incarnation = null, by_user = $2, by_session = $3,
    by_event = (select e.id from events e where e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and
    e.incarnation = $4 and e.sequence = l.sequence), by_author = (select e.author from events e where
    e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and e.incarnation = $4 and e.sequence =
    l.sequence), by_invocation = (select e.invocation_id from events e where e.app_name = $1 and e.user_id = $2
    and e.session_id = $3 and e.incarnation = $4 and e.sequence = l.sequence) where l.app_name = $1 and
    l.revision = $5 and l.incarnation = $4;

-- user_take_makers
update user_log as l indexed by user_log_by_revision set incarnation = null, sequence = null where l.app_name =
    $1 and l.user_id = $2 and l.revision = $3 and l.incarnation = $4;

-- app_take_makers
update app_log as l indexed by app_log_by_revision set incarnation = null, sequence = null where l.app_name =
    $1 and l.revision = $2 and l.incarnation = $3;

-- copy_spans
insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, value,
    removed) select app_name, user_id, $5, $6, node, key, valid_from, valid_to, value, removed from
    session_spans where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and valid_to <=
    $7;

-- copy_state
insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision) select app_name,
    user_id, $5, cast($6 as bigint), key, value, revision from session_state where app_name = $1 and user_id =
    $2 and session_id = $3 and incarnation = $4 and revision <= $7 union all select t.app_name, t.user_id, $5,
    cast($6 as bigint), t.key, t.value, t.valid_from from json_each($8) as n cross join session_spans as t on
    app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and t.node = n.value where
    t.valid_from <= $7 and t.valid_to > $7;

-- copy_named_spans
insert into artifact_spans (app_name, user_id, session_id, incarnation, node, name, valid_from, valid_to,
    version) select app_name, user_id, $5, $6, node, name, valid_from, valid_to, version from artifact_spans
    where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and valid_to <= $7;

-- copy_named
insert into artifact_state (app_name, user_id, session_id, incarnation, name, version, revision) select
    app_name, user_id, $5, cast($6 as bigint), name, version, revision from artifact_state where app_name = $1
    and user_id = $2 and session_id = $3 and incarnation = $4 and revision <= $7 union all select t.app_name,
    t.user_id, $5, cast($6 as bigint), t.name, t.version, t.valid_from from json_each($8) as n cross join
    artifact_spans as t on app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and t.node =
    n.value where t.valid_from <= $7 and t.valid_to > $7;

-- last_passed
select node, key from (select node, key from session_spans where app_name = $1 and user_id = $2 and session_id
    = $3 and incarnation = $4 and node <= $5 and valid_to <= $5 order by node, key limit 0 + $6) as t order by
    node desc, key desc limit 1;

-- purge_passed
delete from session_spans where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    (node, key) <= ($6, $7) and valid_to <= $5;

-- last_passed_name
select node, name from (select node, name from artifact_spans where app_name = $1 and user_id = $2 and
    session_id = $3 and incarnation = $4 and node <= $5 and valid_to <= $5 order by node, name limit 0 + $6) as
    t order by node desc, name desc limit 1;

-- purge_passed_names
delete from artifact_spans where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    (node, name) <= ($6, $7) and valid_to <= $5;

-- cut
update sessions set base_revision = $5, metadata_revision = metadata_revision + 1, initial_state = '{' ||
    coalesce((select group_concat(json_quote(t.key) || ':' || t.value, ',' order by t.key) from ( select key,
    value from session_state where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    session_state.revision <= $5 union all select t.key, t.value from json_each($6) as n cross join
    session_spans as t on app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and t.node =
    n.value where t.valid_from <= $5 and t.valid_to > $5) as t), '') || '}', created_user_revision = (select
    e.user_revision from events e where e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and
    e.incarnation = $4 and e.sequence = $5), created_app_revision = (select e.app_revision from events e where
    e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and e.incarnation = $4 and e.sequence = $5) where
    app_name = $1 and user_id = $2 and id = $3 and incarnation = $4;

-- commit_time
select commit_time from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4
    and sequence = $5;

-- committed_since
select sequence from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    sequence > $5 and commit_time >= $6 order by sequence limit 1;

-- note_trim
insert into trims (app_name, user_id, session_id, incarnation, emptied) values ($1, $2, $3, $4, $5) on conflict
    (app_name, user_id, session_id, incarnation) do update set emptied = case when trims.emptied <
    excluded.emptied then trims.emptied else excluded.emptied end;

-- next_trim
select app_name, user_id, session_id, incarnation, emptied from trims limit 1;

-- claim_trim
select emptied from trims where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4;

-- empty_events
update events set author = '', branch = null, body = '', redaction = null where app_name = $1 and user_id = $2
    and session_id = $3 and incarnation = $4 and sequence > $5 and sequence <= $6;

-- set_emptied
update trims set emptied = $5 where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4;

-- finish_trim
delete from trims where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4;

-- first_stubs
select sequence, commit_time from events where app_name = $1 and user_id = $2 and session_id = $3 and
    incarnation = $4 and sequence <= $5 order by sequence limit 0 + $6;

-- purge_stubs
delete from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and sequence
    <= $5;

-- held
select e.id, e.sequence, e.commit_time, e.user_revision, e.app_revision, e.effect, e.body, s.base_revision,
    s.forked_revision, lost_user_from, lost_user_through, lost_app_from, lost_app_through, lost_files_from,
    lost_files_through from events e cross join sessions s where e.app_name = $1 and e.user_id = $2 and
    e.session_id = $3 and e.incarnation = $4 and e.id = $5 and s.app_name = $1 and s.user_id = $2 and s.id = $3
    and s.incarnation = $4;

-- copying
select e.sequence, e.effect from events e where e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and
    e.incarnation = $4 and e.effect >= 0 and e.sequence > $5 and exists (select 1 from events l where
    l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and l.incarnation = $4 and l.sequence = e.sequence
    + 1 and l.commit_time = e.commit_time);

-- copies
select e.id, e.sequence, e.commit_time, e.user_revision, e.app_revision, e.effect, e.body, s.base_revision,
    s.forked_revision, lost_user_from, lost_user_through, lost_app_from, lost_app_through, lost_files_from,
    lost_files_through from events e cross join sessions s where e.app_name = $1 and e.user_id = $2 and
    e.session_id = $3 and e.incarnation = $4 and e.sequence > $5 and e.sequence <= $6 and e.sequence >
    s.base_revision and e.commit_time = (select l.commit_time from events l where l.app_name = $1 and l.user_id
    = $2 and l.session_id = $3 and l.incarnation = $4 and l.sequence = $5) and instr(e.body, $7) > 0 and
    s.app_name = $1 and s.user_id = $2 and s.id = $3 and s.incarnation = $4;

-- forks
select l.id, cast(case when (l.expire_time is null or l.expire_time > $7) and exists (select 1 from events e
    where e.app_name = $1 and e.user_id = $2 and e.session_id = l.id and e.incarnation = l.incarnation and e.id
    = $4 and e.sequence = $5 and e.sequence > l.base_revision and e.commit_time = $6) then 1 else 0 end as
    bigint), cast(case when l.forked_revision >= $5 then 1 else 0 end as bigint) from json_each($3) as k cross
    join sessions as l on l.app_name = $1 and l.user_id = $2 and l.forked_from = k.value union all select l.id,
    cast(0 as bigint), cast(0 as bigint) from json_each($3) as k cross join removed_forks as l on l.app_name =
    $1 and l.user_id = $2 and l.forked_from = k.value;

-- is_original
select s.forked_from, coalesce(s.base_revision < $5 and coalesce(s.forked_revision, 0) < $5 and exists (select
    1 from events e where e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and e.incarnation =
    s.incarnation and e.id = $4 and e.sequence = $5 and e.commit_time = $6), false) from sessions s where
    s.app_name = $1 and s.user_id = $2 and s.id = $3 union all select forked_from, false from removed_forks
    where app_name = $1 and user_id = $2 and id = $3;

-- of_request
select body from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    sequence > $5 and sequence < $5 + 1000 and commit_time = $6 and user_revision = $7 and app_revision = $8;

-- next_values
select t.value, coalesce((select min(l.valid_from) from json_each($7) as k cross join session_spans as l on
    l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and l.incarnation = $4 and l.key = t.value and
    l.node = t.began / 32 * 32 + k.value where l.valid_from > $6), t.began) from (select k.value,
    coalesce((select s.valid_from from session_spans s where s.app_name = $1 and s.user_id = $2 and
    s.session_id = $3 and s.incarnation = $4 and s.key = k.value and (node & 31 = 0 or removed) and s.valid_to
    > $6 and s.valid_from > $6 order by s.valid_to limit 1), (select s.revision from session_state s where
    s.app_name = $1 and s.user_id = $2 and s.session_id = $3 and s.incarnation = $4 and s.key = k.value and
    s.revision > $6)) as began from json_each($5) as k) as t;

-- bodies
select l.sequence, l.body from json_each($5) as k cross join events as l on l.app_name = $1 and l.user_id = $2
    and l.session_id = $3 and l.incarnation = $4 and l.sequence = k.value;

-- empty
update events set body = $6, redaction = $7, digest = $8 where app_name = $1 and user_id = $2 and session_id =
    $3 and incarnation = $4 and sequence = $5;

-- note_removal
update events set redaction = 0 - $6 where app_name = $1 and user_id = $2 and session_id = $3 and incarnation =
    $4 and sequence = $5;

-- removal
select coalesce(max(sequence), 0) from events where app_name = $1 and user_id = $2 and session_id = $3 and
    incarnation = $4 and redaction = 0 - $5;

-- raise
update sessions set metadata_revision = $5, creation_digest = case when creation_digest is null then
    creation_digest else $6 end where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4;

-- take_values
delete from session_spans where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    node in (select value from json_each($6)) and valid_from = $5;

-- end_values
update session_spans set removed = true where app_name = $1 and user_id = $2 and session_id = $3 and
    incarnation = $4 and node in (select value from json_each($6)) and valid_to = $5;

-- redacted
select redaction, sequence, commit_time, body from events where app_name = $1 and user_id = $2 and session_id =
    $3 and incarnation = $4 and redaction > $5 and redaction <= $6 and sequence <= $7 order by redaction limit
    0 + $8;

-- bound_events
update policies set events_per_session = $2 where app_name = $1;

-- note_scrub
insert into scrubs (app_name, count) values ($1, 1) on conflict (app_name) do update set count = scrubs.count +
    1;

-- to_scrub
select app_name, count from scrubs;

-- scrubbed
delete from scrubs where app_name = $1 and count = $2;

-- user_next_changes
select k.value, (select case when s.key = k.value then s.revision end from user_log s where s.app_name = $1 and
    s.user_id = $2 and (s.key, s.revision) > (k.value, $3) order by s.key, s.revision limit 1) from
    json_each($4) as k;

-- app_next_changes
select k.value, (select case when s.key = k.value then s.revision end from app_log s where s.app_name = $1 and
    (s.key, s.revision) > (k.value, $2) order by s.key, s.revision limit 1) from json_each($3) as k;

-- user_next_makers
select k.value, e.body from json_each($3) as k cross join user_log as l on l.app_name = $1 and l.user_id = $2
    and l.key = k.value and l.revision = $4 left join events as e on e.app_name = $1 and e.user_id = $2 and
    e.incarnation = l.incarnation and e.sequence = l.sequence;

-- app_next_makers
select k.value, e.body from json_each($2) as k cross join app_log as l on l.app_name = $1 and l.key = k.value
    and l.revision = $3 left join events as e on e.app_name = $1 and e.incarnation = l.incarnation and
    e.sequence = l.sequence;

-- user_logged
select key, value from user_log where app_name = $1 and user_id = $2 and revision = $3 and value is not null;

-- app_logged
select key, value from app_log where app_name = $1 and revision = $2 and value is not null;

-- user_take_logged
update user_log set value = null where app_name = $1 and user_id = $2 and revision = $3 and (key in (select
    k.value from json_each($4) as k)) is true;

-- app_take_logged
update app_log set value = null where app_name = $1 and revision = $2 and (key in (select k.value from
    json_each($3) as k)) is true;

-- user_count_redaction
update user_scopes set redacted = redacted + 1 where app_name = $1 and user_id = $2;

-- app_count_redaction
update app_scopes set redacted = redacted + 1 where app_name = $1;

-- user_take_spans
delete from user_spans where app_name = $1 and user_id = $2 and node in (select value from json_each($5)) and
    valid_from = $3 and (key in (select k.value from json_each($4) as k)) is true;

-- app_take_spans
delete from app_spans where app_name = $1 and node in (select value from json_each($4)) and valid_from = $2 and
    (key in (select k.value from json_each($3) as k)) is true;

-- note_blob
insert into blobs (app_name, user_id, id, size, versions, loose_since, store, object) values ($1, $2, $3, $4,
    0, $5, $6, $7) on conflict do nothing;

-- insert_held_blob
insert into blobs (app_name, user_id, id, size, versions) values ($1, $2, $3, $4, 1) on conflict do nothing;

-- take_blob
update blobs set versions = 1, loose_since = null, upload = null, size = $4 where app_name = $1 and user_id =
    $2 and id = $3 and versions = 0;

-- hold_blobs
update blobs set versions = versions + $4 where app_name = $1 and user_id = $2 and id in (select k.value from
    json_each($3) as k);

-- release_blobs
update blobs set versions = versions - $4, loose_since = case when versions <> $4 then loose_since when erasure
    is null then 0 else -1 end where app_name = $1 and user_id = $2 and id in (select k.value from
    json_each($3) as k);

-- renew_blob
update blobs set loose_since = $4, upload = coalesce($5, upload) where app_name = $1 and user_id = $2 and id =
    $3 and versions = 0;

-- leave_blob
update blobs set loose_since = 0 where app_name = $1 and user_id = $2 and id = $3 and versions = 0;

-- insert_chunk
insert into blob_chunks (app_name, user_id, blob, n, bytes) values ($1, $2, $3, $4, $5) on conflict do nothing;

-- chunk
select bytes from blob_chunks where app_name = $1 and user_id = $2 and blob = $3 and n = $4;

-- loose_blobs
select app_name, user_id, id, size, store, object, upload, cast(case when erasure is null then 0 else 1 end as
    bigint) as erased from blobs where loose_since < $1 - $2 order by loose_since limit 0 + $3;

-- claim_blob
update blobs set versions = -1 where app_name = $1 and user_id = $2 and id = $3 and versions <= 0 and
    loose_since < $4 - $5;

-- remove_all_chunks
delete from blob_chunks where app_name = $1 and user_id = $2 and blob = $3;

-- postpone_blob
update blobs set loose_since = $4 - $5 where app_name = $1 and user_id = $2 and id = $3 and versions = -1;

-- known_objects
select b.object from json_each($2) as k join blobs b on b.object = k.value where b.store = $1;

-- remove_chunks
delete from blob_chunks where app_name = $1 and user_id = $2 and blob = $3 and n <= (select n from (select n
    from blob_chunks where app_name = $1 and user_id = $2 and blob = $3 order by n limit 0 + $4) as page order
    by n desc limit 1);

-- forget_blob
delete from blobs where app_name = $1 and user_id = $2 and id = $3 and versions = -1;

-- walk_artifacts
select user_id, session_id, incarnation, name, versions from artifact_names where app_name = $1 and (user_id,
    session_id, incarnation, name) > ($2, $3, $4, $5) order by user_id, session_id, incarnation, name limit 0 +
    $6;

-- drop_versions
delete from artifacts where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and name =
    $5 and version < (select min(version) from (select version from artifacts where app_name = $1 and user_id =
    $2 and session_id = $3 and incarnation = $4 and name = $5 order by version desc limit 0 + $6) as kept)
    returning blob, version;

-- named
select k.incarnation, k.name, l.version, l.revision, n.next, n.named from (select value ->> 0 as user_id, value
    ->> 1 as session_id, value ->> 2 as incarnation, value ->> 3 as name from json_each($2)) as k left join
    artifact_state as l on l.app_name = $1 and l.user_id = k.user_id and l.session_id = k.session_id and
    l.incarnation = k.incarnation and l.name = k.name left join artifact_names as n on n.app_name = $1 and
    n.user_id = k.user_id and n.session_id = case when k.name >= 'user:' and k.name < 'user;' then '' else
    k.session_id end and n.incarnation = case when k.name >= 'user:' and k.name < 'user;' then 0 else
    k.incarnation end and n.name = k.name;

-- version_then
select version from (select name, version, revision from artifact_state where app_name = $1 and user_id = $2
    and session_id = $3 and incarnation = $4 and name = $7 and revision <= $5 union all select t.name,
    t.version, t.valid_from from json_each($6) as n cross join artifact_spans as t on app_name = $1 and user_id
    = $2 and session_id = $3 and incarnation = $4 and t.node = n.value where t.name = $7 and t.valid_from <= $5
    and t.valid_to > $5) as k where not exists (select 1 from sessions s where k.name >= 'user:' and k.name <
    'user;' and s.app_name = $1 and s.user_id = $2 and s.id = $3 and s.incarnation = $4 and k.revision >=
    s.lost_files_from and k.revision <= s.lost_files_through);

-- versions_then
select name, version from (select name, version, revision from artifact_state where app_name = $1 and user_id =
    $2 and session_id = $3 and incarnation = $4 and revision <= $5 union all select t.name, t.version,
    t.valid_from from json_each($6) as n cross join artifact_spans as t on app_name = $1 and user_id = $2 and
    session_id = $3 and incarnation = $4 and t.node = n.value where t.valid_from <= $5 and t.valid_to > $5) as
    k where name >= $7 and coalesce(name < $8, true) and name > $9 and not exists (select 1 from sessions s
    where k.name >= 'user:' and k.name < 'user;' and s.app_name = $1 and s.user_id = $2 and s.id = $3 and
    s.incarnation = $4 and k.revision >= s.lost_files_from and k.revision <= s.lost_files_through) order by
    name limit 0 + $10;

-- artifacts_differ
select d.name, d.was, (select a.next from artifact_names a where a.app_name = $1 and a.user_id = $2 and
    a.session_id = $3 and a.incarnation = $4 and a.name = d.name) as next, (select a.named from artifact_names
    a where a.app_name = $1 and a.user_id = $2 and a.session_id = $3 and a.incarnation = $4 and a.name =
    d.name) as named, (select count(*) from artifacts a where a.app_name = $1 and a.user_id = $2 and
    a.session_id = $3 and a.incarnation = $4 and a.name = d.name and a.version = d.was) as versions from
    (select name, max(was) as was, max(now) as now from (select t.name, t.version as was, cast(null as bigint)
    as now from json_each($6) as n cross join artifact_spans as t on app_name = $1 and user_id = $2 and
    session_id = $3 and incarnation = $4 and t.node = n.value where t.valid_from <= $5 and t.valid_to > $5
    union all select name, cast(null as bigint), version from artifact_state where app_name = $1 and user_id =
    $2 and session_id = $3 and incarnation = $4 and revision > $5) as named group by name) as d where d.now is
    not null and (d.was is null or d.was <> d.now) order by d.name;

-- purge_artifact_state
delete from artifact_state where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    name <= (select name from (select name from artifact_state where app_name = $1 and user_id = $2 and
    session_id = $3 and incarnation = $4 order by name limit 0 + $5) as page order by name desc limit 1);

-- purge_artifact_spans
delete from artifact_spans where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    (node, name) <= (select node, name from (select node, name from artifact_spans where app_name = $1 and
    user_id = $2 and session_id = $3 and incarnation = $4 order by node, name limit 0 + $5) as page order by
    node desc, name desc limit 1);

-- latest_version
select l.name, l.version, l.kind, l.mime_type, l.size, l.sha256, l.create_time, l.metadata, l.display_name,
    l.file_uri, l.revision, l.blob, (select b.store from blobs b where b.app_name = $1 and b.user_id = $2 and
    b.id = l.blob) as store, (select b.object from blobs b where b.app_name = $1 and b.user_id = $2 and b.id =
    l.blob) as object from artifacts l where l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and
    l.incarnation = $4 and l.name = $5 and l.kind <> 'gone' and l.version = (select latest from artifact_names
    where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and name = $5);

-- version
select l.name, l.version, l.kind, l.mime_type, l.size, l.sha256, l.create_time, l.metadata, l.display_name,
    l.file_uri, l.revision, l.blob, (select b.store from blobs b where b.app_name = $1 and b.user_id = $2 and
    b.id = l.blob) as store, (select b.object from blobs b where b.app_name = $1 and b.user_id = $2 and b.id =
    l.blob) as object from artifacts l where l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and
    l.incarnation = $4 and l.name = $5 and l.version = $6 and l.kind <> 'gone';

-- these_versions
select l.name, l.version, l.kind, l.mime_type, l.size, l.sha256, l.create_time, l.metadata, l.display_name,
    l.file_uri, l.revision from (select value ->> 0 as text, value ->> 1 as number from json_each($5)) as p
    cross join artifacts as l on l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and l.incarnation =
    $4 and l.name = p.text and l.version = p.number where l.kind <> 'gone';

-- versions
select l.name, l.version, l.kind, l.mime_type, l.size, l.sha256, l.create_time, l.metadata, l.display_name,
    l.file_uri, l.revision from artifacts l where l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and
    l.incarnation = $4 and l.name = $5 and l.version > $6 and l.kind <> 'gone' order by l.version limit 0 + $7;

-- latest_versions
select l.name, l.version, l.kind, l.mime_type, l.size, l.sha256, l.create_time, l.metadata, l.display_name,
    l.file_uri, l.revision from artifact_names n cross join artifacts as l on l.app_name = $1 and l.user_id =
    $2 and l.session_id = $3 and l.incarnation = $4 and l.name = n.name and l.version = n.latest where
    n.app_name = $1 and n.user_id = $2 and n.session_id = $3 and n.incarnation = $4 and n.name >= $5 and
    coalesce(n.name < $6, true) and n.name > $7 and l.kind <> 'gone' order by n.name limit 0 + $8;

-- hold_session_place
select revision from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4;

-- hold_user_place
select versions from artifact_places where app_name = $1 and user_id = $2 and session_id = $3 and incarnation =
    $4;

-- delete_versions
delete from artifacts where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and name =
    $5 and coalesce(version = $6, true) returning blob, size;

-- set_removed
update artifact_names set versions = versions - $6, latest = (select max(version) from artifacts where app_name
    = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and name = $5) where app_name = $1 and
    user_id = $2 and session_id = $3 and incarnation = $4 and name = $5;

-- count_removed
update artifact_places set versions = versions - $5 where app_name = $1 and user_id = $2 and session_id = $3
    and incarnation = $4;

-- purge_versions
delete from artifacts where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and (name,
    version) <= (select name, version from (select name, version from artifacts where app_name = $1 and user_id
    = $2 and session_id = $3 and incarnation = $4 order by name, version limit 0 + $5) as page order by name
    desc, version desc limit 1) returning blob;

-- purge_names
delete from artifact_names where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    name <= (select name from (select name from artifact_names where app_name = $1 and user_id = $2 and
    session_id = $3 and incarnation = $4 order by name limit 0 + $5) as page order by name desc limit 1);

-- forget_place
delete from artifact_places where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4;

-- erase_versions
delete from artifacts where app_name = $1 and user_id = $2 and session_id = '' returning blob;

-- erase_names
delete from artifact_names where app_name = $1 and user_id = $2 and session_id = '';

-- erase_places
delete from artifact_places where app_name = $1 and user_id = $2;

-- erase_blobs
update blobs set erasure = $3, versions = case when versions = 0 then -1 else versions end, loose_since = case
    when versions <= 0 then -1 else loose_since end where app_name = $1 and user_id = $2 and erasure is null;

-- copy_versions
insert into artifacts (app_name, user_id, session_id, incarnation, name, version, mark, kind, mime_type, size,
    sha256, blob, create_time, metadata, display_name, file_uri, revision) select l.app_name, l.user_id, $5,
    $6, l.name, l.version, l.mark, l.kind, l.mime_type, l.size, l.sha256, l.blob, l.create_time, l.metadata,
    l.display_name, l.file_uri, l.revision from artifact_state n cross join artifacts as l on l.app_name = $1
    and l.user_id = $2 and l.session_id = $3 and l.incarnation = $4 and l.name = n.name and l.version <=
    n.version where n.app_name = $1 and n.user_id = $2 and n.session_id = $5 and n.incarnation = $6 and not
    (n.name >= 'user:' and n.name < 'user;') returning blob;

-- copy_names
insert into artifact_names (app_name, user_id, session_id, incarnation, name, next, latest, versions, named)
    select $1, $2, $5, cast($6 as bigint), n.name, coalesce(case when o.next > n.version and n.version <
    9007199254740991 then n.version + 1 else o.next end, 0), (select max(a.version) from artifacts a where
    a.app_name = $1 and a.user_id = $2 and a.session_id = $5 and a.incarnation = $6 and a.name = n.name),
    (select count(*) from artifacts a where a.app_name = $1 and a.user_id = $2 and a.session_id = $5 and
    a.incarnation = $6 and a.name = n.name), n.named from (select name, max(version) as version, max(named) as
    named from ( select name, version, case when version < 9007199254740991 then version end as named from
    artifact_state where app_name = $1 and user_id = $2 and session_id = $5 and incarnation = $6 union all
    select name, cast(null as bigint), case when version < 9007199254740991 then version end from
    artifact_spans where app_name = $1 and user_id = $2 and session_id = $5 and incarnation = $6 and valid_to >
    (select s.base_revision from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 and
    s.incarnation = $4)) as named group by name) as n left join artifact_names as o on o.app_name = $1 and
    o.user_id = $2 and o.session_id = $3 and o.incarnation = $4 and o.name = n.name where n.version is not null
    and not (n.name >= 'user:' and n.name < 'user;');

-- restore_version
insert into artifacts as n (app_name, user_id, session_id, incarnation, name, version, mark, kind, mime_type,
    size, sha256, blob, create_time, metadata, display_name, file_uri, revision) select app_name, user_id,
    session_id, incarnation, name, cast($6 as bigint), cast($7 as bigint), kind, mime_type, size, sha256, blob,
    $8, metadata, display_name, file_uri, cast($9 as bigint) from artifacts where app_name = $1 and user_id =
    $2 and session_id = $3 and incarnation = $4 and name = $5 and version = $10 returning blob, size, kind;

-- remove_version
insert into artifacts (app_name, user_id, session_id, incarnation, name, version, mark, kind, create_time,
    revision) values ($1, $2, $3, $4, $5, $6, $7, 'gone', $8, $9) returning blob, size, kind;

-- count_versions
insert into artifact_places (app_name, user_id, session_id, incarnation, versions) values ($1, $2, $3, $4, $5)
    on conflict (app_name, user_id, session_id) do update set versions = case when artifact_places.incarnation
    = excluded.incarnation then artifact_places.versions else 0 end + excluded.versions, incarnation =
    excluded.incarnation returning versions;

-- lock_user_places
select l.user_id from json_each($2) as k cross join artifact_places as l on l.app_name = $1 and l.user_id =
    k.value and l.session_id = '';

-- held
select k.user_id, k.session_id, k.name, p.versions, n.next, n.named, v.version as latest, v.sha256, $6 as
    present, (select b.artifact_bytes_per_user from policies b where b.app_name = $1) as most_bytes from
    (select value ->> 0 as user_id, value ->> 1 as session_id, value ->> 2 as incarnation, value ->> 3 as name
    from json_each($2)) as k left join artifact_places as p on p.app_name = $1 and p.user_id = k.user_id and
    p.session_id = k.session_id and p.incarnation = k.incarnation left join artifact_names as n on n.app_name =
    $1 and n.user_id = k.user_id and n.session_id = k.session_id and n.incarnation = k.incarnation and n.name =
    k.name left join artifacts as v on v.app_name = $1 and v.user_id = k.user_id and v.session_id =
    k.session_id and v.incarnation = k.incarnation and v.name = k.name and v.version = n.latest and v.kind <>
    'gone';

-- stored_bytes
select cast(coalesce(sum(size), 0) as bigint) from blobs where app_name = $1 and user_id = $2 and versions > 0;

-- held_bytes
select cast(coalesce(sum(size), 0) as bigint) from (select distinct a.blob, a.size from artifacts a where
    a.app_name = $1 and a.user_id = $2 and a.blob is not null and (a.session_id = '' or exists ( select 1 from
    sessions s where s.app_name = $1 and s.user_id = $2 and s.id = a.session_id and s.incarnation =
    a.incarnation and (s.expire_time is null or s.expire_time > $3)))) as held;

-- saved_by_mark
select l.name, l.version, l.kind, l.mime_type, l.size, l.sha256, l.create_time, l.metadata, l.display_name,
    l.file_uri, l.revision from artifacts l where l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and
    l.incarnation = $4 and l.name = $5 and l.mark = $6;

-- saved_by_key
select l.name, l.version, l.kind, l.mime_type, l.size, l.sha256, l.create_time, l.metadata, l.display_name,
    l.file_uri, l.revision, l.request_digest from artifacts l where l.app_name = $1 and l.user_id = $2 and
    l.session_id = $3 and l.incarnation = $4 and l.name = $5 and l.request_key = $6;

-- set_latest
insert into artifact_names (app_name, user_id, session_id, incarnation, name, next, latest, versions) values
    ($1, $2, $3, $4, $5, $6 + 1, $6, 1) on conflict (app_name, user_id, session_id, incarnation, name) do
    update set next = excluded.next, latest = excluded.latest, versions = artifact_names.versions +
    excluded.versions;

-- exported_versions
select l.name, l.version, l.kind, l.mime_type, l.size, l.sha256, l.create_time, l.metadata, l.display_name,
    l.file_uri, l.revision, l.blob, (select b.store from blobs b where b.app_name = $1 and b.user_id = $2 and
    b.id = l.blob) as store, (select b.object from blobs b where b.app_name = $1 and b.user_id = $2 and b.id =
    l.blob) as object, coalesce((select n.next from artifact_names n where n.app_name = $1 and n.user_id = $2
    and n.session_id = $3 and n.incarnation = $4 and n.name = l.name), l.version + 1) as next from artifacts l
    where l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and l.incarnation = $4 and (l.name,
    l.version) > ($5, $6) order by l.name, l.version limit 0 + $7;

-- exported_names
select name, next from artifact_names where app_name = $1 and user_id = $2 and session_id = $3 and incarnation
    = $4 and name > $5 and latest is null and next > 0 order by name limit 0 + $6;

-- next_version
select next from artifact_names where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4
    and name = $5 and next > 0;

-- versions_beside
select l.name, l.version, l.kind, l.mime_type, l.size, l.sha256, l.create_time, l.metadata, l.display_name,
    l.file_uri, l.revision from (select value ->> 0 as text, value ->> 1 as number from json_each($5)) as p
    cross join artifacts as l on l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and l.incarnation =
    $4 and l.name = p.text and l.version = p.number;

-- import_name
insert into artifact_names (app_name, user_id, session_id, incarnation, name, next, latest, versions) values
    ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (app_name, user_id, session_id, incarnation, name) do update
    set next = max(artifact_names.next, excluded.next), latest = coalesce(excluded.latest,
    artifact_names.latest), versions = artifact_names.versions + excluded.versions;

-- exported
select s.initial_state, s.created_user_revision, s.created_app_revision, s.imported_mark, s.imported_digest,
    lost_user_from, lost_user_through, lost_app_from, lost_app_through, lost_files_from, lost_files_through,
    coalesce((select max(e.redaction) from events e where e.app_name = $1 and e.user_id = $2 and e.session_id =
    $3 and e.incarnation = $4 and e.redaction is not null), 0) as redacted, cast(case when exists (select 1
    from artifact_names n where n.app_name = $1 and n.user_id = $2 and n.session_id = $3 and n.incarnation = $4
    and n.next > 0) then 1 else 0 end as bigint) as has_artifacts from sessions s where s.app_name = $1 and
    s.user_id = $2 and s.id = $3 and s.incarnation = $4;

-- is_there
select s.forked_from, coalesce(s.expire_time is null or s.expire_time > $4, false) from sessions s where
    s.app_name = $1 and s.user_id = $2 and s.id = $3 union all select forked_from, false from removed_forks
    where app_name = $1 and user_id = $2 and id = $3;

-- exported_rows
select sequence, id, invocation_id, event_time, commit_time, user_revision, app_revision, digest, (select
    e.body from events e where e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and e.incarnation = $4
    and e.sequence = sized.sequence and e.sequence > $9) as body from (select sequence, id, invocation_id,
    event_time, commit_time, user_revision, app_revision, digest, sum(size) over (order by sequence) as
    size_so_far, row_number() over (order by sequence) as place from (select sequence, id, invocation_id,
    event_time, commit_time, user_revision, app_revision, digest, octet_length(body) + 300 as size from events
    where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and sequence > $5 and
    sequence <= $6 order by sequence limit 0 + $7) as page) as sized where size_so_far <= $8 or place = 1 order
    by sequence;

-- note_import
insert into imports (app_name, user_id, session_id, incarnation, time) values ($1, $2, $3, $4, $5) on conflict
    (app_name, user_id, session_id, incarnation) do update set time = excluded.time;

-- renew_import
update imports set time = $5 where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4;

-- forget_import
delete from imports where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4;

-- dead_import
select app_name, user_id, session_id, incarnation from imports where time < $1 - $2 limit 1;

-- claim_import
select 1 from imports where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4;

-- insert_imported
insert into sessions (app_name, user_id, id, incarnation, revision, create_time, update_time,
    update_time_number, display_name, labels, expire_time, base_revision, initial_state, forked_from,
    forked_revision, imported_mark, imported_digest, commit_time, imported_revision, created_user_revision,
    created_app_revision, lost_user_from, lost_user_through, lost_app_from, lost_app_through, lost_files_from,
    lost_files_through, active_day) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    $16, $17, $19, $5, $20, $21, $22, $23, $24, $25, $26, $27, $18 / 86400000000) on conflict do nothing;
    insert into session_updates (app_name, user_id, id, place) select app_name, user_id, id, update_time from
    sessions where changes() = 1 and app_name = $1 and user_id = $2 and id = $3;

-- user_take
insert into user_scopes (app_name, user_id, revision, floor, emptied, imported, began) values ($1, $2, $3, $3,
    $3, $3, $4) on conflict (app_name, user_id) do update set revision = excluded.revision, floor =
    excluded.floor, emptied = excluded.emptied, imported = excluded.imported, began = excluded.began;

-- app_take
insert into app_scopes (app_name, revision, floor, emptied, imported) values ($1, $2, $2, $2, $2) on conflict
    (app_name) do update set revision = excluded.revision, floor = excluded.floor, emptied = excluded.emptied,
    imported = excluded.imported;

-- user_scope_head
select revision, floor, imported from user_scopes where app_name = $1 and user_id = $2;

-- app_scope_head
select revision, floor, imported from app_scopes where app_name = $1;

-- user_then
select (select group_concat(json_quote(t.key) || ':' || t.value, ',' order by t.key) from (select key, value
    from user_state where app_name = $1 and user_id = $2 and revision <= $3 union all select t.key, (select
    l.value from user_log l where l.app_name = $1 and l.user_id = $2 and l.key = t.key and l.revision =
    t.valid_from) from json_each($4) as n cross join user_spans as t on app_name = $1 and user_id = $2 and
    t.node = n.value where t.valid_from <= $3 and t.valid_to > $3) as t) as state;

-- app_then
select (select group_concat(json_quote(t.key) || ':' || t.value, ',' order by t.key) from (select key, value
    from app_state where app_name = $1 and revision <= $2 union all select t.key, (select l.value from app_log
    l where l.app_name = $1 and l.key = t.key and l.revision = t.valid_from) from json_each($3) as n cross join
    app_spans as t on app_name = $1 and t.node = n.value where t.valid_from <= $2 and t.valid_to > $2) as t) as
    state;

-- user_base_time
select coalesce((select time from user_log where app_name = $1 and user_id = $2 and revision <= $3 order by
    revision desc limit 1), (select time from user_log where app_name = $1 and user_id = $2 and revision > $3
    order by revision limit 1), 0);

-- app_base_time
select coalesce((select time from app_log where app_name = $1 and revision <= $2 order by revision desc limit
    1), (select time from app_log where app_name = $1 and revision > $2 order by revision limit 1), 0);

-- user_past
select logged.revision, logged.key, logged.value, logged.time, logged.total, logged.sequence,
    coalesce(e.user_id, logged.by_user) as by_user, coalesce(e.session_id, logged.by_session) as by_session,
    coalesce(e.id, logged.by_event) as by_event, coalesce(e.author, logged.by_author) as by_author,
    coalesce(e.invocation_id, logged.by_invocation) as by_invocation from (select page.*, count(*) over () as
    total, sum(size) over (order by revision, key) as size_so_far, row_number() over (order by revision, key)
    as place from (select revision, key, value, time, incarnation, sequence, by_user, by_session, by_event,
    by_author, by_invocation, octet_length(key) + coalesce(octet_length(value), 0) + 400 as size from user_log
    where app_name = $1 and user_id = $2 and revision > $3 and revision <= $4 order by revision, key limit 0 +
    $5) as page) as logged left join events as e on e.app_name = $1 and e.user_id = $2 and e.incarnation =
    logged.incarnation and e.sequence = logged.sequence and ( select b.erasure from buried_sessions b where
    b.app_name = $1 and b.user_id = e.user_id and b.session_id = e.session_id and b.incarnation =
    e.incarnation) is null where size_so_far <= $6 or place = 1 order by logged.revision, logged.key;

-- app_past
select logged.revision, logged.key, logged.value, logged.time, logged.total, logged.sequence,
    coalesce(e.user_id, logged.by_user) as by_user, coalesce(e.session_id, logged.by_session) as by_session,
    coalesce(e.id, logged.by_event) as by_event, coalesce(e.author, logged.by_author) as by_author,
    coalesce(e.invocation_id, logged.by_invocation) as by_invocation from (select page.*, count(*) over () as
    total, sum(size) over (order by revision, key) as size_so_far, row_number() over (order by revision, key)
    as place from (select revision, key, value, time, incarnation, sequence, by_user, by_session, by_event,
    by_author, by_invocation, octet_length(key) + coalesce(octet_length(value), 0) + 400 as size from app_log
    where app_name = $1 and revision > $2 and revision <= $3 order by revision, key limit 0 + $4) as page) as
    logged left join events as e on e.app_name = $1 and e.incarnation = logged.incarnation and e.sequence =
    logged.sequence and ( select b.erasure from buried_sessions b where b.app_name = $1 and b.user_id =
    e.user_id and b.session_id = e.session_id and b.incarnation = e.incarnation) is null where size_so_far <=
    $5 or place = 1 order by logged.revision, logged.key;

-- user_set_time
update user_log set time = $4 where app_name = $1 and user_id = $2 and revision = $3;

-- app_set_time
update app_log set time = $3 where app_name = $1 and revision = $2;

-- user_keys_at
select key from user_state where app_name = $1 and user_id = $2 and revision = $3;

-- app_keys_at
select key from app_state where app_name = $1 and revision = $2;

-- user_settle_past
update user_scopes set floor = $3, emptied = $3, imported = 0 where app_name = $1 and user_id = $2;

-- app_settle_past
update app_scopes set floor = $2, emptied = $2, imported = 0 where app_name = $1;

-- any_api_key
select id from api_keys where id > '' limit 1;

-- api_key
select id, name, digest, role, apps, users, create_time, expire_time, last_used_time from api_keys where id =
    $1 and revoke_time is null;

-- api_keys
select id, name, digest, role, apps, users, create_time, expire_time, last_used_time from api_keys where id >
    $1 and revoke_time is null order by id limit 0 + $2;

-- insert_api_key
insert into api_keys (id, name, digest, role, apps, users, create_time, expire_time, last_used_time) values
    ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do update set digest = excluded.digest where
    api_keys.digest = excluded.digest;

-- lock_api_key
select id, name, digest, role, apps, users, create_time, expire_time, last_used_time from api_keys where id =
    $1 and revoke_time is null;

-- change_api_key
update api_keys set name = $2, role = $3, apps = $4, users = $5, expire_time = $6 where id = $1 and revoke_time
    is null;

-- revoke_api_key
update api_keys set revoke_time = $2, digest = null where id = $1 and (revoke_time is null or revoke_time = $2);

-- touch_api_key
update api_keys set last_used_time = $2 where id = $1 and revoke_time is null and coalesce(last_used_time < $2
    - 3600000000, true);

-- revoked_api_keys
select id, revoke_time from api_keys where id > $1 and revoke_time is not null order by id limit 0 + $2;

-- token_secret
select secret from token_secrets where name = 'current';

-- insert_token_secret
insert into token_secrets (name, secret) values ('current', $1) on conflict do nothing;

-- replace_token_secret
insert into token_secrets (name, secret) values ('current', $1) on conflict (name) do update set secret =
    excluded.secret;

-- token_epochs
select app_name, subject, epoch from token_epochs where (subject, app_name) > ($1, $2) order by subject,
    app_name limit 0 + $3;

-- token_epoch
select epoch from token_epochs where app_name = $1 and subject = $2;

-- raise_token_epoch
insert into token_epochs (app_name, subject, epoch) values ($1, $2, $3) on conflict (subject, app_name) do
    update set epoch = excluded.epoch where token_epochs.epoch < excluded.epoch;

-- revoke_tokens
insert into token_epochs (app_name, subject, epoch) values ($1, $2, 1) on conflict (subject, app_name) do
    update set epoch = token_epochs.epoch + 1 returning epoch;

-- last_erasure
select erasure from token_epochs where app_name = $1 and subject = $2;

-- erasure_count
select count from erasure_counts where app_name = $1;

-- blocked_user
select subject from blocked_users where app_name = $1 and subject = $2;

-- blocked_among
select subject from blocked_users where app_name = $1 and subject in ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
    $12, $13, $14, $15, $16, $17);

-- bounds
select sessions_per_user, events_per_session, artifact_bytes_per_user from policies where app_name = $1;

-- search
select search from policies where app_name = $1;

-- indexed_apps
select app_name, search from policies where app_name > $1 and search <> 0 order by app_name limit 0 + $2;

-- end_index
update policies set search = 0 where app_name = $1 and search = 2;

-- places
select s.id, s.incarnation, s.revision, s.base_revision, s.create_time, s.forked_from, s.forked_revision,
    s.display_name, (s.expire_time is null or s.expire_time > $3) as is_live, coalesce((select w.sequence from
    event_words w where w.app_name = $1 and w.user_id = s.user_id and w.session_id = s.id and w.incarnation =
    s.incarnation order by w.sequence desc limit 1), 0) as indexed from sessions s where s.app_name = $1 and
    s.user_id = $2;

-- removed
select id, forked_from from removed_forks where app_name = $1 and user_id = $2;

-- rewinds
select incarnation, sequence, effect from events where app_name = $1 and user_id = $2 and effect >= 0 and
    incarnation in (select value from json_each($3)) order by incarnation, sequence;

-- with_word
select string_agg(concat_ws(' ', l.incarnation, l.sequence, l.commit_time, octet_length(l.author), l.author),
    '') from (select w.incarnation, w.sequence, w.commit_time, w.author from event_words_by_word p cross join
    event_words w on w.incarnation = p.incarnation and w.sequence = p.sequence where p.word = $3 and w.app_name
    = $1 and w.user_id = $2 limit 0 + $4) as l;

-- that_have_word
select string_agg(concat_ws(' ', l.incarnation, l.sequence, l.commit_time, octet_length(l.author), l.author),
    '') from (select value ->> 0 as incarnation, value ->> 1 as sequence from json_each($3)) as k cross join
    event_words as l on l.app_name = $1 and l.user_id = $2 and l.incarnation = k.incarnation and l.sequence =
    k.sequence where exists (select 1 from event_words_by_word p where p.word = $5 and p.incarnation =
    l.incarnation and p.sequence = l.sequence);

-- hits
select l.incarnation, l.sequence, l.commit_time, l.body from (select value ->> 0 as incarnation, value ->> 1 as
    sequence from json_each($3)) as k cross join events as l on l.app_name = $1 and l.user_id = $2 and
    l.incarnation = k.incarnation and l.sequence = k.sequence;

-- indexed
select coalesce((select w.sequence from event_words w where w.app_name = $1 and w.user_id = s.user_id and
    w.session_id = s.id and w.incarnation = s.incarnation order by w.sequence desc limit 1), 0) as indexed from
    sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3;

-- walk
select s.user_id, s.id, s.create_time, s.revision, s.base_revision, coalesce((select w.sequence from
    event_words w where w.app_name = $1 and w.user_id = s.user_id and w.session_id = s.id and w.incarnation =
    s.incarnation order by w.sequence desc limit 1), 0) as indexed from sessions s where s.app_name = $1 and
    (s.create_time, s.user_id, s.id) > ($2, $3, $4) order by s.create_time, s.user_id, s.id limit 0 + $5;

-- purge
delete from event_words where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    sequence >= (select sequence from ( select sequence from event_words where app_name = $1 and user_id = $2
    and session_id = $3 and incarnation = $4 order by sequence desc limit 0 + $5) as page order by sequence
    limit 1);

-- forget
delete from event_words where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and
    sequence > $5 and sequence <= $6;

-- policy
select revision, policy from policies where app_name = $1;

-- policies
select app_name, policy from policies where app_name > $1 and policy is not null order by app_name limit 0 + $2;

-- set_policy
insert into policies (app_name, revision, policy, sessions_per_user, events_per_session,
    artifact_bytes_per_user, search) values ($1, $2, $3, $4, $5, $6, $7) on conflict (app_name) do update set
    revision = excluded.revision, policy = excluded.policy, sessions_per_user = excluded.sessions_per_user,
    events_per_session = excluded.events_per_session, artifact_bytes_per_user =
    excluded.artifact_bytes_per_user, search = case when excluded.search = 0 and policies.search <> 0 then 2
    else excluded.search end where policies.revision = excluded.revision - 1;

-- walk
select s.user_id, s.id, s.create_time, s.active_day, s.expire_time, s.revision, s.base_revision, case when $7
    then (select e.commit_time from events e where e.app_name = $1 and e.user_id = s.user_id and e.session_id =
    s.id and e.incarnation = s.incarnation and e.sequence = s.base_revision + 1) end as first_commit, case when
    $8 then (select e.commit_time from events e where e.app_name = $1 and e.user_id = s.user_id and
    e.session_id = s.id and e.incarnation = s.incarnation and e.sequence <= s.base_revision order by e.sequence
    limit 1) end as first_stub, $6 as now from sessions s where s.app_name = $1 and (s.create_time, s.user_id,
    s.id) > ($2, $3, $4) order by s.create_time, s.user_id, s.id limit 0 + $5;

-- kept
select s.user_id, s.id, s.create_time, s.active_day, s.expire_time, s.revision, s.base_revision, case when $5
    then (select e.commit_time from events e where e.app_name = $1 and e.user_id = s.user_id and e.session_id =
    s.id and e.incarnation = s.incarnation and e.sequence = s.base_revision + 1) end as first_commit, case when
    $6 then (select e.commit_time from events e where e.app_name = $1 and e.user_id = s.user_id and
    e.session_id = s.id and e.incarnation = s.incarnation and e.sequence <= s.base_revision order by e.sequence
    limit 1) end as first_stub, $4 as now from sessions s where s.app_name = $1 and s.user_id = $2 and s.id =
    $3;

-- history_of_app
select '' as user_id, s.floor, s.emptied, case when s.floor < s.revision then (select min(case when l.time >=
    $4 - $3 then l.revision end) from (select l.revision, l.time from app_log l where l.app_name = $1 and
    l.revision > s.floor order by l.revision limit 0 + $2) as l) end as young, case when s.floor < s.revision
    then (select max(l.revision) from (select l.revision, l.time from app_log l where l.app_name = $1 and
    l.revision > s.floor order by l.revision limit 0 + $2) as l) end as last from app_scopes s where s.app_name
    = $1;

-- history_of_users
select s.user_id, s.floor, s.emptied, case when s.floor < s.revision then (select min(case when l.time >= $6 -
    $5 then l.revision end) from (select l.revision, l.time from user_log l where l.app_name = $1 and l.user_id
    = s.user_id and l.revision > s.floor order by l.revision limit 0 + $4) as l) end as young, case when
    s.floor < s.revision then (select max(l.revision) from (select l.revision, l.time from user_log l where
    l.app_name = $1 and l.user_id = s.user_id and l.revision > s.floor order by l.revision limit 0 + $4) as l)
    end as last from user_scopes s where s.app_name = $1 and s.user_id > $2 order by s.user_id limit 0 + $3;

-- user_locked_history
select '' as user_id, s.floor, s.emptied, case when s.floor < s.revision then (select min(case when l.time >=
    $5 - $4 then l.revision end) from (select l.revision, l.time from user_log l where l.app_name = $1 and
    l.user_id = $2 and l.revision > s.floor order by l.revision limit 0 + $3) as l) end as young, case when
    s.floor < s.revision then (select max(l.revision) from (select l.revision, l.time from user_log l where
    l.app_name = $1 and l.user_id = $2 and l.revision > s.floor order by l.revision limit 0 + $3) as l) end as
    last from user_scopes s where s.app_name = $1 and s.user_id = $2;

-- app_locked_history
select '' as user_id, s.floor, s.emptied, case when s.floor < s.revision then (select min(case when l.time >=
    $4 - $3 then l.revision end) from (select l.revision, l.time from app_log l where l.app_name = $1 and
    l.revision > s.floor order by l.revision limit 0 + $2) as l) end as young, case when s.floor < s.revision
    then (select max(l.revision) from (select l.revision, l.time from app_log l where l.app_name = $1 and
    l.revision > s.floor order by l.revision limit 0 + $2) as l) end as last from app_scopes s where s.app_name
    = $1;

-- user_raise_floor
update user_scopes set floor = $3 where app_name = $1 and user_id = $2 and floor < $3;

-- app_raise_floor
update app_scopes set floor = $2 where app_name = $1 and floor < $2;

-- user_set_emptied
update user_scopes set emptied = $3 where app_name = $1 and user_id = $2;

-- app_set_emptied
update app_scopes set emptied = $2 where app_name = $1;

-- user_values_before
select node, key, valid_from from user_spans where app_name = $1 and user_id = $2 and node <= $3 and valid_to
    <= $3 order by node, key limit 0 + $4;

-- app_values_before
select node, key, valid_from from app_spans where app_name = $1 and node <= $2 and valid_to <= $2 order by
    node, key limit 0 + $3;

-- user_purge_log
delete from user_log where app_name = $1 and user_id = $2 and (key, revision) in (select p.text, p.number from
    (select value ->> 0 as text, value ->> 1 as number from json_each($3)) as p);

-- app_purge_log
delete from app_log where app_name = $1 and (key, revision) in (select p.text, p.number from (select value ->>
    0 as text, value ->> 1 as number from json_each($2)) as p);

-- user_purge_spans
delete from user_spans where app_name = $1 and user_id = $2 and valid_to <= $3 and (node, key) <= ($4, $5);

-- app_purge_spans
delete from app_spans where app_name = $1 and valid_to <= $2 and (node, key) <= ($3, $4);

-- user_last_removal
select max(revision), count(*) from (select revision from user_log where app_name = $1 and user_id = $2 and
    revision > $3 and revision <= $4 and value is null order by revision limit 0 + $5) as r;

-- app_last_removal
select max(revision), count(*) from (select revision from app_log where app_name = $1 and revision > $2 and
    revision <= $3 and value is null order by revision limit 0 + $4) as r;

-- user_purge_removals
delete from user_log where app_name = $1 and user_id = $2 and revision > $3 and revision <= $4 and value is
    null;

-- app_purge_removals
delete from app_log where app_name = $1 and revision > $2 and revision <= $3 and value is null;

-- sessions_of_user
select id, incarnation from sessions where app_name = $1 and user_id = $2 order by id;

-- claim_buried
update buried_sessions set erasure = $3 where app_name = $1 and user_id = $2 and erasure is null;

-- bury_sessions_of_user
insert into buried_sessions (app_name, user_id, session_id, incarnation, erasure) select app_name, user_id, id,
    incarnation, $3 from sessions where app_name = $1 and user_id = $2;

-- bury_imports_of_user
insert into buried_sessions (app_name, user_id, session_id, incarnation, erasure) select app_name, user_id,
    session_id, incarnation, $3 from imports where app_name = $1 and user_id = $2;

-- forget_imports_of_user
delete from imports where app_name = $1 and user_id = $2;

-- unlist_sessions_of_user
delete from sessions where app_name = $1 and user_id = $2;

-- unlist_updates_of_user
delete from session_updates where app_name = $1 and user_id = $2;

-- forget_removed_forks
delete from removed_forks where app_name = $1 and user_id = $2;

-- outlast_user_scope
insert into erased_revisions (app_name, revision) select app_name, revision + 1 from user_scopes where app_name
    = $1 and user_id = $2 on conflict (app_name) do update set revision = excluded.revision where
    erased_revisions.revision < excluded.revision;

-- forget_user_scope
delete from user_scopes where app_name = $1 and user_id = $2;

-- forget_user_state
delete from user_state where app_name = $1 and user_id = $2;

-- forget_user_log
delete from user_log where app_name = $1 and user_id = $2;

-- forget_user_spans
delete from user_spans where app_name = $1 and user_id = $2;

-- forget_patches_of_user
delete from user_patches where app_name = $1 and user_id = $2;

-- forget_user_as_maker
update app_log set sequence = null, by_user = null, by_session = null, by_event = null, by_author = null,
    by_invocation = null where app_name = $1 and by_user = $2;

-- erasure
select id, app_name, subject, request, reference, block, blocked, request_time, done_time, sessions, events,
    state_keys, changes, artifacts, receipt from erasures where id = $1;

-- erasure_of_app
select id, app_name, subject, request, reference, block, blocked, request_time, done_time, sessions, events,
    state_keys, changes, artifacts, receipt from erasures where app_name = $1 and id = $2;

-- erasure_of_request
select id, app_name, subject, request, reference, block, blocked, request_time, done_time, sessions, events,
    state_keys, changes, artifacts, receipt from erasures where app_name = $1 and request = $2;

-- erasures
select id, app_name, subject, request, reference, block, blocked, request_time, done_time, sessions, events,
    state_keys, changes, artifacts, receipt from erasures where id > $1 order by id limit 0 + $2;

-- erasures_to_finish
select id, app_name, subject, request, reference, block, blocked, request_time, done_time, sessions, events,
    state_keys, changes, artifacts, receipt from erasures e where done_time is null and not exists (select 1
    from buried_sessions b where b.app_name = e.app_name and b.erasure = e.id) and not exists (select 1 from
    blobs b where b.app_name = e.app_name and b.erasure = e.id) and not exists (select 1 from erasures l where
    l.app_name = e.app_name and l.subject = e.subject and l.done_time is null and (l.request_time, l.id) <
    (e.request_time, e.id)) order by request_time, id limit 0 + $1;

-- erasure_files
select count(*) from blobs where app_name = $1 and erasure = $2 and versions = -1 and loose_since > 0;

-- number_erasure
insert into erasure_counts (app_name, count) values ($1, 1) on conflict (app_name) do update set count =
    erasure_counts.count + 1 returning count;

-- note_erasure
update token_epochs set erasure = $3 where app_name = $1 and subject = $2;

-- erasure_counts
select app_name, count from erasure_counts;

-- insert_erasure
insert into erasures (id, app_name, subject, request, reference, block, blocked, request_time, done_time,
    sessions, events, state_keys, changes, artifacts, receipt) values ($1, $2, $3, $4, $5, $6, $7, $8, null,
    $9, $10, $11, $12, $13, null);

-- count_removed
update erasures set events = events + $3, state_keys = state_keys + $4, changes = changes + $5, artifacts =
    artifacts + $6 where app_name = $1 and id = $2;

-- finish_erasure
update erasures set done_time = $3, receipt = $4 where app_name = $1 and id = $2 and done_time is null;

-- block_user
insert into blocked_users (app_name, subject) values ($1, $2) on conflict do nothing;

-- unblock_user
delete from blocked_users where app_name = $1 and subject = $2;

-- erasure_secret
select secret from erasure_secrets where name = $1;

-- insert_erasure_secret
insert into erasure_secrets (name, secret) values ($1, $2) on conflict do nothing;

-- feed_tick
select id as tick, time, '' as snapshot from changes where id >= coalesce((select max(l.id) from changes l
    where l.app_name = ''), 0) and id = $1;

-- feed_oldest
select id as tick, time, '' as snapshot from changes where id >= coalesce((select max(l.id) from changes l
    where l.app_name = ''), 0) order by id limit 1;

-- feed_latest
select id as tick, time, '' as snapshot from changes where id >= coalesce((select max(l.id) from changes l
    where l.app_name = ''), 0) order by id desc limit 1;

-- feed_window
select tick, time, snapshot from (select id as tick, time, '' as snapshot from changes where id >=
    coalesce((select max(l.id) from changes l where l.app_name = ''), 0) and id >= $1 order by id limit 0 + $2)
    as t order by tick desc limit 1;

-- feed_window_back
select tick, time, snapshot from (select id as tick, time, '' as snapshot from changes where id >=
    coalesce((select max(l.id) from changes l where l.app_name = ''), 0) and id <= $1 order by id desc limit 0
    + $2) as t order by tick limit 1;

-- feed_changes
select id as tick, time as tick_time, '' as snapshot, id, kind, app_name, user_id, session_id, incarnation,
    first_revision, last_revision, detail, time from changes where ($5 is null or app_name = $5) and id > $1
    and $2 is not null and id <= $3 and kind <> 0 order by id limit 0 + $4;

-- feed_changes_of_user
select id as tick, time as tick_time, '' as snapshot, id, kind, app_name, user_id, session_id, incarnation,
    first_revision, last_revision, detail, time from changes where app_name = $5 and user_id = $6 and id > $1
    and $2 is not null and id <= $3 and kind <> 0 order by id limit 0 + $4;

-- feed_events
select sequence, commit_time, body from events where app_name = $1 and user_id = $2 and session_id = $3 and
    incarnation = $4 and sequence >= $5 and sequence <= $6 and sequence > (select s.base_revision from sessions
    s where s.app_name = $1 and s.user_id = $2 and s.id = $3 and s.incarnation = $4) order by sequence;

-- feed_forget_user
update changes set kind = 0, user_id = null, session_id = null, incarnation = null, detail = null where
    app_name = $1 and user_id = $2;

-- user_feed_state
select revision, key, value from user_log where app_name = $1 and user_id = $2 and revision >= $3 and revision
    <= $4 order by revision, key;

-- app_feed_state
select revision, key, value from app_log where app_name = $1 and revision >= $2 and revision <= $3 order by
    revision, key;

-- list_of_app_by_update
with first as materialized (select o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision,
    s.base_revision, s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels,
    s.expire_time, s.forked_from, s.forked_revision from session_updates o cross join sessions s on s.app_name
    = $1 and s.user_id = o.user_id and s.id = o.id where o.app_name = $1 and (s.expire_time is null or
    s.expire_time > $2) and o.rough = true and (s.update_time, o.user_id, o.id) > ($3, $4, $5) and o.place >=
    $6 order by o.place asc, o.user_id asc, o.id asc limit 0 + $7), last as materialized (select place,
    user_id, id from first order by place desc, user_id desc, id desc limit 1) select concat_ws(char(31),
    s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time,
    s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''), coalesce(cast(s.labels as
    text), ''), coalesce(cast(s.expire_time as text), ''), coalesce(cast(s.forked_from as text), ''),
    coalesce(cast(s.forked_revision as text), '')) as listed from (select * from first union all select
    o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time,
    s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision from session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id
    and s.id = o.id where o.app_name = $1 and (s.expire_time is null or s.expire_time > $2) and o.rough = true
    and (s.update_time, o.user_id, o.id) > ($3, $4, $5) and o.place >= $6 and o.place = (select place from
    last) and (o.user_id, o.id) > ((select user_id from last), (select id from last)) union all select * from
    (select o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision from session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id
    and s.id = o.id where o.app_name = $1 and (s.expire_time is null or s.expire_time > $2) and o.rough = false
    and (o.place, o.user_id, o.id) > ($3, $4, $5) order by o.place asc, o.user_id asc, o.id asc limit 0 + $7)
    as exact order by update_time asc, user_id asc, id asc limit 0 + $7) as s;

-- list_of_app_by_update_within
with first as materialized (select o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision,
    s.base_revision, s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels,
    s.expire_time, s.forked_from, s.forked_revision from session_updates o cross join sessions s on s.app_name
    = $1 and s.user_id = o.user_id and s.id = o.id where o.app_name = $1 and (o.user_id >= $2 and o.user_id <
    $3 or o.user_id >= $4 and o.user_id < $5) and (s.expire_time is null or s.expire_time > $6) and o.rough =
    true and (s.update_time, o.user_id, o.id) > ($7, $8, $9) and o.place >= $10 order by o.place asc, o.user_id
    asc, o.id asc limit 0 + $11), last as materialized (select place, user_id, id from first order by place
    desc, user_id desc, id desc limit 1) select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision,
    s.metadata_revision, s.base_revision, s.create_time, s.update_time, s.update_time_number,
    coalesce(cast(s.display_name as text), ''), coalesce(cast(s.labels as text), ''),
    coalesce(cast(s.expire_time as text), ''), coalesce(cast(s.forked_from as text), ''),
    coalesce(cast(s.forked_revision as text), '')) as listed from (select * from first union all select
    o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time,
    s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision from session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id
    and s.id = o.id where o.app_name = $1 and (o.user_id >= $2 and o.user_id < $3 or o.user_id >= $4 and
    o.user_id < $5) and (s.expire_time is null or s.expire_time > $6) and o.rough = true and (s.update_time,
    o.user_id, o.id) > ($7, $8, $9) and o.place >= $10 and o.place = (select place from last) and (o.user_id,
    o.id) > ((select user_id from last), (select id from last)) union all select * from (select o.place,
    s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time,
    s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision from session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id
    and s.id = o.id where o.app_name = $1 and (o.user_id >= $2 and o.user_id < $3 or o.user_id >= $4 and
    o.user_id < $5) and (s.expire_time is null or s.expire_time > $6) and o.rough = false and (o.place,
    o.user_id, o.id) > ($7, $8, $9) order by o.place asc, o.user_id asc, o.id asc limit 0 + $11) as exact order
    by update_time asc, user_id asc, id asc limit 0 + $11) as s;

-- list_of_app_by_update_backwards
with first as materialized (select o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision,
    s.base_revision, s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels,
    s.expire_time, s.forked_from, s.forked_revision from session_updates o cross join sessions s on s.app_name
    = $1 and s.user_id = o.user_id and s.id = o.id where o.app_name = $1 and (s.expire_time is null or
    s.expire_time > $2) and o.rough = true and (s.update_time, o.user_id, o.id) < ($3, $4, $5) and o.place <=
    $6 order by o.place desc, o.user_id desc, o.id desc limit 0 + $7), last as materialized (select place,
    user_id, id from first order by place asc, user_id asc, id asc limit 1) select concat_ws(char(31),
    s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time,
    s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''), coalesce(cast(s.labels as
    text), ''), coalesce(cast(s.expire_time as text), ''), coalesce(cast(s.forked_from as text), ''),
    coalesce(cast(s.forked_revision as text), '')) as listed from (select * from first union all select
    o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time,
    s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision from session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id
    and s.id = o.id where o.app_name = $1 and (s.expire_time is null or s.expire_time > $2) and o.rough = true
    and (s.update_time, o.user_id, o.id) < ($3, $4, $5) and o.place <= $6 and o.place = (select place from
    last) and (o.user_id, o.id) < ((select user_id from last), (select id from last)) union all select * from
    (select o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision from session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id
    and s.id = o.id where o.app_name = $1 and (s.expire_time is null or s.expire_time > $2) and o.rough = false
    and (o.place, o.user_id, o.id) < ($3, $4, $5) order by o.place desc, o.user_id desc, o.id desc limit 0 +
    $7) as exact order by update_time desc, user_id desc, id desc limit 0 + $7) as s;

-- list_of_app_by_update_labelled_with_state
with first as materialized (select o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision,
    s.base_revision, s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels,
    s.expire_time, s.forked_from, s.forked_revision from session_updates o cross join sessions s on s.app_name
    = $1 and s.user_id = o.user_id and s.id = o.id where o.app_name = $1 and (s.expire_time is null or
    s.expire_time > $2) and json_extract(s.labels, '$."' || $7 || '"') = $8 and o.rough = true and
    (s.update_time, o.user_id, o.id) > ($3, $4, $5) and o.place >= $6 order by o.place asc, o.user_id asc, o.id
    asc limit 0 + $9), last as materialized (select place, user_id, id from first order by place desc, user_id
    desc, id desc limit 1) select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision,
    s.metadata_revision, s.base_revision, s.create_time, s.update_time, s.update_time_number,
    coalesce(cast(s.display_name as text), ''), coalesce(cast(s.labels as text), ''),
    coalesce(cast(s.expire_time as text), ''), coalesce(cast(s.forked_from as text), ''),
    coalesce(cast(s.forked_revision as text), '')) as listed, (select group_concat(json_quote('app:' || t.key)
    || ':' || t.value, ',' order by t.key) from app_state t where t.app_name = $1) as app_state, (select
    group_concat(json_quote('user:' || t.key) || ':' || t.value, ',' order by t.key) from user_state t where
    t.app_name = $1 and t.user_id = s.user_id) as user_state, (select group_concat(json_quote(t.key) || ':' ||
    t.value, ',' order by t.key) from session_state t where t.app_name = $1 and t.user_id = s.user_id and
    t.session_id = s.id and t.incarnation = s.incarnation) as session_state from (select * from first union all
    select o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision from session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id
    and s.id = o.id where o.app_name = $1 and (s.expire_time is null or s.expire_time > $2) and
    json_extract(s.labels, '$."' || $7 || '"') = $8 and o.rough = true and (s.update_time, o.user_id, o.id) >
    ($3, $4, $5) and o.place >= $6 and o.place = (select place from last) and (o.user_id, o.id) > ((select
    user_id from last), (select id from last)) union all select * from (select o.place, s.user_id, s.id,
    s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time, s.update_time,
    s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from, s.forked_revision from
    session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id and s.id = o.id where
    o.app_name = $1 and (s.expire_time is null or s.expire_time > $2) and json_extract(s.labels, '$."' || $7 ||
    '"') = $8 and o.rough = false and (o.place, o.user_id, o.id) > ($3, $4, $5) order by o.place asc, o.user_id
    asc, o.id asc limit 0 + $9) as exact order by update_time asc, user_id asc, id asc limit 0 + $9) as s;

-- list_of_user_by_update
with first as materialized (select o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision,
    s.base_revision, s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels,
    s.expire_time, s.forked_from, s.forked_revision from session_updates o cross join sessions s on s.app_name
    = $1 and s.user_id = o.user_id and s.id = o.id where o.app_name = $1 and o.user_id = $2 and (s.expire_time
    is null or s.expire_time > $3) and o.rough = true and (s.update_time, o.id) > ($4, $5) and o.place >= $6
    order by o.place asc, o.id asc limit 0 + $7), last as materialized (select place, user_id, id from first
    order by place desc, id desc limit 1) select concat_ws(char(31), s.user_id, s.id, s.incarnation,
    s.revision, s.metadata_revision, s.base_revision, s.create_time, s.update_time, s.update_time_number,
    coalesce(cast(s.display_name as text), ''), coalesce(cast(s.labels as text), ''),
    coalesce(cast(s.expire_time as text), ''), coalesce(cast(s.forked_from as text), ''),
    coalesce(cast(s.forked_revision as text), '')) as listed from (select * from first union all select
    o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time,
    s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision from session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id
    and s.id = o.id where o.app_name = $1 and o.user_id = $2 and (s.expire_time is null or s.expire_time > $3)
    and o.rough = true and (s.update_time, o.id) > ($4, $5) and o.place >= $6 and o.place = (select place from
    last) and (o.id) > ((select id from last)) union all select * from (select o.place, s.user_id, s.id,
    s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time, s.update_time,
    s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from, s.forked_revision from
    session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id and s.id = o.id where
    o.app_name = $1 and o.user_id = $2 and (s.expire_time is null or s.expire_time > $3) and o.rough = false
    and (o.place, o.id) > ($4, $5) order by o.place asc, o.id asc limit 0 + $7) as exact order by update_time
    asc, id asc limit 0 + $7) as s;

-- list_of_forks_by_update
select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''),
    coalesce(cast(s.labels as text), ''), coalesce(cast(s.expire_time as text), ''),
    coalesce(cast(s.forked_from as text), ''), coalesce(cast(s.forked_revision as text), '')) as listed from
    sessions s indexed by sessions_by_source where s.app_name = $1 and s.user_id = $2 and s.forked_from = $3
    and (s.expire_time is null or s.expire_time > $4) and (s.update_time, s.id) > ($5, $6) order by
    s.update_time asc, s.id asc limit 0 + $7;

-- list_of_user_by_update_backwards
with first as materialized (select o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision,
    s.base_revision, s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels,
    s.expire_time, s.forked_from, s.forked_revision from session_updates o cross join sessions s on s.app_name
    = $1 and s.user_id = o.user_id and s.id = o.id where o.app_name = $1 and o.user_id = $2 and (s.expire_time
    is null or s.expire_time > $3) and o.rough = true and (s.update_time, o.id) < ($4, $5) and o.place <= $6
    order by o.place desc, o.id desc limit 0 + $7), last as materialized (select place, user_id, id from first
    order by place asc, id asc limit 1) select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision,
    s.metadata_revision, s.base_revision, s.create_time, s.update_time, s.update_time_number,
    coalesce(cast(s.display_name as text), ''), coalesce(cast(s.labels as text), ''),
    coalesce(cast(s.expire_time as text), ''), coalesce(cast(s.forked_from as text), ''),
    coalesce(cast(s.forked_revision as text), '')) as listed from (select * from first union all select
    o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time,
    s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision from session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id
    and s.id = o.id where o.app_name = $1 and o.user_id = $2 and (s.expire_time is null or s.expire_time > $3)
    and o.rough = true and (s.update_time, o.id) < ($4, $5) and o.place <= $6 and o.place = (select place from
    last) and (o.id) < ((select id from last)) union all select * from (select o.place, s.user_id, s.id,
    s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time, s.update_time,
    s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from, s.forked_revision from
    session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id and s.id = o.id where
    o.app_name = $1 and o.user_id = $2 and (s.expire_time is null or s.expire_time > $3) and o.rough = false
    and (o.place, o.id) < ($4, $5) order by o.place desc, o.id desc limit 0 + $7) as exact order by update_time
    desc, id desc limit 0 + $7) as s;

-- list_of_user_by_update_labelled_with_state
with first as materialized (select o.place, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision,
    s.base_revision, s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels,
    s.expire_time, s.forked_from, s.forked_revision from session_updates o cross join sessions s on s.app_name
    = $1 and s.user_id = o.user_id and s.id = o.id where o.app_name = $1 and o.user_id = $2 and (s.expire_time
    is null or s.expire_time > $3) and json_extract(s.labels, '$."' || $7 || '"') = $8 and o.rough = true and
    (s.update_time, o.id) > ($4, $5) and o.place >= $6 order by o.place asc, o.id asc limit 0 + $9), last as
    materialized (select place, user_id, id from first order by place desc, id desc limit 1) select
    concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''),
    coalesce(cast(s.labels as text), ''), coalesce(cast(s.expire_time as text), ''),
    coalesce(cast(s.forked_from as text), ''), coalesce(cast(s.forked_revision as text), '')) as listed,
    (select group_concat(json_quote('app:' || t.key) || ':' || t.value, ',' order by t.key) from app_state t
    where t.app_name = $1) as app_state, (select group_concat(json_quote('user:' || t.key) || ':' || t.value,
    ',' order by t.key) from user_state t where t.app_name = $1 and t.user_id = s.user_id) as user_state,
    (select group_concat(json_quote(t.key) || ':' || t.value, ',' order by t.key) from session_state t where
    t.app_name = $1 and t.user_id = s.user_id and t.session_id = s.id and t.incarnation = s.incarnation) as
    session_state from (select * from first union all select o.place, s.user_id, s.id, s.incarnation,
    s.revision, s.metadata_revision, s.base_revision, s.create_time, s.update_time, s.update_time_number,
    s.display_name, s.labels, s.expire_time, s.forked_from, s.forked_revision from session_updates o cross join
    sessions s on s.app_name = $1 and s.user_id = o.user_id and s.id = o.id where o.app_name = $1 and o.user_id
    = $2 and (s.expire_time is null or s.expire_time > $3) and json_extract(s.labels, '$."' || $7 || '"') = $8
    and o.rough = true and (s.update_time, o.id) > ($4, $5) and o.place >= $6 and o.place = (select place from
    last) and (o.id) > ((select id from last)) union all select * from (select o.place, s.user_id, s.id,
    s.incarnation, s.revision, s.metadata_revision, s.base_revision, s.create_time, s.update_time,
    s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from, s.forked_revision from
    session_updates o cross join sessions s on s.app_name = $1 and s.user_id = o.user_id and s.id = o.id where
    o.app_name = $1 and o.user_id = $2 and (s.expire_time is null or s.expire_time > $3) and
    json_extract(s.labels, '$."' || $7 || '"') = $8 and o.rough = false and (o.place, o.id) > ($4, $5) order by
    o.place asc, o.id asc limit 0 + $9) as exact order by update_time asc, id asc limit 0 + $9) as s;

-- list_of_app_by_create
select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''),
    coalesce(cast(s.labels as text), ''), coalesce(cast(s.expire_time as text), ''),
    coalesce(cast(s.forked_from as text), ''), coalesce(cast(s.forked_revision as text), '')) as listed from
    sessions s where s.app_name = $1 and (s.expire_time is null or s.expire_time > $2) and (s.create_time,
    s.user_id, s.id) > ($3, $4, $5) order by s.create_time asc, s.user_id asc, s.id asc limit 0 + $6;

-- list_of_app_by_create_within
select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''),
    coalesce(cast(s.labels as text), ''), coalesce(cast(s.expire_time as text), ''),
    coalesce(cast(s.forked_from as text), ''), coalesce(cast(s.forked_revision as text), '')) as listed from
    sessions s where s.app_name = $1 and (s.user_id >= $2 and s.user_id < $3 or s.user_id >= $4 and s.user_id <
    $5) and (s.expire_time is null or s.expire_time > $6) and (s.create_time, s.user_id, s.id) > ($7, $8, $9)
    order by s.create_time asc, s.user_id asc, s.id asc limit 0 + $10;

-- list_of_app_by_create_backwards
select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''),
    coalesce(cast(s.labels as text), ''), coalesce(cast(s.expire_time as text), ''),
    coalesce(cast(s.forked_from as text), ''), coalesce(cast(s.forked_revision as text), '')) as listed from
    sessions s where s.app_name = $1 and (s.expire_time is null or s.expire_time > $2) and (s.create_time,
    s.user_id, s.id) < ($3, $4, $5) order by s.create_time desc, s.user_id desc, s.id desc limit 0 + $6;

-- list_of_app_by_create_labelled_with_state
select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''),
    coalesce(cast(s.labels as text), ''), coalesce(cast(s.expire_time as text), ''),
    coalesce(cast(s.forked_from as text), ''), coalesce(cast(s.forked_revision as text), '')) as listed,
    (select group_concat(json_quote('app:' || t.key) || ':' || t.value, ',' order by t.key) from app_state t
    where t.app_name = $1) as app_state, (select group_concat(json_quote('user:' || t.key) || ':' || t.value,
    ',' order by t.key) from user_state t where t.app_name = $1 and t.user_id = s.user_id) as user_state,
    (select group_concat(json_quote(t.key) || ':' || t.value, ',' order by t.key) from session_state t where
    t.app_name = $1 and t.user_id = s.user_id and t.session_id = s.id and t.incarnation = s.incarnation) as
    session_state from sessions s where s.app_name = $1 and (s.expire_time is null or s.expire_time > $2) and
    (s.create_time, s.user_id, s.id) > ($3, $4, $5) and json_extract(s.labels, '$."' || $6 || '"') = $7 order
    by s.create_time asc, s.user_id asc, s.id asc limit 0 + $8;

-- list_of_user_by_create
select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''),
    coalesce(cast(s.labels as text), ''), coalesce(cast(s.expire_time as text), ''),
    coalesce(cast(s.forked_from as text), ''), coalesce(cast(s.forked_revision as text), '')) as listed from
    sessions s where s.app_name = $1 and s.user_id = $2 and (s.expire_time is null or s.expire_time > $3) and
    (s.create_time, s.id) > ($4, $5) order by s.create_time asc, s.id asc limit 0 + $6;

-- list_of_forks_by_create
select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''),
    coalesce(cast(s.labels as text), ''), coalesce(cast(s.expire_time as text), ''),
    coalesce(cast(s.forked_from as text), ''), coalesce(cast(s.forked_revision as text), '')) as listed from
    sessions s indexed by sessions_by_source where s.app_name = $1 and s.user_id = $2 and s.forked_from = $3
    and (s.expire_time is null or s.expire_time > $4) and (s.create_time, s.id) > ($5, $6) order by
    s.create_time asc, s.id asc limit 0 + $7;

-- list_of_user_by_create_backwards
select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''),
    coalesce(cast(s.labels as text), ''), coalesce(cast(s.expire_time as text), ''),
    coalesce(cast(s.forked_from as text), ''), coalesce(cast(s.forked_revision as text), '')) as listed from
    sessions s where s.app_name = $1 and s.user_id = $2 and (s.expire_time is null or s.expire_time > $3) and
    (s.create_time, s.id) < ($4, $5) order by s.create_time desc, s.id desc limit 0 + $6;

-- list_of_user_by_create_labelled_with_state
select concat_ws(char(31), s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, coalesce(cast(s.display_name as text), ''),
    coalesce(cast(s.labels as text), ''), coalesce(cast(s.expire_time as text), ''),
    coalesce(cast(s.forked_from as text), ''), coalesce(cast(s.forked_revision as text), '')) as listed,
    (select group_concat(json_quote('app:' || t.key) || ':' || t.value, ',' order by t.key) from app_state t
    where t.app_name = $1) as app_state, (select group_concat(json_quote('user:' || t.key) || ':' || t.value,
    ',' order by t.key) from user_state t where t.app_name = $1 and t.user_id = s.user_id) as user_state,
    (select group_concat(json_quote(t.key) || ':' || t.value, ',' order by t.key) from session_state t where
    t.app_name = $1 and t.user_id = s.user_id and t.session_id = s.id and t.incarnation = s.incarnation) as
    session_state from sessions s where s.app_name = $1 and s.user_id = $2 and (s.expire_time is null or
    s.expire_time > $3) and (s.create_time, s.id) > ($4, $5) and json_extract(s.labels, '$."' || $6 || '"') =
    $7 order by s.create_time asc, s.id asc limit 0 + $8;

-- insert_chunks_1
insert into blob_chunks (app_name, user_id, blob, n, bytes) values ($1, $2, $3, $4, $5);

-- insert_blobs_1
insert into blobs (app_name, user_id, id, size, versions) values ($1, $2, $3, $4, $5);

-- insert_versions_1
insert into artifacts (app_name, user_id, session_id, incarnation, name, version, mark, kind, mime_type, size,
    sha256, blob, create_time, metadata, display_name, file_uri, revision, request_key, request_digest) values
    ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19);

-- count_new_1
insert into artifact_places (app_name, user_id, session_id, incarnation, versions) values ($1, $2, $3, $4, $5)
    on conflict (app_name, user_id, session_id) do update set versions = case when artifact_places.incarnation
    = excluded.incarnation then artifact_places.versions else 0 end + excluded.versions, incarnation =
    excluded.incarnation;

-- name_new_1
insert into artifact_names (app_name, user_id, session_id, incarnation, name, next, latest, versions) values
    ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (app_name, user_id, session_id, incarnation, name) do update
    set next = excluded.next, latest = excluded.latest, versions = artifact_names.versions + excluded.versions;

-- insert_chunks_2
insert into blob_chunks (app_name, user_id, blob, n, bytes) values ($1, $2, $3, $4, $5), ($6, $7, $8, $9, $10);

-- insert_blobs_2
insert into blobs (app_name, user_id, id, size, versions) values ($1, $2, $3, $4, $5), ($6, $7, $8, $9, $10);

-- insert_versions_2
insert into artifacts (app_name, user_id, session_id, incarnation, name, version, mark, kind, mime_type, size,
    sha256, blob, create_time, metadata, display_name, file_uri, revision, request_key, request_digest) values
    ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19), ($20, $21, $22,
    $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38);

-- count_new_2
insert into artifact_places (app_name, user_id, session_id, incarnation, versions) values ($1, $2, $3, $4, $5),
    ($6, $7, $8, $9, $10) on conflict (app_name, user_id, session_id) do update set versions = case when
    artifact_places.incarnation = excluded.incarnation then artifact_places.versions else 0 end +
    excluded.versions, incarnation = excluded.incarnation;

-- name_new_2
insert into artifact_names (app_name, user_id, session_id, incarnation, name, next, latest, versions) values
    ($1, $2, $3, $4, $5, $6, $7, $8), ($9, $10, $11, $12, $13, $14, $15, $16) on conflict (app_name, user_id,
    session_id, incarnation, name) do update set next = excluded.next, latest = excluded.latest, versions =
    artifact_names.versions + excluded.versions;

-- plain_view
select s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision,
    s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from,
    s.forked_revision, coalesce((select u.revision from user_scopes u where u.app_name = $1 and u.user_id =
    s.user_id), 0) as user_revision, coalesce((select a.revision from app_scopes a where a.app_name = $1), 0)
    as app_revision, (select group_concat(json_quote('app:' || t.key) || ':' || t.value, ',' order by t.key)
    from app_state t where t.app_name = $1 and ($5 is null or t.key in (select value from json_each($5)))) as
    app_state, (select group_concat(json_quote('user:' || t.key) || ':' || t.value, ',' order by t.key) from
    user_state t where t.app_name = $1 and t.user_id = s.user_id and ($6 is null or t.key in (select value from
    json_each($6)))) as user_state, (select group_concat(json_quote(t.key) || ':' || t.value, ',' order by
    t.key) from session_state t where t.app_name = $1 and t.user_id = s.user_id and t.session_id = s.id and
    t.incarnation = s.incarnation and ($7 is null or t.key in (select value from json_each($7)))) as
    session_state, (select group_concat(commit_time || ' ' || octet_length(body) || ' ' || body, '' order by
    sequence) from (select sequence, commit_time, body, octet_length(body) + 80 as size, sum(octet_length(body)
    + 80) over (order by sequence rows unbounded preceding) as size_so_far from (select sequence, commit_time,
    body from events e where e.app_name = $1 and e.user_id = s.user_id and e.session_id = s.id and
    e.incarnation = s.incarnation and e.sequence > max($8, s.base_revision, s.revision - coalesce($9,
    s.revision)) and e.sequence < $10 order by e.sequence limit 0 + $11)) where size_so_far <= $12 or
    size_so_far = size) as events from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 and
    (s.expire_time is null or s.expire_time > $4);

-- expired
select app_name, user_id, id as session_id, incarnation from sessions where expire_time <= $1 limit 0 + $2;

-- next_buried
select app_name, user_id, session_id, incarnation, erasure from buried_sessions limit 1;

-- read_heads
with ks(n, app_name, user_id, session_id, id) as (select * from (values (?,?,?,?,?)) limit 0 + ?),
    of_user_scopes(n, app_name, user_id) as (select * from (values (?,?,?)) limit 0 + ?), of_app_scopes(n,
    app_name) as (select * from (values (?,?)) limit 0 + ?), ke(n, app_name) as (select * from (values (?,?))
    limit 0 + ?) select 0 as kind, k.n, s.revision, s.incarnation, s.metadata_revision, s.update_time,
    s.expire_time, s.lease_epoch, case when s.lease_all then s.lease_owner end as lease_owner, s.lease_expire,
    null as lease_now, s.base_revision + (select p.events_per_session from policies p where p.app_name =
    s.app_name) as most_revision, e.sequence, e.event_time, e.commit_time, e.digest, case when e.sequence >
    s.base_revision then e.body end as body from ks as k cross join sessions s on s.app_name = k.app_name and
    s.user_id = k.user_id and s.id = k.session_id left join events e on e.incarnation = s.incarnation and e.id
    = k.id and e.app_name = k.app_name and e.user_id = k.user_id and e.session_id = k.session_id union all
    select 1, n, revision, null, null, null, null, null, null, null, null, null, null, null, null, null, null
    from of_user_scopes cross join user_scopes using (app_name, user_id) union all select 1, n, revision, null,
    null, null, null, null, null, null, null, null, null, null, null, null, null from of_app_scopes cross join
    app_scopes using (app_name) union all select 2, n, revision, null, null, null, null, null, null, null,
    null, null, null, null, null, null, null from ke cross join erased_revisions using (app_name);

-- find_sessions
with k(n, app_name, user_id, id) as (select * from (values (?,?,?,?)) limit 0 + ?) select revision, n from k
    cross join sessions using (app_name, user_id, id);

-- find_session_state
with k(n, app_name, user_id, session_id, incarnation, key) as (select * from (values (?,?,?,?,?,?)) limit 0 +
    ?) select value, n from k cross join session_state using (app_name, user_id, session_id, incarnation, key);

-- find_user_state
with k(n, app_name, user_id, key) as (select * from (values (?,?,?,?)) limit 0 + ?) select value, n from k
    cross join user_state using (app_name, user_id, key);

-- find_app_state
with k(n, app_name, key) as (select * from (values (?,?,?)) limit 0 + ?) select value, n from k cross join
    app_state using (app_name, key);

-- insert_sessions
with k(app_name, user_id, id, incarnation, revision, update_time, update_time_number, display_name, labels,
    expire_time, initial_state, creation_key, creation_digest, now) as (select * from (values
    (?,?,?,?,?,?,?,?,?,?,?,?,?,?)) limit 0 + ?) insert into sessions (app_name, user_id, id, incarnation,
    revision, update_time, update_time_number, display_name, labels, expire_time, initial_state, creation_key,
    creation_digest, create_time, commit_time, active_day, created_user_revision, created_app_revision) select
    app_name, user_id, id, incarnation, revision, update_time, update_time_number, display_name, labels,
    expire_time, initial_state, creation_key, creation_digest, now, now, now / 86400000000, coalesce((select
    u.revision from user_scopes u where u.app_name = k.app_name and u.user_id = k.user_id), 0),
    coalesce((select a.revision from app_scopes a where a.app_name = k.app_name), 0) from k where true on
    conflict do nothing returning incarnation; with k(app_name, user_id, id, incarnation) as (select * from
    (values (?,?,?,?)) limit 0 + ?) insert or ignore into session_updates (app_name, user_id, id, place) select
    app_name, user_id, id, update_time from k cross join sessions using (app_name, user_id, id, incarnation);

-- insert_events
insert or fail into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time,
    author, invocation_id, branch, user_revision, app_revision, effect, digest, body) select * from (values
    (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)) limit 0 + ?;

-- insert_events_if_unchanged
with k(app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
    invocation_id, branch, user_revision, app_revision, effect, digest, body, was, metadata_was, user_was,
    app_was, lease, side, now) as (select * from (values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)) limit
    0 + ?) insert or fail into events (app_name, user_id, session_id, incarnation, sequence, id, event_time,
    commit_time, author, invocation_id, branch, user_revision, app_revision, effect, digest, body) select
    k.app_name, k.user_id, k.session_id, case when s.incarnation = k.incarnation and s.revision = k.was and
    s.metadata_revision = k.metadata_was and (k.lease is null or s.lease_epoch = k.lease) and (not k.side or
    not s.lease_all or s.lease_expire <= k.now) and (p.events_per_session is null or k.sequence <=
    s.base_revision + p.events_per_session) then k.incarnation end, k.sequence, k.id, k.event_time, case when
    k.now < s.commit_time then s.commit_time else k.now end, k.author, k.invocation_id, k.branch, case when
    k.user_was = coalesce(u.revision, 0) then k.user_revision end, case when k.app_was = coalesce(a.revision,
    0) then k.app_revision end, k.effect, k.digest, k.body from k left join sessions s on s.app_name =
    k.app_name and s.user_id = k.user_id and s.id = k.session_id left join user_scopes u on u.app_name =
    k.app_name and u.user_id = k.user_id left join app_scopes a on a.app_name = k.app_name left join policies p
    on p.app_name = k.app_name returning incarnation, user_revision, app_revision, commit_time;

-- update_sessions
with k(app_name, user_id, id, rough, place) as (select * from (values (?,?,?,?,?)) limit 0 + ?) update or fail
    session_updates as o set rough = k.rough, place = k.place from k cross join sessions s using (app_name,
    user_id, id) where o.app_name = k.app_name and o.user_id = k.user_id and o.rough = s.rough and o.place =
    case when s.rough then s.update_time / 10000000 else s.update_time end and o.id = k.id; with k(app_name,
    user_id, id, revision, update_time, update_time_number, rough, extended_from, now, active_day) as (select *
    from (values (?,?,?,?,?,?,?,?,?,?)) limit 0 + ?) update or fail sessions as s set revision = k.revision,
    update_time = k.update_time, update_time_number = k.update_time_number, active_day = k.active_day, rough =
    coalesce(k.rough, s.rough), commit_time = case when k.now < s.commit_time then s.commit_time else k.now
    end, lease_expire = case when s.lease_expire < k.extended_from + s.lease_ttl then k.extended_from +
    s.lease_ttl else s.lease_expire end from k where s.app_name = k.app_name and s.user_id = k.user_id and s.id
    = k.id;

-- set_user_revisions
insert or fail into user_scopes (app_name, user_id, revision, floor, emptied, began) select * from (values
    (?,?,?,?,?,?)) limit 0 + ? on conflict (app_name, user_id) do update set revision = excluded.revision;

-- set_app_revisions
insert or fail into app_scopes (app_name, revision) select * from (values (?,?)) limit 0 + ? on conflict
    (app_name) do update set revision = excluded.revision;

-- set_session_state
with k(app_name, user_id, session_id, incarnation, key, first, removed) as (select * from (values
    (?,?,?,?,?,?,?)) limit 0 + ?) insert or fail into session_spans (app_name, user_id, session_id,
    incarnation, key, node, valid_from, valid_to, removed, value) select app_name, user_id, session_id,
    incarnation, key, case when first & -2 <= revision then first & -1 when first & -4 <= revision then first &
    -2 when first & -8 <= revision then first & -4 when first & -16 <= revision then first & -8 when first &
    -32 <= revision then first & -16 when first & -64 <= revision then first & -32 when first & -128 <=
    revision then first & -64 when first & -256 <= revision then first & -128 when first & -512 <= revision
    then first & -256 when first & -1024 <= revision then first & -512 when first & -2048 <= revision then
    first & -1024 when first & -4096 <= revision then first & -2048 when first & -8192 <= revision then first &
    -4096 when first & -16384 <= revision then first & -8192 when first & -32768 <= revision then first &
    -16384 when first & -65536 <= revision then first & -32768 when first & -131072 <= revision then first &
    -65536 when first & -262144 <= revision then first & -131072 when first & -524288 <= revision then first &
    -262144 when first & -1048576 <= revision then first & -524288 when first & -2097152 <= revision then first
    & -1048576 when first & -4194304 <= revision then first & -2097152 when first & -8388608 <= revision then
    first & -4194304 when first & -16777216 <= revision then first & -8388608 when first & -33554432 <=
    revision then first & -16777216 when first & -67108864 <= revision then first & -33554432 when first &
    -134217728 <= revision then first & -67108864 when first & -268435456 <= revision then first & -134217728
    when first & -536870912 <= revision then first & -268435456 when first & -1073741824 <= revision then first
    & -536870912 when first & -2147483648 <= revision then first & -1073741824 when first & -4294967296 <=
    revision then first & -2147483648 when first & -8589934592 <= revision then first & -4294967296 when first
    & -17179869184 <= revision then first & -8589934592 when first & -34359738368 <= revision then first &
    -17179869184 when first & -68719476736 <= revision then first & -34359738368 when first & -137438953472 <=
    revision then first & -68719476736 when first & -274877906944 <= revision then first & -137438953472 when
    first & -549755813888 <= revision then first & -274877906944 when first & -1099511627776 <= revision then
    first & -549755813888 when first & -2199023255552 <= revision then first & -1099511627776 when first &
    -4398046511104 <= revision then first & -2199023255552 when first & -8796093022208 <= revision then first &
    -4398046511104 when first & -17592186044416 <= revision then first & -8796093022208 when first &
    -35184372088832 <= revision then first & -17592186044416 when first & -70368744177664 <= revision then
    first & -35184372088832 when first & -140737488355328 <= revision then first & -70368744177664 when first &
    -281474976710656 <= revision then first & -140737488355328 when first & -562949953421312 <= revision then
    first & -281474976710656 when first & -1125899906842624 <= revision then first & -562949953421312 when
    first & -2251799813685248 <= revision then first & -1125899906842624 when first & -4503599627370496 <=
    revision then first & -2251799813685248 when first & -9007199254740992 <= revision then first &
    -4503599627370496 when first & -18014398509481984 <= revision then first & -9007199254740992 when first &
    -36028797018963968 <= revision then first & -18014398509481984 when first & -72057594037927936 <= revision
    then first & -36028797018963968 when first & -144115188075855872 <= revision then first &
    -72057594037927936 when first & -288230376151711744 <= revision then first & -144115188075855872 when first
    & -576460752303423488 <= revision then first & -288230376151711744 when first & -1152921504606846976 <=
    revision then first & -576460752303423488 when first & -2305843009213693952 <= revision then first &
    -1152921504606846976 when first & -4611686018427387904 <= revision then first & -2305843009213693952 else
    first & -4611686018427387904 end, revision, first, removed, value from k cross join session_state using
    (app_name, user_id, session_id, incarnation, key); insert or fail into session_state (app_name, user_id,
    session_id, incarnation, key, revision, value) select * from (values (?,?,?,?,?,?,?)) limit 0 + ? on
    conflict (app_name, user_id, session_id, incarnation, key) do update set value = excluded.value, revision =
    excluded.revision;

-- set_user_state
with k(app_name, user_id, key, first, removed) as (select * from (values (?,?,?,?,?)) limit 0 + ?) insert or
    fail into user_spans (app_name, user_id, key, node, valid_from, valid_to) select app_name, user_id, key,
    case when first & -2 <= revision then first & -1 when first & -4 <= revision then first & -2 when first &
    -8 <= revision then first & -4 when first & -16 <= revision then first & -8 when first & -32 <= revision
    then first & -16 when first & -64 <= revision then first & -32 when first & -128 <= revision then first &
    -64 when first & -256 <= revision then first & -128 when first & -512 <= revision then first & -256 when
    first & -1024 <= revision then first & -512 when first & -2048 <= revision then first & -1024 when first &
    -4096 <= revision then first & -2048 when first & -8192 <= revision then first & -4096 when first & -16384
    <= revision then first & -8192 when first & -32768 <= revision then first & -16384 when first & -65536 <=
    revision then first & -32768 when first & -131072 <= revision then first & -65536 when first & -262144 <=
    revision then first & -131072 when first & -524288 <= revision then first & -262144 when first & -1048576
    <= revision then first & -524288 when first & -2097152 <= revision then first & -1048576 when first &
    -4194304 <= revision then first & -2097152 when first & -8388608 <= revision then first & -4194304 when
    first & -16777216 <= revision then first & -8388608 when first & -33554432 <= revision then first &
    -16777216 when first & -67108864 <= revision then first & -33554432 when first & -134217728 <= revision
    then first & -67108864 when first & -268435456 <= revision then first & -134217728 when first & -536870912
    <= revision then first & -268435456 when first & -1073741824 <= revision then first & -536870912 when first
    & -2147483648 <= revision then first & -1073741824 when first & -4294967296 <= revision then first &
    -2147483648 when first & -8589934592 <= revision then first & -4294967296 when first & -17179869184 <=
    revision then first & -8589934592 when first & -34359738368 <= revision then first & -17179869184 when
    first & -68719476736 <= revision then first & -34359738368 when first & -137438953472 <= revision then
    first & -68719476736 when first & -274877906944 <= revision then first & -137438953472 when first &
    -549755813888 <= revision then first & -274877906944 when first & -1099511627776 <= revision then first &
    -549755813888 when first & -2199023255552 <= revision then first & -1099511627776 when first &
    -4398046511104 <= revision then first & -2199023255552 when first & -8796093022208 <= revision then first &
    -4398046511104 when first & -17592186044416 <= revision then first & -8796093022208 when first &
    -35184372088832 <= revision then first & -17592186044416 when first & -70368744177664 <= revision then
    first & -35184372088832 when first & -140737488355328 <= revision then first & -70368744177664 when first &
    -281474976710656 <= revision then first & -140737488355328 when first & -562949953421312 <= revision then
    first & -281474976710656 when first & -1125899906842624 <= revision then first & -562949953421312 when
    first & -2251799813685248 <= revision then first & -1125899906842624 when first & -4503599627370496 <=
    revision then first & -2251799813685248 when first & -9007199254740992 <= revision then first &
    -4503599627370496 when first & -18014398509481984 <= revision then first & -9007199254740992 when first &
    -36028797018963968 <= revision then first & -18014398509481984 when first & -72057594037927936 <= revision
    then first & -36028797018963968 when first & -144115188075855872 <= revision then first &
    -72057594037927936 when first & -288230376151711744 <= revision then first & -144115188075855872 when first
    & -576460752303423488 <= revision then first & -288230376151711744 when first & -1152921504606846976 <=
    revision then first & -576460752303423488 when first & -2305843009213693952 <= revision then first &
    -1152921504606846976 when first & -4611686018427387904 <= revision then first & -2305843009213693952 else
    first & -4611686018427387904 end, revision, first from k cross join user_state using (app_name, user_id,
    key); insert or fail into user_log (app_name, user_id, key, revision, value, incarnation, sequence) select
    * from (values (?,?,?,?,?,?,?)) limit 0 + ?; insert or fail into user_state (app_name, user_id, key,
    revision, value) select * from (values (?,?,?,?,?)) limit 0 + ? on conflict (app_name, user_id, key) do
    update set value = excluded.value, revision = excluded.revision;

-- set_app_state
with k(app_name, key, first, removed) as (select * from (values (?,?,?,?)) limit 0 + ?) insert or fail into
    app_spans (app_name, key, node, valid_from, valid_to) select app_name, key, case when first & -2 <=
    revision then first & -1 when first & -4 <= revision then first & -2 when first & -8 <= revision then first
    & -4 when first & -16 <= revision then first & -8 when first & -32 <= revision then first & -16 when first
    & -64 <= revision then first & -32 when first & -128 <= revision then first & -64 when first & -256 <=
    revision then first & -128 when first & -512 <= revision then first & -256 when first & -1024 <= revision
    then first & -512 when first & -2048 <= revision then first & -1024 when first & -4096 <= revision then
    first & -2048 when first & -8192 <= revision then first & -4096 when first & -16384 <= revision then first
    & -8192 when first & -32768 <= revision then first & -16384 when first & -65536 <= revision then first &
    -32768 when first & -131072 <= revision then first & -65536 when first & -262144 <= revision then first &
    -131072 when first & -524288 <= revision then first & -262144 when first & -1048576 <= revision then first
    & -524288 when first & -2097152 <= revision then first & -1048576 when first & -4194304 <= revision then
    first & -2097152 when first & -8388608 <= revision then first & -4194304 when first & -16777216 <= revision
    then first & -8388608 when first & -33554432 <= revision then first & -16777216 when first & -67108864 <=
    revision then first & -33554432 when first & -134217728 <= revision then first & -67108864 when first &
    -268435456 <= revision then first & -134217728 when first & -536870912 <= revision then first & -268435456
    when first & -1073741824 <= revision then first & -536870912 when first & -2147483648 <= revision then
    first & -1073741824 when first & -4294967296 <= revision then first & -2147483648 when first & -8589934592
    <= revision then first & -4294967296 when first & -17179869184 <= revision then first & -8589934592 when
    first & -34359738368 <= revision then first & -17179869184 when first & -68719476736 <= revision then first
    & -34359738368 when first & -137438953472 <= revision then first & -68719476736 when first & -274877906944
    <= revision then first & -137438953472 when first & -549755813888 <= revision then first & -274877906944
    when first & -1099511627776 <= revision then first & -549755813888 when first & -2199023255552 <= revision
    then first & -1099511627776 when first & -4398046511104 <= revision then first & -2199023255552 when first
    & -8796093022208 <= revision then first & -4398046511104 when first & -17592186044416 <= revision then
    first & -8796093022208 when first & -35184372088832 <= revision then first & -17592186044416 when first &
    -70368744177664 <= revision then first & -35184372088832 when first & -140737488355328 <= revision then
    first & -70368744177664 when first & -281474976710656 <= revision then first & -140737488355328 when first
    & -562949953421312 <= revision then first & -281474976710656 when first & -1125899906842624 <= revision
    then first & -562949953421312 when first & -2251799813685248 <= revision then first & -1125899906842624
    when first & -4503599627370496 <= revision then first & -2251799813685248 when first & -9007199254740992 <=
    revision then first & -4503599627370496 when first & -18014398509481984 <= revision then first &
    -9007199254740992 when first & -36028797018963968 <= revision then first & -18014398509481984 when first &
    -72057594037927936 <= revision then first & -36028797018963968 when first & -144115188075855872 <= revision
    then first & -72057594037927936 when first & -288230376151711744 <= revision then first &
    -144115188075855872 when first & -576460752303423488 <= revision then first & -288230376151711744 when
    first & -1152921504606846976 <= revision then first & -576460752303423488 when first & -2305843009213693952
    <= revision then first & -1152921504606846976 when first & -4611686018427387904 <= revision then first &
    -2305843009213693952 else first & -4611686018427387904 end, revision, first from k cross join app_state
    using (app_name, key); insert or fail into app_log (app_name, key, revision, value, incarnation, sequence)
    select * from (values (?,?,?,?,?,?)) limit 0 + ?; insert or fail into app_state (app_name, key, revision,
    value) select * from (values (?,?,?,?)) limit 0 + ? on conflict (app_name, key) do update set value =
    excluded.value, revision = excluded.revision;

-- remove_session_state
with k(app_name, user_id, session_id, incarnation, key, first, removed) as (select * from (values
    (?,?,?,?,?,?,?)) limit 0 + ?) insert or fail into session_spans (app_name, user_id, session_id,
    incarnation, key, node, valid_from, valid_to, removed, value) select app_name, user_id, session_id,
    incarnation, key, case when first & -2 <= revision then first & -1 when first & -4 <= revision then first &
    -2 when first & -8 <= revision then first & -4 when first & -16 <= revision then first & -8 when first &
    -32 <= revision then first & -16 when first & -64 <= revision then first & -32 when first & -128 <=
    revision then first & -64 when first & -256 <= revision then first & -128 when first & -512 <= revision
    then first & -256 when first & -1024 <= revision then first & -512 when first & -2048 <= revision then
    first & -1024 when first & -4096 <= revision then first & -2048 when first & -8192 <= revision then first &
    -4096 when first & -16384 <= revision then first & -8192 when first & -32768 <= revision then first &
    -16384 when first & -65536 <= revision then first & -32768 when first & -131072 <= revision then first &
    -65536 when first & -262144 <= revision then first & -131072 when first & -524288 <= revision then first &
    -262144 when first & -1048576 <= revision then first & -524288 when first & -2097152 <= revision then first
    & -1048576 when first & -4194304 <= revision then first & -2097152 when first & -8388608 <= revision then
    first & -4194304 when first & -16777216 <= revision then first & -8388608 when first & -33554432 <=
    revision then first & -16777216 when first & -67108864 <= revision then first & -33554432 when first &
    -134217728 <= revision then first & -67108864 when first & -268435456 <= revision then first & -134217728
    when first & -536870912 <= revision then first & -268435456 when first & -1073741824 <= revision then first
    & -536870912 when first & -2147483648 <= revision then first & -1073741824 when first & -4294967296 <=
    revision then first & -2147483648 when first & -8589934592 <= revision then first & -4294967296 when first
    & -17179869184 <= revision then first & -8589934592 when first & -34359738368 <= revision then first &
    -17179869184 when first & -68719476736 <= revision then first & -34359738368 when first & -137438953472 <=
    revision then first & -68719476736 when first & -274877906944 <= revision then first & -137438953472 when
    first & -549755813888 <= revision then first & -274877906944 when first & -1099511627776 <= revision then
    first & -549755813888 when first & -2199023255552 <= revision then first & -1099511627776 when first &
    -4398046511104 <= revision then first & -2199023255552 when first & -8796093022208 <= revision then first &
    -4398046511104 when first & -17592186044416 <= revision then first & -8796093022208 when first &
    -35184372088832 <= revision then first & -17592186044416 when first & -70368744177664 <= revision then
    first & -35184372088832 when first & -140737488355328 <= revision then first & -70368744177664 when first &
    -281474976710656 <= revision then first & -140737488355328 when first & -562949953421312 <= revision then
    first & -281474976710656 when first & -1125899906842624 <= revision then first & -562949953421312 when
    first & -2251799813685248 <= revision then first & -1125899906842624 when first & -4503599627370496 <=
    revision then first & -2251799813685248 when first & -9007199254740992 <= revision then first &
    -4503599627370496 when first & -18014398509481984 <= revision then first & -9007199254740992 when first &
    -36028797018963968 <= revision then first & -18014398509481984 when first & -72057594037927936 <= revision
    then first & -36028797018963968 when first & -144115188075855872 <= revision then first &
    -72057594037927936 when first & -288230376151711744 <= revision then first & -144115188075855872 when first
    & -576460752303423488 <= revision then first & -288230376151711744 when first & -1152921504606846976 <=
    revision then first & -576460752303423488 when first & -2305843009213693952 <= revision then first &
    -1152921504606846976 when first & -4611686018427387904 <= revision then first & -2305843009213693952 else
    first & -4611686018427387904 end, revision, first, removed, value from k cross join session_state using
    (app_name, user_id, session_id, incarnation, key); with k(app_name, user_id, session_id, incarnation, key)
    as (select * from (values (?,?,?,?,?)) limit 0 + ?) delete from session_state where (app_name, user_id,
    session_id, incarnation, key) in k;

-- remove_user_state
with k(app_name, user_id, key, first, removed) as (select * from (values (?,?,?,?,?)) limit 0 + ?) insert or
    fail into user_spans (app_name, user_id, key, node, valid_from, valid_to) select app_name, user_id, key,
    case when first & -2 <= revision then first & -1 when first & -4 <= revision then first & -2 when first &
    -8 <= revision then first & -4 when first & -16 <= revision then first & -8 when first & -32 <= revision
    then first & -16 when first & -64 <= revision then first & -32 when first & -128 <= revision then first &
    -64 when first & -256 <= revision then first & -128 when first & -512 <= revision then first & -256 when
    first & -1024 <= revision then first & -512 when first & -2048 <= revision then first & -1024 when first &
    -4096 <= revision then first & -2048 when first & -8192 <= revision then first & -4096 when first & -16384
    <= revision then first & -8192 when first & -32768 <= revision then first & -16384 when first & -65536 <=
    revision then first & -32768 when first & -131072 <= revision then first & -65536 when first & -262144 <=
    revision then first & -131072 when first & -524288 <= revision then first & -262144 when first & -1048576
    <= revision then first & -524288 when first & -2097152 <= revision then first & -1048576 when first &
    -4194304 <= revision then first & -2097152 when first & -8388608 <= revision then first & -4194304 when
    first & -16777216 <= revision then first & -8388608 when first & -33554432 <= revision then first &
    -16777216 when first & -67108864 <= revision then first & -33554432 when first & -134217728 <= revision
    then first & -67108864 when first & -268435456 <= revision then first & -134217728 when first & -536870912
    <= revision then first & -268435456 when first & -1073741824 <= revision then first & -536870912 when first
    & -2147483648 <= revision then first & -1073741824 when first & -4294967296 <= revision then first &
    -2147483648 when first & -8589934592 <= revision then first & -4294967296 when first & -17179869184 <=
    revision then first & -8589934592 when first & -34359738368 <= revision then first & -17179869184 when
    first & -68719476736 <= revision then first & -34359738368 when first & -137438953472 <= revision then
    first & -68719476736 when first & -274877906944 <= revision then first & -137438953472 when first &
    -549755813888 <= revision then first & -274877906944 when first & -1099511627776 <= revision then first &
    -549755813888 when first & -2199023255552 <= revision then first & -1099511627776 when first &
    -4398046511104 <= revision then first & -2199023255552 when first & -8796093022208 <= revision then first &
    -4398046511104 when first & -17592186044416 <= revision then first & -8796093022208 when first &
    -35184372088832 <= revision then first & -17592186044416 when first & -70368744177664 <= revision then
    first & -35184372088832 when first & -140737488355328 <= revision then first & -70368744177664 when first &
    -281474976710656 <= revision then first & -140737488355328 when first & -562949953421312 <= revision then
    first & -281474976710656 when first & -1125899906842624 <= revision then first & -562949953421312 when
    first & -2251799813685248 <= revision then first & -1125899906842624 when first & -4503599627370496 <=
    revision then first & -2251799813685248 when first & -9007199254740992 <= revision then first &
    -4503599627370496 when first & -18014398509481984 <= revision then first & -9007199254740992 when first &
    -36028797018963968 <= revision then first & -18014398509481984 when first & -72057594037927936 <= revision
    then first & -36028797018963968 when first & -144115188075855872 <= revision then first &
    -72057594037927936 when first & -288230376151711744 <= revision then first & -144115188075855872 when first
    & -576460752303423488 <= revision then first & -288230376151711744 when first & -1152921504606846976 <=
    revision then first & -576460752303423488 when first & -2305843009213693952 <= revision then first &
    -1152921504606846976 when first & -4611686018427387904 <= revision then first & -2305843009213693952 else
    first & -4611686018427387904 end, revision, first from k cross join user_state using (app_name, user_id,
    key); insert or fail into user_log (app_name, user_id, key, revision, value, incarnation, sequence) select
    * from (values (?,?,?,?,?,?,?)) limit 0 + ?; with k(app_name, user_id, key) as (select * from (values
    (?,?,?)) limit 0 + ?) delete from user_state where (app_name, user_id, key) in k;

-- remove_app_state
with k(app_name, key, first, removed) as (select * from (values (?,?,?,?)) limit 0 + ?) insert or fail into
    app_spans (app_name, key, node, valid_from, valid_to) select app_name, key, case when first & -2 <=
    revision then first & -1 when first & -4 <= revision then first & -2 when first & -8 <= revision then first
    & -4 when first & -16 <= revision then first & -8 when first & -32 <= revision then first & -16 when first
    & -64 <= revision then first & -32 when first & -128 <= revision then first & -64 when first & -256 <=
    revision then first & -128 when first & -512 <= revision then first & -256 when first & -1024 <= revision
    then first & -512 when first & -2048 <= revision then first & -1024 when first & -4096 <= revision then
    first & -2048 when first & -8192 <= revision then first & -4096 when first & -16384 <= revision then first
    & -8192 when first & -32768 <= revision then first & -16384 when first & -65536 <= revision then first &
    -32768 when first & -131072 <= revision then first & -65536 when first & -262144 <= revision then first &
    -131072 when first & -524288 <= revision then first & -262144 when first & -1048576 <= revision then first
    & -524288 when first & -2097152 <= revision then first & -1048576 when first & -4194304 <= revision then
    first & -2097152 when first & -8388608 <= revision then first & -4194304 when first & -16777216 <= revision
    then first & -8388608 when first & -33554432 <= revision then first & -16777216 when first & -67108864 <=
    revision then first & -33554432 when first & -134217728 <= revision then first & -67108864 when first &
    -268435456 <= revision then first & -134217728 when first & -536870912 <= revision then first & -268435456
    when first & -1073741824 <= revision then first & -536870912 when first & -2147483648 <= revision then
    first & -1073741824 when first & -4294967296 <= revision then first & -2147483648 when first & -8589934592
    <= revision then first & -4294967296 when first & -17179869184 <= revision then first & -8589934592 when
    first & -34359738368 <= revision then first & -17179869184 when first & -68719476736 <= revision then first
    & -34359738368 when first & -137438953472 <= revision then first & -68719476736 when first & -274877906944
    <= revision then first & -137438953472 when first & -549755813888 <= revision then first & -274877906944
    when first & -1099511627776 <= revision then first & -549755813888 when first & -2199023255552 <= revision
    then first & -1099511627776 when first & -4398046511104 <= revision then first & -2199023255552 when first
    & -8796093022208 <= revision then first & -4398046511104 when first & -17592186044416 <= revision then
    first & -8796093022208 when first & -35184372088832 <= revision then first & -17592186044416 when first &
    -70368744177664 <= revision then first & -35184372088832 when first & -140737488355328 <= revision then
    first & -70368744177664 when first & -281474976710656 <= revision then first & -140737488355328 when first
    & -562949953421312 <= revision then first & -281474976710656 when first & -1125899906842624 <= revision
    then first & -562949953421312 when first & -2251799813685248 <= revision then first & -1125899906842624
    when first & -4503599627370496 <= revision then first & -2251799813685248 when first & -9007199254740992 <=
    revision then first & -4503599627370496 when first & -18014398509481984 <= revision then first &
    -9007199254740992 when first & -36028797018963968 <= revision then first & -18014398509481984 when first &
    -72057594037927936 <= revision then first & -36028797018963968 when first & -144115188075855872 <= revision
    then first & -72057594037927936 when first & -288230376151711744 <= revision then first &
    -144115188075855872 when first & -576460752303423488 <= revision then first & -288230376151711744 when
    first & -1152921504606846976 <= revision then first & -576460752303423488 when first & -2305843009213693952
    <= revision then first & -1152921504606846976 when first & -4611686018427387904 <= revision then first &
    -2305843009213693952 else first & -4611686018427387904 end, revision, first from k cross join app_state
    using (app_name, key); insert or fail into app_log (app_name, key, revision, value, incarnation, sequence)
    select * from (values (?,?,?,?,?,?)) limit 0 + ?; with k(app_name, key) as (select * from (values (?,?))
    limit 0 + ?) delete from app_state where (app_name, key) in k;

-- passed_session_state
insert or fail into session_spans (app_name, user_id, session_id, incarnation, key, node, valid_from, valid_to,
    removed, value) select * from (values (?,?,?,?,?,?,?,?,?,?)) limit 0 + ?;

-- passed_user_state
insert or fail into user_log (app_name, user_id, key, revision, value, incarnation, sequence) select * from
    (values (?,?,?,?,?,?,?)) limit 0 + ?; insert or fail into user_spans (app_name, user_id, key, node,
    valid_from, valid_to) select * from (values (?,?,?,?,?,?)) limit 0 + ?;

-- passed_app_state
insert or fail into app_log (app_name, key, revision, value, incarnation, sequence) select * from (values
    (?,?,?,?,?,?)) limit 0 + ?; insert or fail into app_spans (app_name, key, node, valid_from, valid_to)
    select * from (values (?,?,?,?,?)) limit 0 + ?;
