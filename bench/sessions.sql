-- Sessions of one app for lists, in a fraction of the time that making each by a request takes: the rows that the
-- service writes for a session created with the state {"step":1}, a second apart.
-- `sessiond verify` agrees with them.
--
--     psql -v app=list1000 -v count=1000 -v users=256 -f sessions.sql URL
\set ON_ERROR_STOP on
begin;
insert into sessions (app_name, user_id, id, incarnation, revision, create_time, update_time, update_time_number,
    initial_state, created_user_revision, created_app_revision, active_day)
select :'app', 'u' || i % :users, 's' || i,
    ('x' || translate(gen_random_uuid()::text, '-', ''))::bit(64)::bigint & 9223372036854775807, 0,
    1750000000000000 + i::bigint * 1000000, 1750000000000000 + i::bigint * 1000000,
    ((1750000000000000 + i::bigint * 1000000) / 1000000::numeric)::numeric(20, 6)::text, '{"step":1}', 0, 0,
    (1750000000000000 + i::bigint * 1000000) / 86400000000
from generate_series(0, :count - 1) i;
insert into session_updates (app_name, user_id, id, place)
select app_name, user_id, id, update_time from sessions where app_name = :'app';
insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
select app_name, user_id, id, incarnation, 'step', '1', 0 from sessions where app_name = :'app';
commit;
