-- A session with its merged state and its ten last events, in one statement: what GET of a session is answered from.
--
--     pgbench -n -M prepared -f read.sql -D app=bench -D sessions=1024 -D users=256 -c 32 -j 2 -T 10 URL
--
-- Sequences are dense, so the ten last are those above the revision less ten: the index gives them in their order, with
-- nothing to sort and nothing to count. Bodies come joined by commas, as the members of a JSON array.
\set session random(0, :sessions - 1)
\set user :session % :users
select s.id, s.incarnation, s.revision, s.metadata_revision, s.create_time, s.update_time_number, s.display_name,
    s.labels, s.expire_time, s.forked_from, s.forked_revision,
    (select u.revision from user_scopes u where u.app_name = s.app_name and u.user_id = s.user_id) as user_revision,
    (select a.revision from app_scopes a where a.app_name = s.app_name) as app_revision,
    '{' || concat_ws(',',
        (select string_agg(to_json(E'app\x3a' || t.key)::text || ':' || t.value, ',') from app_state t
            where t.app_name = s.app_name),
        (select string_agg(to_json(E'user\x3a' || t.key)::text || ':' || t.value, ',') from user_state t
            where t.app_name = s.app_name and t.user_id = s.user_id),
        (select string_agg(to_json(t.key)::text || ':' || t.value, ',') from session_state t
            where t.app_name = s.app_name and t.user_id = s.user_id and t.session_id = s.id
              and t.incarnation = s.incarnation)
    ) || '}' as state,
    e.commit_times, e.bodies
from sessions s, lateral (
    select array_agg(commit_time) as commit_times, string_agg(body, ',') as bodies
    from (
        select commit_time, body from events
        where app_name = s.app_name and user_id = s.user_id and session_id = s.id and incarnation = s.incarnation
          and sequence > s.revision - 10
        order by sequence
    ) last
) e
where s.app_name = :app and s.user_id = 'u' || :user and s.id = 's' || :session;
