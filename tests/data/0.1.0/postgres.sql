SELECT pg_catalog.set_config('search_path', '', false);
CREATE FUNCTION public.sessiond_admits(p_app text, p_user text, p_subject bytea, p_revision bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.sessiond_append(p_app text, p_user text, p_session text, p_incarnation bigint, h_was bigint, h_metadata bigint, h_was_bucket bigint, h_bucket bigint, h_revision bigint, h_time bigint, h_time_number text, h_lease bigint, h_side boolean, u_was bigint, u_revision bigint, a_was bigint, a_revision bigint, e_id text, e_time bigint, e_author text, e_invocation text, e_branch text, e_user_revision bigint, e_app_revision bigint, e_effect bigint, e_digest bytea, e_body text, s_key text[], s_value text[], v_key text[], v_value text[], w_key text[], w_value text[], p_feed boolean, OUT verdict text, OUT user_revision bigint, OUT app_revision bigint, OUT commit_time bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
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
    if h_bucket is not null then
        update session_updates o set bucket = h_bucket
        where o.app_name = p_app and o.user_id = p_user and o.bucket = h_was_bucket and o.id = p_session;
    end if;
    update sessions s
    set revision = h_revision, commit_time = committed, update_time = h_time, update_time_number = h_time_number,
        active_day = present / 86400000000,
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
        insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, value)
        values (p_app, p_user, p_session, p_incarnation,
            h_revision & (-1::bigint << (length(ltrim((s_revision # h_revision)::bit(64)::text, '0')) - 1)), s_key[i], s_revision, h_revision, s_was);
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
CREATE FUNCTION public.sessiond_write(p_app text, h_user text[], h_session text[], h_incarnation bigint[], h_was bigint[], h_metadata bigint[], h_was_bucket bigint[], h_bucket bigint[], h_revision bigint[], h_time bigint[], h_time_number text[], h_lease bigint[], h_side boolean[], u_user text[], u_was bigint[], u_first bigint[], u_revision bigint[], a_was bigint, a_revision bigint, e_user text[], e_session text[], e_incarnation bigint[], e_sequence bigint[], e_id text[], e_time bigint[], e_author text[], e_invocation text[], e_branch text[], e_user_revision bigint[], e_app_revision bigint[], e_effect bigint[], e_digest bytea[], e_body text[], s_user text[], s_session text[], s_incarnation bigint[], s_key text[], s_value text[], s_first bigint[], s_revision bigint[], s_until bigint[], v_user text[], v_key text[], v_value text[], v_first bigint[], v_revision bigint[], v_until bigint[], v_incarnation bigint[], v_sequence bigint[], w_key text[], w_value text[], w_first bigint[], w_revision bigint[], w_until bigint[], w_incarnation bigint[], w_sequence bigint[], p_feed boolean, OUT verdict text, OUT incarnations bigint[], OUT user_revisions bigint[], OUT app_revisions bigint[], OUT commit_times bigint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
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
    if h_bucket is not null then
        update session_updates o
        set bucket = h_bucket[i]
        from generate_subscripts(h_user, 1) as i
        cross join lateral (
            select l.ctid as at from session_updates l
            where l.app_name = p_app and l.user_id = h_user[i] and l.bucket = h_was_bucket[i] and l.id = h_session[i]
            offset 0) as l
        where o.ctid = l.at;
    end if;
    if cardinality(h_user) > 0 then
        update sessions s
        set revision = h_revision[i], commit_time = greatest(present, s.commit_time), update_time = h_time[i],
            update_time_number = h_time_number[i], active_day = present / 86400000000,
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
            insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, value)
            select p_app, s_user[i], s_session[i], s_incarnation[i], valid_to & (-1::bigint << (length(ltrim((valid_from # valid_to)::bit(64)::text, '0')) - 1)),
                s_key[i], valid_from, valid_to, held
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
CREATE TABLE public.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    digest bytea,
    role text NOT NULL,
    apps text NOT NULL,
    users text NOT NULL,
    create_time bigint NOT NULL,
    expire_time bigint,
    last_used_time bigint,
    revoke_time bigint
);
CREATE TABLE public.app_log (
    app_name text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    value text,
    "time" bigint DEFAULT ((EXTRACT(epoch FROM statement_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    incarnation bigint,
    sequence bigint,
    by_user text COLLATE pg_catalog."C",
    by_session text COLLATE pg_catalog."C",
    by_event text COLLATE pg_catalog."C",
    by_author text,
    by_invocation text
);
ALTER TABLE ONLY public.app_log ALTER COLUMN value SET STATISTICS 0;
CREATE TABLE public.app_patches (
    app_name text NOT NULL COLLATE pg_catalog."C",
    request_key text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    "time" bigint NOT NULL
);
CREATE TABLE public.app_scopes (
    app_name text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    floor bigint DEFAULT 0 NOT NULL,
    emptied bigint DEFAULT 0 NOT NULL,
    imported bigint DEFAULT 0 NOT NULL,
    redacted bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='20');
CREATE TABLE public.app_spans (
    app_name text NOT NULL COLLATE pg_catalog."C",
    node bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    valid_from bigint NOT NULL,
    valid_to bigint NOT NULL
);
CREATE TABLE public.app_state (
    app_name text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    revision bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.app_state ALTER COLUMN value SET STATISTICS 0;
CREATE TABLE public.artifact_names (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    next bigint NOT NULL,
    latest bigint,
    versions bigint NOT NULL,
    named bigint
)
WITH (fillfactor='70');
CREATE TABLE public.artifact_places (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    versions bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.artifact_spans (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    node bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    valid_from bigint NOT NULL,
    valid_to bigint NOT NULL,
    version bigint NOT NULL
);
CREATE TABLE public.artifact_state (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    revision bigint NOT NULL
)
WITH (fillfactor='80');
CREATE TABLE public.artifacts (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    mark bigint NOT NULL,
    kind text NOT NULL,
    mime_type text,
    size bigint,
    sha256 bytea,
    blob text COLLATE pg_catalog."C",
    create_time bigint NOT NULL,
    metadata text,
    display_name text,
    file_uri text,
    revision bigint,
    request_key text COLLATE pg_catalog."C",
    request_digest bytea
);
ALTER TABLE ONLY public.artifacts ALTER COLUMN metadata SET STATISTICS 0;
ALTER TABLE ONLY public.artifacts ALTER COLUMN display_name SET STATISTICS 0;
ALTER TABLE ONLY public.artifacts ALTER COLUMN file_uri SET STATISTICS 0;
CREATE TABLE public.blob_chunks (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    blob text NOT NULL COLLATE pg_catalog."C",
    n bigint NOT NULL,
    bytes bytea NOT NULL
);
ALTER TABLE ONLY public.blob_chunks ALTER COLUMN bytes SET STATISTICS 0;
ALTER TABLE ONLY public.blob_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE public.blobs (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    size bigint NOT NULL,
    versions bigint NOT NULL,
    loose_since bigint,
    store text,
    object text,
    upload text,
    erasure text COLLATE pg_catalog."C"
)
WITH (fillfactor='70');
CREATE TABLE public.blocked_users (
    app_name text NOT NULL COLLATE pg_catalog."C",
    subject bytea NOT NULL
);
CREATE TABLE public.buried_sessions (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    erasure text COLLATE pg_catalog."C"
);
CREATE TABLE public.changes (
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint NOT NULL,
    kind bigint NOT NULL,
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    session_id text COLLATE pg_catalog."C",
    incarnation bigint,
    first_revision bigint NOT NULL,
    last_revision bigint NOT NULL,
    detail text,
    "time" bigint DEFAULT ((EXTRACT(epoch FROM statement_timestamp()) * (1000000)::numeric))::bigint NOT NULL
);
ALTER TABLE public.changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.effective_ids (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    sequence bigint NOT NULL,
    id bigint NOT NULL,
    roles bigint NOT NULL
);
CREATE TABLE public.effective_views (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    sequence bigint NOT NULL,
    view text NOT NULL
);
ALTER TABLE ONLY public.effective_views ALTER COLUMN view SET STATISTICS 0;
CREATE TABLE public.erased_revisions (
    app_name text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL
);
CREATE TABLE public.erasure_counts (
    app_name text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL
);
CREATE TABLE public.erasure_secrets (
    name text NOT NULL COLLATE pg_catalog."C",
    secret bytea NOT NULL
);
CREATE TABLE public.erasures (
    id text NOT NULL COLLATE pg_catalog."C",
    app_name text NOT NULL COLLATE pg_catalog."C",
    subject bytea NOT NULL,
    request bytea,
    reference text,
    block boolean,
    blocked boolean NOT NULL,
    request_time bigint NOT NULL,
    done_time bigint,
    sessions bigint NOT NULL,
    events bigint NOT NULL,
    state_keys bigint NOT NULL,
    changes bigint NOT NULL,
    artifacts bigint NOT NULL,
    receipt text
);
CREATE TABLE public.event_words (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    sequence bigint NOT NULL,
    commit_time bigint NOT NULL,
    author text NOT NULL,
    words bigint[] NOT NULL
);
ALTER TABLE ONLY public.event_words ALTER COLUMN words SET STATISTICS 0;
CREATE TABLE public.events (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    sequence bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    event_time bigint NOT NULL,
    commit_time bigint NOT NULL,
    author text NOT NULL COLLATE pg_catalog."C",
    invocation_id text NOT NULL COLLATE pg_catalog."C",
    branch text COLLATE pg_catalog."C",
    user_revision bigint NOT NULL,
    app_revision bigint NOT NULL,
    effect bigint,
    digest bytea NOT NULL,
    body text NOT NULL,
    redaction bigint
);
ALTER TABLE ONLY public.events ALTER COLUMN body SET STATISTICS 0;
CREATE TABLE public.imports (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    "time" bigint NOT NULL
);
CREATE TABLE public.policies (
    app_name text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    policy text,
    sessions_per_user bigint,
    events_per_session bigint,
    artifact_bytes_per_user bigint,
    search bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.removed_forks (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    forked_from text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.scrubs (
    app_name text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL
);
CREATE TABLE public.session_spans (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    node bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    valid_from bigint NOT NULL,
    valid_to bigint NOT NULL,
    value text NOT NULL
);
ALTER TABLE ONLY public.session_spans ALTER COLUMN value SET STATISTICS 0;
CREATE TABLE public.session_state (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    revision bigint NOT NULL
)
WITH (fillfactor='80');
ALTER TABLE ONLY public.session_state ALTER COLUMN value SET STATISTICS 0;
CREATE TABLE public.session_updates (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    bucket bigint NOT NULL
);
CREATE TABLE public.sessiond_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);
CREATE TABLE public.sessions (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    revision bigint NOT NULL,
    metadata_revision bigint DEFAULT 0 NOT NULL,
    create_time bigint NOT NULL,
    commit_time bigint DEFAULT 0 NOT NULL,
    update_time bigint NOT NULL,
    update_time_number text NOT NULL,
    active_day bigint NOT NULL,
    display_name text,
    labels text,
    expire_time bigint,
    base_revision bigint DEFAULT 0 NOT NULL,
    initial_state text NOT NULL,
    created_user_revision bigint NOT NULL,
    created_app_revision bigint NOT NULL,
    forked_from text COLLATE pg_catalog."C",
    forked_revision bigint,
    creation_key text COLLATE pg_catalog."C",
    creation_digest bytea,
    imported_mark text,
    imported_digest bytea,
    imported_revision bigint,
    lost_user_from bigint,
    lost_user_through bigint,
    lost_app_from bigint,
    lost_app_through bigint,
    lost_files_from bigint,
    lost_files_through bigint,
    lease_epoch bigint DEFAULT 0 NOT NULL,
    lease_owner text,
    lease_invocation text,
    lease_expire bigint,
    lease_ttl bigint,
    lease_all boolean DEFAULT false NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE ONLY public.sessions ALTER COLUMN display_name SET STATISTICS 0;
ALTER TABLE ONLY public.sessions ALTER COLUMN labels SET STATISTICS 0;
ALTER TABLE ONLY public.sessions ALTER COLUMN initial_state SET STATISTICS 0;
CREATE TABLE public.ticks (
    tick bigint NOT NULL,
    epoch bigint NOT NULL,
    since pg_snapshot NOT NULL,
    snapshot pg_snapshot NOT NULL,
    "time" bigint DEFAULT ((EXTRACT(epoch FROM statement_timestamp()) * (1000000)::numeric))::bigint NOT NULL
);
CREATE TABLE public.token_epochs (
    app_name text NOT NULL COLLATE pg_catalog."C",
    subject bytea NOT NULL,
    epoch bigint NOT NULL,
    erasure bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.token_secrets (
    name text NOT NULL COLLATE pg_catalog."C",
    secret bytea NOT NULL
);
CREATE TABLE public.trims (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    emptied bigint NOT NULL
);
CREATE TABLE public.user_log (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    value text,
    "time" bigint DEFAULT ((EXTRACT(epoch FROM statement_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    incarnation bigint,
    sequence bigint,
    by_user text COLLATE pg_catalog."C",
    by_session text COLLATE pg_catalog."C",
    by_event text COLLATE pg_catalog."C",
    by_author text,
    by_invocation text
);
ALTER TABLE ONLY public.user_log ALTER COLUMN value SET STATISTICS 0;
CREATE TABLE public.user_patches (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    request_key text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    "time" bigint NOT NULL
);
CREATE TABLE public.user_scopes (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    floor bigint DEFAULT 0 NOT NULL,
    emptied bigint DEFAULT 0 NOT NULL,
    began bigint DEFAULT 0 NOT NULL,
    imported bigint DEFAULT 0 NOT NULL,
    redacted bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.user_spans (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    node bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    valid_from bigint NOT NULL,
    valid_to bigint NOT NULL
);
CREATE TABLE public.user_state (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    revision bigint NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE ONLY public.user_state ALTER COLUMN value SET STATISTICS 0;
INSERT INTO public.api_keys VALUES
	('zywzrctiwybt', 'admin', '\x2ad3fec7ebd8c5e96858aee00883e03af0e655d95bdb852800e214205d4d84db', 'admin', '["*"]', '["*"]', 1795985808470811, NULL, 1795985808552313, NULL),
	('mgavo4tnfx4g', 'ends', '\xf66c2b9a4bb19ba5b45d4e5649c5645860056dfdbbc08366c3109df411945535', 'operator', '["*"]', '["*"]', 1795985808582103, 4102444800000000, NULL, NULL),
	('7wkkjfxlh6b6', 'is revoked', NULL, 'agent', '["läger*","shop"]', '["*"]', 1795985808579524, NULL, NULL, 1795985808583623),
	('psotu5bjjeaj', 'reads less', '\x75d061c10cd4d42adc1fc6dcafcb9ff2bfd8a70df4cb8ced7106eb722afaa489', 'reader', '["shop"]', '["ada"]', 1795985808552338, NULL, NULL, NULL);
INSERT INTO public.app_log VALUES
	('shop', 'gone', 1, '[1.0]', 1795985808683451, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'returnDays', 1, '30', 1795985808683451, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'gone', 2, NULL, 1795985808715429, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'currency', 3, '"EUR"', 1795985808773312, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'count', 4, '2', 1795985808801134, 4033018466052602671, 2, NULL, NULL, NULL, NULL, NULL),
	('shop', 'by', 5, '"deleted"', 1795985809118575, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k0ä', 1, '0', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k10ä', 1, '1180591620717411303424', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k11ä', 1, '-170141183460469231731687303715884105729', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k12ä', 1, '1.7976931348623157e308', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k13ä', 1, '9007199254740993', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k14ä', 1, '"\u0000"', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k18ä', 1, '" ﻿�􏿿"', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k19ä', 1, '""', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k1ä', 1, '-0', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k22ä', 1, '[ ]', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k27ä', 1, 'true', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k28ä', 1, 'null', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k2ä', 1, '1', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k3ä', 1, '1.0', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k4ä', 1, '1E2', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k5ä', 1, '1e+2', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k6ä', 1, '-0.0', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k7ä', 1, '0e0', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k8ä', 1, '1e-400', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k9ä', 1, '0.1000000000000000055511151231257827', 1795985809192616, 2991639318268556935, 3, NULL, NULL, NULL, NULL, NULL),
	('shop', 'last', 6, '"x"', 1795985809199126, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'last', 7, '"x"', 1795985809418427, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.app_scopes VALUES
	('läger/1 ü', 1, 0, 0, 0, 0),
	('shop', 7, 0, 0, 0, 0);
INSERT INTO public.app_spans VALUES
	('shop', 2, 'gone', 1, 2),
	('shop', 7, 'last', 6, 7);
INSERT INTO public.app_state VALUES
	('shop', 'returnDays', '30', 1),
	('shop', 'currency', '"EUR"', 3),
	('shop', 'count', '2', 4),
	('shop', 'by', '"deleted"', 5),
	('läger/1 ü', 'k0ä', '0', 1),
	('läger/1 ü', 'k10ä', '1180591620717411303424', 1),
	('läger/1 ü', 'k11ä', '-170141183460469231731687303715884105729', 1),
	('läger/1 ü', 'k12ä', '1.7976931348623157e308', 1),
	('läger/1 ü', 'k13ä', '9007199254740993', 1),
	('läger/1 ü', 'k14ä', '"\u0000"', 1),
	('läger/1 ü', 'k15ä', '"a\u0000b\u001f\u007f"', 1),
	('läger/1 ü', 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1),
	('läger/1 ü', 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1),
	('läger/1 ü', 'k18ä', '" ﻿�􏿿"', 1),
	('läger/1 ü', 'k19ä', '""', 1),
	('läger/1 ü', 'k1ä', '-0', 1),
	('läger/1 ü', 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1),
	('läger/1 ü', 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1),
	('läger/1 ü', 'k22ä', '[ ]', 1),
	('läger/1 ü', 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1),
	('läger/1 ü', 'k24ä', '{"$serde_json::private::Number": "1"}', 1),
	('läger/1 ü', 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1),
	('läger/1 ü', 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1),
	('läger/1 ü', 'k27ä', 'true', 1),
	('läger/1 ü', 'k28ä', 'null', 1),
	('läger/1 ü', 'k2ä', '1', 1),
	('läger/1 ü', 'k3ä', '1.0', 1),
	('läger/1 ü', 'k4ä', '1E2', 1),
	('läger/1 ü', 'k5ä', '1e+2', 1),
	('läger/1 ü', 'k6ä', '-0.0', 1),
	('läger/1 ü', 'k7ä', '0e0', 1),
	('läger/1 ü', 'k8ä', '1e-400', 1),
	('läger/1 ü', 'k9ä', '0.1000000000000000055511151231257827', 1),
	('shop', 'last', '"x"', 7);
INSERT INTO public.artifact_names VALUES
	('shop', 'ada', 'files', 7222078654827098191, 'notes/summary', 2, 1, 2, NULL),
	('shop', 'ada', '', 0, 'user:address', 1, 0, 1, NULL),
	('shop', 'ada', 'files-2', 7247402787285304880, 'page.html', 4, 3, 4, 3),
	('shop', 'ada', 'files-2', 7247402787285304880, 'gone', 1, NULL, 0, NULL),
	('shop', 'bob', 'by-adk', 5340068805086539712, 'a', 1, 0, 1, NULL);
INSERT INTO public.artifact_places VALUES
	('shop', 'ada', 'files', 7222078654827098191, 2),
	('shop', 'ada', '', 0, 1),
	('shop', 'ada', 'files-2', 7247402787285304880, 4),
	('shop', 'bob', 'by-adk', 5340068805086539712, 1);
INSERT INTO public.artifact_spans VALUES
	('shop', 'ada', 'files-2', 7247402787285304880, 2, 'page.html', 1, 2, 0),
	('shop', 'ada', 'files-2', 7247402787285304880, 3, 'page.html', 2, 3, 2);
INSERT INTO public.artifact_state VALUES
	('shop', 'ada', 'files', 7222078654827098191, 'notes/summary', 0, 1),
	('shop', 'ada', 'files', 7222078654827098191, 'user:address', 0, 2),
	('shop', 'ada', 'files-2', 7247402787285304880, 'page.html', 3, 3),
	('shop', 'ada', 'files-2', 7247402787285304880, 'gone', 0, 4);
INSERT INTO public.artifacts VALUES
	('shop', 'ada', 'files', 7222078654827098191, 'notes/summary', 0, 4029170041797793899, 'text', 'text/plain', 14, '\x3e6c1234228eb2390fa98a214dc9021924b308e03bdff3c19be6e22d608173de', '01a22918-9e1a-7134-851c-4dfff463ec0c', 1795985808925203, '{"n":1.0}', NULL, NULL, 1, 'save-1', '\x26419e28c76e7a79a0e9095791e4f0f2c2b8762a3394f5c51365c71cebeb2984'),
	('shop', 'ada', 'files', 7222078654827098191, 'notes/summary', 1, 1860344722318102776, 'bytes', 'a/b', 7, '\xa9d7a888389f7c168a45f653d59e171fd5188ca7a88de23a306070ab968e847d', '01a22918-9e2e-777f-a2e3-ccd6edd293c9', 1795985808943493, NULL, '"n"', NULL, NULL, 'save-2', '\x139e072544fc51136ce7148e64c95e8c2bc71d474cfbeb1a793ea2274d6939a7'),
	('shop', 'ada', '', 0, 'user:address', 0, 6656194714584795562, 'uri', 'c/d', NULL, NULL, NULL, 1795985808945787, NULL, NULL, '"gs://a/b"', 2, 'save-3', '\x5f891a92236fab2f7566ef7a7a61b65a17eccf13c674360002bbfd995648a46b'),
	('shop', 'ada', 'files-2', 7247402787285304880, 'page.html', 0, 4138283016082718579, 'bytes', 'text/html', 8, '\xdb149029e10436bd960194453b725d04a252d8fdfdcac86d4eb2df7b85577b07', '01a22918-9e5d-74eb-930b-d8634209950e', 1795985808991107, NULL, NULL, NULL, 1, NULL, NULL),
	('shop', 'ada', 'files-2', 7247402787285304880, 'page.html', 1, 3203931527352887458, 'bytes', 'text/html', 8, '\x6e784353ea75228d9d65f28d704f77c2b294757ae6d8ca74ae74a459de564cfa', '01a22918-9e70-77f7-9c82-1068daa4bbcc', 1795985809009994, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'files-2', 7247402787285304880, 'page.html', 2, 8261211146389551860, 'bytes', 'text/html', 8, '\xf543c768a1419d4865f627460e7d4f974ae95606e4981f9b6e829d09299e7da8', '01a22918-9e73-7000-9351-d437655b10a4', 1795985809012384, NULL, '"ü"', NULL, 2, NULL, NULL),
	('shop', 'ada', 'files-2', 7247402787285304880, 'page.html', 3, 4995474023964329399, 'bytes', 'text/html', 8, '\xdb149029e10436bd960194453b725d04a252d8fdfdcac86d4eb2df7b85577b07', '01a22918-9e5d-74eb-930b-d8634209950e', 1795985809018900, NULL, NULL, NULL, 3, NULL, NULL),
	('shop', 'bob', 'by-adk', 5340068805086539712, 'a', 0, 5904612645966586269, 'text', 'text/plain', 6, '\x9a2f5da45c096840a0ce25b489c89c3b91f4eca1054e71d338be0bcefa7d3a2a', '01a22918-9eee-70d4-8208-3f9fab9c2079', 1795985809136104, '{"m":"s"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.blob_chunks VALUES
	('shop', 'ada', '01a22918-9e1a-7134-851c-4dfff463ec0c', 0, '\x6772c3bcc39f000a22476f747422'),
	('shop', 'ada', '01a22918-9e2e-777f-a2e3-ccd6edd293c9', 0, '\x000102030405ff'),
	('shop', 'ada', '01a22918-9e5d-74eb-930b-d8634209950e', 0, '\x3c623e313c2f623e'),
	('shop', 'ada', '01a22918-9e70-77f7-9c82-1068daa4bbcc', 0, '\x3c623e323c2f623e'),
	('shop', 'ada', '01a22918-9e73-7000-9351-d437655b10a4', 0, '\x3c623e333c2f623e'),
	('shop', 'bob', '01a22918-9eee-70d4-8208-3f9fab9c2079', 0, '\x62792041444b');
INSERT INTO public.blobs VALUES
	('shop', 'ada', '01a22918-9e1a-7134-851c-4dfff463ec0c', 14, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22918-9e2e-777f-a2e3-ccd6edd293c9', 7, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22918-9e70-77f7-9c82-1068daa4bbcc', 8, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22918-9e73-7000-9351-d437655b10a4', 8, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22918-9e5d-74eb-930b-d8634209950e', 8, 2, NULL, NULL, NULL, NULL, NULL),
	('shop', 'bob', '01a22918-9eee-70d4-8208-3f9fab9c2079', 6, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.blocked_users VALUES
	('shop', '\x3be8fe0e42a02ae93c353dc12aca271ba65ae8f88db457bc54c3159470393ba0');
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES
	('748', 1, 7, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795985808694345),
	('749', 2, 7, 'shop', NULL, NULL, NULL, 2, 2, NULL, 1795985808716295),
	('750', 3, 6, 'shop', 'zoe', NULL, NULL, 1, 1, NULL, 1795985808726740),
	('751', 4, 6, 'shop', 'ada', NULL, NULL, 1, 1, NULL, 1795985808750379),
	('752', 5, 1, 'shop', 'ada', 'files', 7222078654827098191, 0, 0, NULL, 1795985808769972),
	('753', 6, 1, 'shop', 'ada', 'order-1', 4033018466052602671, 0, 0, NULL, 1795985808775259),
	('753', 7, 6, 'shop', 'ada', NULL, NULL, 2, 2, NULL, 1795985808775259),
	('753', 8, 7, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1795985808775259),
	('754', 9, 2, 'shop', 'ada', 'order-1', 4033018466052602671, 1, 1, NULL, 1795985808777299),
	('754', 10, 6, 'shop', 'ada', NULL, NULL, 3, 3, NULL, 1795985808777299),
	('755', 11, 2, 'shop', 'ada', 'order-1', 4033018466052602671, 2, 3, NULL, 1795985808801134),
	('755', 12, 7, 'shop', NULL, NULL, NULL, 4, 4, NULL, 1795985808801134),
	('756', 13, 2, 'shop', 'ada', 'order-1', 4033018466052602671, 4, 4, NULL, 1795985808835269),
	('757', 14, 2, 'shop', 'ada', 'order-1', 4033018466052602671, 5, 5, NULL, 1795985808860875),
	('758', 15, 2, 'shop', 'ada', 'order-1', 4033018466052602671, 6, 6, NULL, 1795985808885491),
	('758', 16, 6, 'shop', 'ada', NULL, NULL, 4, 4, NULL, 1795985808885491),
	('759', 17, 1, 'shop', 'ada', 'order-1-again', 531210063399213392, 0, 3, '{"sessionId":"order-1","revision":3}', 1795985808907650),
	('759', 18, 2, 'shop', 'ada', 'order-1-again', 531210063399213392, 1, 3, NULL, 1795985808907650),
	('760', 19, 9, 'shop', 'ada', 'files', 7222078654827098191, 0, 0, '{"name":"notes/summary","version":0,"size":14}', 1795985808928862),
	('760', 20, 2, 'shop', 'ada', 'files', 7222078654827098191, 1, 1, NULL, 1795985808928862),
	('761', 21, 9, 'shop', 'ada', 'files', 7222078654827098191, 0, 0, '{"name":"notes/summary","version":1,"size":7}', 1795985808943997),
	('762', 22, 9, 'shop', 'ada', NULL, NULL, 0, 0, '{"name":"user:address","version":0}', 1795985808946741),
	('762', 23, 2, 'shop', 'ada', 'files', 7222078654827098191, 2, 2, NULL, 1795985808946741),
	('764', 24, 3, 'shop', 'ada', 'order-1-again', 531210063399213392, 0, 0, '{"displayName":"forked","labels":{"a":"b"},"expireTime":4102444800.000000}', 1795985808952440),
	('765', 25, 2, 'shop', 'ada', 'order-1-again', 531210063399213392, 4, 4, NULL, 1795985808969201),
	('765', 26, 6, 'shop', 'ada', NULL, NULL, 5, 5, NULL, 1795985808969201),
	('766', 27, 1, 'shop', 'ada', 'files-2', 7247402787285304880, 0, 0, NULL, 1795985808986606),
	('767', 28, 9, 'shop', 'ada', 'files-2', 7247402787285304880, 0, 0, '{"name":"page.html","version":0,"size":8}', 1795985808992854),
	('767', 29, 2, 'shop', 'ada', 'files-2', 7247402787285304880, 1, 1, NULL, 1795985808992854),
	('768', 30, 9, 'shop', 'ada', 'files-2', 7247402787285304880, 0, 0, '{"name":"page.html","version":1,"size":8}', 1795985809010697),
	('769', 31, 9, 'shop', 'ada', 'files-2', 7247402787285304880, 0, 0, '{"name":"page.html","version":2,"size":8}', 1795985809015572),
	('769', 32, 2, 'shop', 'ada', 'files-2', 7247402787285304880, 2, 2, NULL, 1795985809015572),
	('770', 33, 9, 'shop', 'ada', 'files-2', 7247402787285304880, 0, 0, '{"name":"page.html","version":3,"size":8}', 1795985809019862),
	('770', 34, 2, 'shop', 'ada', 'files-2', 7247402787285304880, 3, 3, NULL, 1795985809019862),
	('771', 35, 9, 'shop', 'ada', 'files-2', 7247402787285304880, 0, 0, '{"name":"gone","version":0,"size":1}', 1795985809026719),
	('771', 36, 2, 'shop', 'ada', 'files-2', 7247402787285304880, 4, 4, NULL, 1795985809026719),
	('772', 37, 10, 'shop', 'ada', 'files-2', 7247402787285304880, 0, 0, '{"name":"gone","reason":"deleted"}', 1795985809028944),
	('774', 38, 1, 'shop', 'ada', 'compacted', 1399502091320758132, 0, 0, NULL, 1795985809047596),
	('776', 39, 2, 'shop', 'ada', 'compacted', 1399502091320758132, 1, 1, NULL, 1795985809050050),
	('777', 40, 2, 'shop', 'ada', 'compacted', 1399502091320758132, 2, 2, NULL, 1795985809051674),
	('778', 41, 2, 'shop', 'ada', 'compacted', 1399502091320758132, 3, 3, NULL, 1795985809052393),
	('779', 42, 2, 'shop', 'ada', 'compacted', 1399502091320758132, 4, 4, NULL, 1795985809053050),
	('780', 43, 2, 'shop', 'ada', 'compacted', 1399502091320758132, 5, 5, NULL, 1795985809054312),
	('781', 44, 2, 'shop', 'ada', 'compacted', 1399502091320758132, 6, 6, NULL, 1795985809061377),
	('783', 45, 1, 'shop', 'ada', 'trimmed', 8849394368344372370, 0, 0, NULL, 1795985809064840),
	('784', 46, 2, 'shop', 'ada', 'trimmed', 8849394368344372370, 1, 1, NULL, 1795985809065587),
	('785', 47, 2, 'shop', 'ada', 'trimmed', 8849394368344372370, 2, 2, NULL, 1795985809066446),
	('786', 48, 2, 'shop', 'ada', 'trimmed', 8849394368344372370, 3, 3, NULL, 1795985809067159),
	('787', 49, 2, 'shop', 'ada', 'trimmed', 8849394368344372370, 4, 4, NULL, 1795985809067967),
	('788', 50, 2, 'shop', 'ada', 'trimmed', 8849394368344372370, 5, 5, NULL, 1795985809068664),
	('789', 51, 4, 'shop', 'ada', 'trimmed', 8849394368344372370, 0, 3, NULL, 1795985809070579),
	('791', 52, 1, 'shop', 'ada', 'moved', 5265355001400281836, 0, 0, NULL, 1795985809082780),
	('792', 53, 2, 'shop', 'ada', 'moved', 5265355001400281836, 1, 1, NULL, 1795985809084097),
	('793', 54, 2, 'shop', 'ada', 'moved', 5265355001400281836, 2, 2, NULL, 1795985809085591),
	('794', 55, 2, 'shop', 'ada', 'moved', 5265355001400281836, 3, 3, NULL, 1795985809086640),
	('795', 56, 2, 'shop', 'ada', 'moved', 5265355001400281836, 4, 4, NULL, 1795985809087464),
	('796', 57, 2, 'shop', 'ada', 'moved', 5265355001400281836, 5, 5, NULL, 1795985809088306),
	('797', 58, 4, 'shop', 'ada', 'moved', 5265355001400281836, 0, 3, NULL, 1795985809090976),
	('798', 59, 1, 'shop', 'ada', 'redacted', 6242643301019256961, 0, 0, NULL, 1795985809093059),
	('799', 60, 2, 'shop', 'ada', 'redacted', 6242643301019256961, 1, 1, NULL, 1795985809094083),
	('799', 61, 6, 'shop', 'ada', NULL, NULL, 6, 6, NULL, 1795985809094083),
	('800', 62, 11, 'shop', 'ada', 'redacted', 6242643301019256961, 1, 1, NULL, 1795985809102423),
	('802', 63, 2, 'shop', 'ada', 'redacted', 6242643301019256961, 2, 2, NULL, 1795985809104574),
	('802', 64, 6, 'shop', 'ada', NULL, NULL, 7, 7, NULL, 1795985809104574),
	('803', 65, 11, 'shop', 'ada', 'redacted', 6242643301019256961, 2, 2, NULL, 1795985809115626),
	('803', 66, 2, 'shop', 'ada', 'redacted', 6242643301019256961, 3, 3, NULL, 1795985809115626),
	('803', 67, 6, 'shop', 'ada', NULL, NULL, 8, 8, NULL, 1795985809115626),
	('804', 68, 1, 'shop', 'ada', 'deleted', 336179884098205569, 0, 0, NULL, 1795985809120692),
	('804', 69, 7, 'shop', NULL, NULL, NULL, 5, 5, NULL, 1795985809120692),
	('805', 70, 5, 'shop', 'ada', 'deleted', 336179884098205569, 0, 0, 'deleted', 1795985809128776),
	('806', 71, 1, 'shop', 'bob', 'by-adk', 5340068805086539712, 0, 0, NULL, 1795985809133600),
	('806', 72, 6, 'shop', 'bob', NULL, NULL, 1, 1, NULL, 1795985809133600),
	('807', 73, 9, 'shop', 'bob', 'by-adk', 5340068805086539712, 0, 0, '{"name":"a","version":0,"size":6}', 1795985809137327),
	('813', 77, 1, 'copy', 'ada', 'order-1', 6468117617492043483, 0, 6, NULL, 1795985809186402),
	('813', 78, 2, 'copy', 'ada', 'order-1', 6468117617492043483, 1, 6, NULL, 1795985809186402),
	('814', 79, 1, 'läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 0, 0, NULL, 1795985809187340),
	('815', 80, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 1, 1, NULL, 1795985809188838),
	('816', 81, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 2, 2, NULL, 1795985809190788),
	('816', 82, 6, 'läger/1 ü', 'ß ø@例え', NULL, NULL, 1, 1, NULL, 1795985809190788),
	('817', 83, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 3, 3, NULL, 1795985809192616),
	('817', 84, 7, 'läger/1 ü', NULL, NULL, NULL, 1, 1, NULL, 1795985809192616),
	('818', 88, 7, 'shop', NULL, NULL, NULL, 6, 6, NULL, 1795985809200522),
	('818', 85, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1795985809200522),
	('818', 86, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795985809200522),
	('818', 87, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795985809200522),
	('819', 89, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22918-9f31-72a3-930f-1d38ed695928","subject":"3be8fe0e42a02ae93c353dc12aca271ba65ae8f88db457bc54c3159470393ba0"}', 1795985809209665),
	('809', 74, 5, 'shop', 'ada', 'moved', 5265355001400281836, 0, 0, 'deleted', 1795985809155279),
	('811', 75, 1, 'shop', 'ada', 'moved', 4376385640692425666, 0, 5, NULL, 1795985809168319),
	('811', 76, 2, 'shop', 'ada', 'moved', 4376385640692425666, 4, 5, NULL, 1795985809168319),
	('824', 93, 7, 'shop', NULL, NULL, NULL, 7, 7, NULL, 1795985809419448),
	('824', 90, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1795985809419448),
	('824', 91, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795985809419448),
	('824', 92, 0, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1795985809419448),
	('825', 94, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22918-a00c-703e-961b-afa0ae51846b","subject":"bcf39ddafd1f204ebd1aae857a8b7f555aed223abdcef55c11e77cbf4a58e3b3"}', 1795985809425236);
INSERT INTO public.effective_views VALUES
	('shop', 'ada', 'compacted', 1399502091320758132, 5, '{"covered":[[1,3]],"needed":[],"unsure":false,"kept":[[5,4607182418800017408,4613937818241073152,{"scope":null,"branch":null,"node":false},5]]}');
INSERT INTO public.erased_revisions VALUES
	('shop', 4);
INSERT INTO public.erasure_counts VALUES
	('shop', 2);
INSERT INTO public.erasure_secrets VALUES
	('salt', '\xda387cbcbf744608986cfbf94c76aa5889f4f37358b846b081738276204e63e8'),
	('receipt', '\x3051020101300506032b65700422042094bf1ad42162e31a7d429685ab44f7407c3c6415f6ba9e7e869d12fff932cf1d8121006afa8404ae464e2bbd1a69553243979a6dc9f35f5cc229acde5094a0abbcd273');
INSERT INTO public.erasures VALUES
	('01a22918-9f31-72a3-930f-1d38ed695928', 'shop', '\x3be8fe0e42a02ae93c353dc12aca271ba65ae8f88db457bc54c3159470393ba0', '\x3f3d9bda44631e2f0562ba4948f0ab1bace00f82a4afec01cde91e31b4e86a11', 'case 17', true, true, 1795985809201244, 1795985809404521, 1, 1, 2, 1, 0, '{"id":"01a22918-9f31-72a3-930f-1d38ed695928","appName":"shop","subject":"3be8fe0e42a02ae93c353dc12aca271ba65ae8f88db457bc54c3159470393ba0","reference":"case 17","requestTime":1795985809.201244,"doneTime":1795985809.404521,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":true,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","a keyed hash of app and user by which the user is refused","removed rows in the files of PostgreSQL, until their space is used again or the tables are written anew by VACUUM FULL or pg_repack: a plain VACUUM overwrites nothing","what the write-ahead log of PostgreSQL, its archive and its standbys keep"],"instance":"ee23542a50797484672b7541bac08738","keyId":"593c6f6006a09840","signature":"NsxM65lZsr7vpL3nTqyxlnTUeZW575K4g6kIrhpKQGZ5G0B0yDdCIVlDfngqTCblAQSUDy2fInjVk6dMElsMBw"}'),
	('01a22918-a00c-703e-961b-afa0ae51846b', 'shop', '\xbcf39ddafd1f204ebd1aae857a8b7f555aed223abdcef55c11e77cbf4a58e3b3', NULL, 'case 18', NULL, false, 1795985809420184, 1795985809443416, 1, 1, 2, 1, 0, '{"id":"01a22918-a00c-703e-961b-afa0ae51846b","appName":"shop","subject":"bcf39ddafd1f204ebd1aae857a8b7f555aed223abdcef55c11e77cbf4a58e3b3","reference":"case 18","requestTime":1795985809.420184,"doneTime":1795985809.443416,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":false,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","removed rows in the files of PostgreSQL, until their space is used again or the tables are written anew by VACUUM FULL or pg_repack: a plain VACUUM overwrites nothing","what the write-ahead log of PostgreSQL, its archive and its standbys keep"],"instance":"ee23542a50797484672b7541bac08738","keyId":"593c6f6006a09840","signature":"nX72AufTej93MFFxVJtmk0OvUhEFVq1mspUxquoKaZoE-CFuSCDz5F18JrMcIB_Zes_uASd9p3Xc6KjR7zpOBA"}');
INSERT INTO public.events VALUES
	('shop', 'ada', 'order-1', 4033018466052602671, 1, 'e1', 1500000, 1795985808777299, 'user', 'i1', NULL, 3, 3, NULL, '\x435b38a6c0dfaa42f2382dbe95df21d1291117c4ca583dd775647f0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL),
	('shop', 'ada', 'order-1', 4033018466052602671, 2, 'e2', 1795985808797618, 1795985808801134, 'agent', 'i1', 'a.b', 3, 4, NULL, '\x08ec320bc833f1099984eecceb18bf53738a8fc7b156c83f0de7654ff7bec27c', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795985808.797618}', NULL),
	('shop', 'ada', 'order-1', 4033018466052602671, 3, 'e3', 1795985808797618, 1795985808801134, 'agent', 'i2', NULL, 3, 4, NULL, '\xd3de25700664b6208ddd18cb3bb6d49390d95970d4d73a683b895ed105536cb7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795985808.797618}', NULL),
	('shop', 'ada', 'order-1', 4033018466052602671, 4, 'rewind-1', 1795985808810130, 1795985808833713, 'user', 'rewind-01a22918-9daa-73d7-8fcf-b8bd8210f77c', NULL, 3, 4, 2, '\x56cfe208edfd495de6aa9bab2c6449e8360e422235be1a32d9ebb9f49abf026f', '{"author":"user","invocationId":"rewind-01a22918-9daa-73d7-8fcf-b8bd8210f77c","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1795985808.810130}', NULL),
	('shop', 'ada', 'order-1', 4033018466052602671, 5, 'put-1', 1795985808858824, 1795985808860875, 'user', '', NULL, 3, 4, NULL, '\x092f58824834ccfbee5844fcf7c78c5bf2b2628cdd2601e3fdbe2ad78b3a4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1795985808.858824}', NULL),
	('shop', 'ada', 'order-1', 4033018466052602671, 6, 'patch-1', 1795985808881446, 1795985808884094, 'agent', '', NULL, 4, 4, NULL, '\x6eba5e92b5a282ebc5d1c847bfc06332abc5a8be554aa8accf3d24c8e88e37d5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1795985808.881446}', NULL),
	('shop', 'ada', 'order-1-again', 531210063399213392, 1, 'e1', 1500000, 1795985808777299, 'user', 'i1', NULL, 3, 3, NULL, '\x435b38a6c0dfaa42f2382dbe95df21d1291117c4ca583dd775647f0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL),
	('shop', 'ada', 'order-1-again', 531210063399213392, 2, 'e2', 1795985808797618, 1795985808801134, 'agent', 'i1', 'a.b', 3, 4, NULL, '\x08ec320bc833f1099984eecceb18bf53738a8fc7b156c83f0de7654ff7bec27c', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795985808.797618}', NULL),
	('shop', 'ada', 'order-1-again', 531210063399213392, 3, 'e3', 1795985808797618, 1795985808801134, 'agent', 'i2', NULL, 3, 4, NULL, '\xd3de25700664b6208ddd18cb3bb6d49390d95970d4d73a683b895ed105536cb7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795985808.797618}', NULL),
	('shop', 'ada', 'files', 7222078654827098191, 1, '01a22918-9e1a-7134-851c-4e009fa9faba', 1795985808922893, 1795985808926068, 'user', '', NULL, 4, 4, NULL, '\xd2e2e5c0f9aed3095775c9c8f1bc1925fbceb4704466f38b9e2a05f080ed24b6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"notes/summary":0}},"id":"01a22918-9e1a-7134-851c-4e009fa9faba","timestamp":1795985808.922893}', NULL),
	('shop', 'ada', 'files', 7222078654827098191, 2, '01a22918-9e30-76cc-86e9-b2f838603d83', 1795985808944801, 1795985808946265, 'user', '', NULL, 4, 4, NULL, '\x601ac91dd78257428aff5e52ef0cf956333ce74ff62ff6f9c0ee2174f1aeebc6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"user:address":0}},"id":"01a22918-9e30-76cc-86e9-b2f838603d83","timestamp":1795985808.944801}', NULL),
	('shop', 'ada', 'order-1-again', 531210063399213392, 4, 'own', 1795985808968370, 1795985808969201, 'user', '', NULL, 5, 4, NULL, '\xabac0094f067ca3a080374546a8f16559889f3d0c2db27c80ec48ca855edf5d3', '{"id":"own","author":"user","actions":{"stateDelta":{"user:n":7}},"timestamp":1795985808.968370}', NULL),
	('shop', 'ada', 'files-2', 7247402787285304880, 1, '01a22918-9e5d-74eb-930b-d8641c3b6c37', 1795985808989166, 1795985808991831, 'user', '', NULL, 5, 4, NULL, '\x2e8cc7579cfff08786ce4c8806bd956e831f50e37ddcfefe584b2d0e6ea27985', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":0}},"id":"01a22918-9e5d-74eb-930b-d8641c3b6c37","timestamp":1795985808.989166}', NULL),
	('shop', 'ada', 'files-2', 7247402787285304880, 2, '01a22918-9e73-7000-9351-d4383f745716', 1795985809011703, 1795985809014668, 'user', '', NULL, 5, 4, NULL, '\x80d48eae81bbe94071b8b31400f3c11bcb79002cd30fa2caf13aa738e46633c2', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":2}},"id":"01a22918-9e73-7000-9351-d4383f745716","timestamp":1795985809.011703}', NULL),
	('shop', 'ada', 'files-2', 7247402787285304880, 3, '01a22918-9e78-77fa-8aa6-fa4e5e487b07', 1795985809016549, 1795985809017514, 'user', 'rewind-01a22918-9e78-77fa-8aa6-fa4fe54372b1', NULL, 5, 4, 1, '\x8cfac5da1fb54ee14a1bbbcf570a93a6de5ab63fd400e25217f473df07ee1639', '{"author":"user","invocationId":"rewind-01a22918-9e78-77fa-8aa6-fa4fe54372b1","actions":{"stateDelta":{},"rewindBeforeInvocationId":"","artifactDelta":{"page.html":3}},"customMetadata":{"rewindToRevision":1},"id":"01a22918-9e78-77fa-8aa6-fa4e5e487b07","timestamp":1795985809.016549}', NULL),
	('shop', 'ada', 'files-2', 7247402787285304880, 4, '01a22918-9e7c-70e0-ad05-81856918c3a5', 1795985809020562, 1795985809021552, 'user', '', NULL, 5, 4, NULL, '\x65f05c4408d5aecebea0ad84224d538baea2b514d41885dc4a2462ece115d210', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"gone":0}},"id":"01a22918-9e7c-70e0-ad05-81856918c3a5","timestamp":1795985809.020562}', NULL),
	('shop', 'ada', 'compacted', 1399502091320758132, 1, 'c1', 1000000, 1795985809050050, 'user', '', NULL, 5, 4, NULL, '\x249cd456f8a74212a410a302a901b41d830c2659e48737e6ae21d7cf0b6aff57', '{"id":"c1","author":"user","timestamp":1,"content":{"parts":[{"text":"1"}]}}', NULL),
	('shop', 'ada', 'compacted', 1399502091320758132, 2, 'c2', 2000000, 1795985809051674, 'user', '', NULL, 5, 4, NULL, '\xf680371d2b6e2f9d8a0fdeafe556555b5df34cb1fd66a522ff0a8abaee264b2d', '{"id":"c2","author":"user","timestamp":2,"content":{"parts":[{"text":"2"}]}}', NULL),
	('shop', 'ada', 'compacted', 1399502091320758132, 3, 'c3', 3000000, 1795985809052393, 'user', '', NULL, 5, 4, NULL, '\xe49233c089b6757e03e35240335e71790f5c5efe2bb2f209d847fcc8719f6d55', '{"id":"c3","author":"user","timestamp":3,"content":{"parts":[{"text":"3"}]}}', NULL),
	('shop', 'ada', 'compacted', 1399502091320758132, 4, 'c4', 4000000, 1795985809053050, 'user', '', NULL, 5, 4, NULL, '\xbe10d376ffb0e7aeeb33fbe5f68c72675b04dc9a8e0541bbe6cd7690ca245dd4', '{"id":"c4","author":"user","timestamp":4,"content":{"parts":[{"text":"4"}]}}', NULL),
	('shop', 'ada', 'compacted', 1399502091320758132, 5, 'sum', 5000000, 1795985809054312, 'agent', '', NULL, 5, 4, -1, '\x2585b1d6369dd3b1f387f46b7886eacf90a8acf9098174bc4bb3bac18b6ad881', '{"id":"sum","author":"agent","timestamp":5,"actions":{"compaction":{"startTimestamp":1,"endTimestamp":3,"compactedContent":{"role":"model","parts":[{"text":"1 to 3"}]}}}}', NULL),
	('shop', 'ada', 'compacted', 1399502091320758132, 6, 'last', 6000000, 1795985809061377, 'user', '', NULL, 5, 4, NULL, '\x6e30ab5a008548dd04251542838f5591806078ad17b61289a8edf5f1f50cb1a6', '{"id":"last","author":"user","timestamp":6}', NULL),
	('shop', 'ada', 'trimmed', 8849394368344372370, 4, 't4', 1795985809067810, 1795985809067967, 'a', '', NULL, 5, 4, NULL, '\x647278d9f4a40649cf88d24f234524afa68425efc8862d9dbb6e190b074b277a', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1795985809.067810}', NULL),
	('shop', 'ada', 'trimmed', 8849394368344372370, 5, 't5', 1795985809068506, 1795985809068664, 'a', '', NULL, 5, 4, NULL, '\x8b8c18622a99b65602d693776167ab69499e522b6f9deb569a835f5089ce23b7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1795985809.068506}', NULL),
	('shop', 'ada', 'trimmed', 8849394368344372370, 1, 't1', 1795985809065407, 1795985809065587, '', '', NULL, 5, 4, NULL, '\xff2d88c66f77e0238b99e82d83e7db0c21edda552cc80296614c3df02b01ba8c', '', NULL),
	('shop', 'ada', 'trimmed', 8849394368344372370, 2, 't2', 1795985809066285, 1795985809066446, '', '', NULL, 5, 4, NULL, '\x6a790d825986340576ac3f9489fe714caaf96f13f8e290114cc4412b2bda686b', '', NULL),
	('shop', 'ada', 'trimmed', 8849394368344372370, 3, 't3', 1795985809067004, 1795985809067159, '', '', NULL, 5, 4, NULL, '\x328d69fb0e1172dcb5ac25efe82cb7e226756e7723e10af118220af799dd1756', '', NULL),
	('shop', 'ada', 'moved', 4376385640692425666, 1, 't1', 1795985809083794, 1795985809084097, '', '', NULL, 5, 4, NULL, '\xff2d88c66f77e0238b99e82d83e7db0c21edda552cc80296614c3df02b01ba8c', '', NULL),
	('shop', 'ada', 'moved', 4376385640692425666, 2, 't2', 1795985809085355, 1795985809085591, '', '', NULL, 5, 4, NULL, '\x6a790d825986340576ac3f9489fe714caaf96f13f8e290114cc4412b2bda686b', '', NULL),
	('shop', 'ada', 'moved', 4376385640692425666, 3, 't3', 1795985809086433, 1795985809086640, '', '', NULL, 5, 4, NULL, '\x328d69fb0e1172dcb5ac25efe82cb7e226756e7723e10af118220af799dd1756', '', NULL),
	('shop', 'ada', 'moved', 4376385640692425666, 4, 't4', 1795985809087290, 1795985809087464, 'a', '', NULL, 5, 4, NULL, '\x647278d9f4a40649cf88d24f234524afa68425efc8862d9dbb6e190b074b277a', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1795985809.087290}', NULL),
	('shop', 'ada', 'moved', 4376385640692425666, 5, 't5', 1795985809088132, 1795985809088306, 'a', '', NULL, 5, 4, NULL, '\x8b8c18622a99b65602d693776167ab69499e522b6f9deb569a835f5089ce23b7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1795985809.088132}', NULL),
	('shop', 'ada', 'redacted', 6242643301019256961, 1, 'kept', 1795985809093688, 1795985809094083, 'user', '', NULL, 6, 4, NULL, '\x0000000000000000000000000000000000000000000000000000000000000000', '{"id":"kept","timestamp":1795985809.093688,"author":"user","actions":{"stateDelta":{"kept":"hunter2","user:kept":"hunter2"}},"redacted":{"time":1795985809.095644,"reason":"a password"}}', 1),
	('shop', 'ada', 'redacted', 6242643301019256961, 3, '01a22918-9ed1-74ee-8b01-e224c7c28d54', 1795985809105627, 1795985809108350, 'user', '', NULL, 8, 4, NULL, '\x8c372d64e780678db298d472c65643bbac5ab92e04588c224c9ea5e5e0c7ede4', '{"id":"01a22918-9ed1-74ee-8b01-e224c7c28d54","author":"user","invocationId":"","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"timestamp":1795985809.105627}', -2),
	('shop', 'ada', 'redacted', 6242643301019256961, 2, 'removed', 1795985809103997, 1795985809104574, 'user', '', NULL, 7, 4, NULL, '\x0000000000000000000000000000000000000000000000000000000000000000', '{"id":"removed","timestamp":1795985809.103997,"author":"user","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"redacted":{"time":1795985809.105699,"reason":"a password"}}', 2),
	('copy', 'ada', 'order-1', 6468117617492043483, 1, 'e1', 1500000, 1795985808777299, 'user', 'i1', NULL, 3, 3, NULL, '\x435b38a6c0dfaa42f2382dbe95df21d1291117c4ca583dd775647f0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL),
	('copy', 'ada', 'order-1', 6468117617492043483, 2, 'e2', 1795985808797618, 1795985808801134, 'agent', 'i1', 'a.b', 3, 4, NULL, '\x08ec320bc833f1099984eecceb18bf53738a8fc7b156c83f0de7654ff7bec27c', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795985808.797618}', NULL),
	('copy', 'ada', 'order-1', 6468117617492043483, 3, 'e3', 1795985808797618, 1795985808801134, 'agent', 'i2', NULL, 3, 4, NULL, '\xd3de25700664b6208ddd18cb3bb6d49390d95970d4d73a683b895ed105536cb7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795985808.797618}', NULL),
	('copy', 'ada', 'order-1', 6468117617492043483, 4, 'rewind-1', 1795985808810130, 1795985808833713, 'user', 'rewind-01a22918-9daa-73d7-8fcf-b8bd8210f77c', NULL, 3, 4, 2, '\x56cfe208edfd495de6aa9bab2c6449e8360e422235be1a32d9ebb9f49abf026f', '{"author":"user","invocationId":"rewind-01a22918-9daa-73d7-8fcf-b8bd8210f77c","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1795985808.810130}', NULL),
	('copy', 'ada', 'order-1', 6468117617492043483, 5, 'put-1', 1795985808858824, 1795985808860875, 'user', '', NULL, 3, 4, NULL, '\x092f58824834ccfbee5844fcf7c78c5bf2b2628cdd2601e3fdbe2ad78b3a4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1795985808.858824}', NULL),
	('copy', 'ada', 'order-1', 6468117617492043483, 6, 'patch-1', 1795985808881446, 1795985808884094, 'agent', '', NULL, 4, 4, NULL, '\x6eba5e92b5a282ebc5d1c847bfc06332abc5a8be554aa8accf3d24c8e88e37d5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1795985808.881446}', NULL),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 1, 'e/ä', 1795985809188498, 1795985809188838, 'agent', '', NULL, 0, 0, NULL, '\xe78cfb5291353133438166f3e9e1f7da2539e819856de2d160dea064905b1f7c', '{"id":"e/ä","author":"agent","actions":{"stateDelta":{ "k0ä": 0 , "k1ä": -0 , "k2ä": 1 , "k3ä": 1.0 , "k4ä": 1E2 , "k5ä": 1e+2 , "k6ä": -0.0 , "k7ä": 0e0 , "k8ä": 1e-400 , "k9ä": 0.1000000000000000055511151231257827 , "k10ä": 1180591620717411303424 , "k11ä": -170141183460469231731687303715884105729 , "k12ä": 1.7976931348623157e308 , "k13ä": 9007199254740993 , "k14ä": "\u0000" , "k15ä": "a\u0000b\u001f\u007f" , "k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "k17ä": "\/ / \" \\ \b\f\n\r\t" , "k18ä": " ﻿�􏿿" , "k19ä": "" , "k20ä": {"b":1,"a":2,"":3,"B":4} , "k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "k22ä": [ ] , "k23ä": {"$serde_json::private::RawValue": "[1]"} , "k24ä": {"$serde_json::private::Number": "1"} , "k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "k26ä": {"__proto__":1,"constructor":{"x":null}} , "k27ä": true , "k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795985809.188498}', NULL),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 2, 'user:e/ä', 1795985809190092, 1795985809190788, 'agent', '', NULL, 1, 0, NULL, '\xaaeb3f9fd8c682c65552b5f40d0c01c5e8880c8b8cc9650f2751abeaffb0268b', '{"id":"user:e/ä","author":"agent","actions":{"stateDelta":{ "user:k0ä": 0 , "user:k1ä": -0 , "user:k2ä": 1 , "user:k3ä": 1.0 , "user:k4ä": 1E2 , "user:k5ä": 1e+2 , "user:k6ä": -0.0 , "user:k7ä": 0e0 , "user:k8ä": 1e-400 , "user:k9ä": 0.1000000000000000055511151231257827 , "user:k10ä": 1180591620717411303424 , "user:k11ä": -170141183460469231731687303715884105729 , "user:k12ä": 1.7976931348623157e308 , "user:k13ä": 9007199254740993 , "user:k14ä": "\u0000" , "user:k15ä": "a\u0000b\u001f\u007f" , "user:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "user:k17ä": "\/ / \" \\ \b\f\n\r\t" , "user:k18ä": " ﻿�􏿿" , "user:k19ä": "" , "user:k20ä": {"b":1,"a":2,"":3,"B":4} , "user:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "user:k22ä": [ ] , "user:k23ä": {"$serde_json::private::RawValue": "[1]"} , "user:k24ä": {"$serde_json::private::Number": "1"} , "user:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "user:k26ä": {"__proto__":1,"constructor":{"x":null}} , "user:k27ä": true , "user:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795985809.190092}', NULL),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 3, 'app:e/ä', 1795985809192149, 1795985809192616, 'agent', '', NULL, 1, 1, NULL, '\x7c243795615b1d07ed39e8c4affb45b944de62be3e14b9683ecfefe79fb05006', '{"id":"app:e/ä","author":"agent","actions":{"stateDelta":{ "app:k0ä": 0 , "app:k1ä": -0 , "app:k2ä": 1 , "app:k3ä": 1.0 , "app:k4ä": 1E2 , "app:k5ä": 1e+2 , "app:k6ä": -0.0 , "app:k7ä": 0e0 , "app:k8ä": 1e-400 , "app:k9ä": 0.1000000000000000055511151231257827 , "app:k10ä": 1180591620717411303424 , "app:k11ä": -170141183460469231731687303715884105729 , "app:k12ä": 1.7976931348623157e308 , "app:k13ä": 9007199254740993 , "app:k14ä": "\u0000" , "app:k15ä": "a\u0000b\u001f\u007f" , "app:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "app:k17ä": "\/ / \" \\ \b\f\n\r\t" , "app:k18ä": " ﻿�􏿿" , "app:k19ä": "" , "app:k20ä": {"b":1,"a":2,"":3,"B":4} , "app:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "app:k22ä": [ ] , "app:k23ä": {"$serde_json::private::RawValue": "[1]"} , "app:k24ä": {"$serde_json::private::Number": "1"} , "app:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "app:k26ä": {"__proto__":1,"constructor":{"x":null}} , "app:k27ä": true , "app:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795985809.192149}', NULL);
INSERT INTO public.policies VALUES
	('shop', 1, '{"sessions":{"maxAge":"36500d"},"artifacts":{"keepVersions":50},"limits":{"sessionsPerUser":1000,"eventsPerSession":1000}}', 1000, 1000, NULL, 0),
	('none', 2, NULL, NULL, NULL, NULL, 0);
INSERT INTO public.session_spans VALUES
	('shop', 'ada', 'order-1', 4033018466052602671, 1, 'n', 0, 1, '1.10'),
	('shop', 'ada', 'order-1', 4033018466052602671, 2, 'n', 1, 3, '1E2'),
	('shop', 'ada', 'order-1', 4033018466052602671, 2, 'topic', 0, 3, '"return"'),
	('shop', 'ada', 'order-1', 4033018466052602671, 4, 'n', 3, 4, 'null'),
	('shop', 'ada', 'order-1-again', 531210063399213392, 1, 'n', 0, 1, '1.10'),
	('shop', 'ada', 'order-1-again', 531210063399213392, 2, 'n', 1, 3, '1E2'),
	('shop', 'ada', 'order-1-again', 531210063399213392, 2, 'topic', 0, 3, '"return"'),
	('shop', 'ada', 'trimmed', 8849394368344372370, 4, 'k', 3, 4, '3'),
	('shop', 'ada', 'trimmed', 8849394368344372370, 5, 'k', 4, 5, '4'),
	('shop', 'ada', 'moved', 4376385640692425666, 4, 'k', 3, 4, '3'),
	('shop', 'ada', 'moved', 4376385640692425666, 5, 'k', 4, 5, '4'),
	('copy', 'ada', 'order-1', 6468117617492043483, 1, 'n', 0, 1, '1.10'),
	('copy', 'ada', 'order-1', 6468117617492043483, 2, 'topic', 0, 3, '"return"'),
	('copy', 'ada', 'order-1', 6468117617492043483, 2, 'n', 1, 3, '1E2'),
	('copy', 'ada', 'order-1', 6468117617492043483, 4, 'n', 3, 4, 'null');
INSERT INTO public.session_state VALUES
	('shop', 'ada', 'order-1', 4033018466052602671, 'big', '1180591620717411303424', 1),
	('shop', 'ada', 'order-1', 4033018466052602671, 'neg', '-0', 1),
	('shop', 'ada', 'order-1', 4033018466052602671, 'item', '{"b" : 1,"a":[ ]}', 2),
	('shop', 'ada', 'order-1', 4033018466052602671, 'list', '[-0.0]', 2),
	('shop', 'ada', 'order-1', 4033018466052602671, 'n', '1E2', 4),
	('shop', 'ada', 'order-1', 4033018466052602671, 'topic', '"return"', 4),
	('shop', 'ada', 'order-1', 4033018466052602671, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5),
	('shop', 'ada', 'order-1', 4033018466052602671, 'step', '"refund"', 6),
	('shop', 'ada', 'order-1-again', 531210063399213392, 'big', '1180591620717411303424', 1),
	('shop', 'ada', 'order-1-again', 531210063399213392, 'item', '{"b" : 1,"a":[ ]}', 2),
	('shop', 'ada', 'order-1-again', 531210063399213392, 'list', '[-0.0]', 2),
	('shop', 'ada', 'order-1-again', 531210063399213392, 'neg', '-0', 1),
	('shop', 'ada', 'order-1-again', 531210063399213392, 'n', 'null', 3),
	('shop', 'ada', 'files-2', 7247402787285304880, 'k', '1', 0),
	('shop', 'ada', 'trimmed', 8849394368344372370, 'k1', '1', 1),
	('shop', 'ada', 'trimmed', 8849394368344372370, 'k2', '2', 2),
	('shop', 'ada', 'trimmed', 8849394368344372370, 'k3', '3', 3),
	('shop', 'ada', 'trimmed', 8849394368344372370, 'k4', '4', 4),
	('shop', 'ada', 'trimmed', 8849394368344372370, 'k', '5', 5),
	('shop', 'ada', 'trimmed', 8849394368344372370, 'k5', '5', 5),
	('shop', 'ada', 'redacted', 6242643301019256961, 'kept', '"hunter2"', 1),
	('shop', 'bob', 'by-adk', 5340068805086539712, 'topic', '"warranty"', 0),
	('shop', 'ada', 'moved', 4376385640692425666, 'k', '5', 5),
	('shop', 'ada', 'moved', 4376385640692425666, 'k1', '1', 3),
	('shop', 'ada', 'moved', 4376385640692425666, 'k2', '2', 3),
	('shop', 'ada', 'moved', 4376385640692425666, 'k3', '3', 3),
	('shop', 'ada', 'moved', 4376385640692425666, 'k4', '4', 4),
	('shop', 'ada', 'moved', 4376385640692425666, 'k5', '5', 5),
	('copy', 'ada', 'order-1', 6468117617492043483, 'big', '1180591620717411303424', 1),
	('copy', 'ada', 'order-1', 6468117617492043483, 'item', '{"b" : 1,"a":[ ]}', 2),
	('copy', 'ada', 'order-1', 6468117617492043483, 'list', '[-0.0]', 2),
	('copy', 'ada', 'order-1', 6468117617492043483, 'n', '1E2', 4),
	('copy', 'ada', 'order-1', 6468117617492043483, 'neg', '-0', 1),
	('copy', 'ada', 'order-1', 6468117617492043483, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5),
	('copy', 'ada', 'order-1', 6468117617492043483, 'step', '"refund"', 6),
	('copy', 'ada', 'order-1', 6468117617492043483, 'topic', '"return"', 4),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k0ä', '0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k10ä', '1180591620717411303424', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k11ä', '-170141183460469231731687303715884105729', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k12ä', '1.7976931348623157e308', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k13ä', '9007199254740993', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k14ä', '"\u0000"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k15ä', '"a\u0000b\u001f\u007f"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k18ä', '" ﻿�􏿿"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k19ä', '""', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k1ä', '-0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k22ä', '[ ]', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k24ä', '{"$serde_json::private::Number": "1"}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k27ä', 'true', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k28ä', 'null', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k2ä', '1', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k3ä', '1.0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k4ä', '1E2', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k5ä', '1e+2', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k6ä', '-0.0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k7ä', '0e0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k8ä', '1e-400', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 'k9ä', '0.1000000000000000055511151231257827', 1);
INSERT INTO public.session_updates VALUES
	('shop', 'ada', 'files', 179598580),
	('shop', 'ada', 'order-1', 179598580),
	('shop', 'ada', 'order-1-again', 179598580),
	('shop', 'ada', 'files-2', 179598580),
	('shop', 'ada', 'compacted', 0),
	('shop', 'ada', 'trimmed', 179598580),
	('shop', 'ada', 'redacted', 179598580),
	('shop', 'bob', 'by-adk', 179598580),
	('shop', 'ada', 'moved', 179598580),
	('copy', 'ada', 'order-1', 179598580),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 179598580);
INSERT INTO public.sessiond_migrations VALUES
	(1, 'sessions', '2026-11-29 20:56:48.227872+00', true, '\xcfa79e088c94d912f66ae39109ffc706032d8ac410fb9ac7b412e406260addcccea0b3d76bddf5b7f67a127f610d4bd0', -1);
INSERT INTO public.sessions VALUES
	('shop', 'ada', 'compacted', 1399502091320758132, 6, 0, 1795985809040998, 1795985809061377, 6000000, '6', 20786, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'moved', 4376385640692425666, 5, 0, 1795985809073867, 1795985809088306, 1795985809088132, '1795985809.088132', 20786, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, '49124c7a0aca4aec', '\xa63d08152f7d29fee147013285c95357419837db5ac9bacb28df20ec0687d6f8', 5, 3, 5, 3, 5, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('copy', 'ada', 'order-1', 6468117617492043483, 6, 0, 1795985808771928, 1795985808884094, 1795985808881446, '1795985808.881446', 20786, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, NULL, NULL, '37f828ed51a7fb2f', '\x00fc2aa7a7568aca549787f2ad16607645335eac4827bbd6d6c902141d2e6b6b', 6, 0, 6, 0, 6, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'files', 7222078654827098191, 2, 0, 1795985808760917, 1795985808946265, 1795985808944801, '1795985808.944801', 20786, NULL, NULL, NULL, 0, '{}', 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'order-1', 4033018466052602671, 6, 0, 1795985808771928, 1795985808884094, 1795985808881446, '1795985808.881446', 20786, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, 'create-1', '\x986e8347a1ca037f059646a89b18a481cb8a30c7777918ac2e45f9df0e63f133', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'pod-7/4f1c', 'i9', 1795985868950760, 60000000, false),
	('shop', 'ada', 'trimmed', 8849394368344372370, 5, 1, 1795985809063824, 1795985809068664, 1795985809068506, '1795985809.068506', 20786, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'order-1-again', 531210063399213392, 4, 1, 1795985808900636, 1795985808969201, 1795985808968370, '1795985808.968370', 20786, '"forked"', '{"a":"b"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, 'order-1', 3, 'fork-1', '\x5852d7b187ab49a4bd7e012f6f3d1b907f2e43d839bf5fee347d0b6e3cd017e4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 2991639318268556935, 3, 0, 1795985809187340, 1795985809192616, 1795985809192149, '1795985809.192149', 20786, NULL, NULL, NULL, 0, '{}', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'files-2', 7247402787285304880, 4, 0, 1795985808978438, 1795985809021552, 1795985809020562, '1795985809.020562', 20786, NULL, NULL, NULL, 0, '{"k":1}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'redacted', 6242643301019256961, 3, 2, 1795985809092293, 1795985809108350, 1795985809105627, '1795985809.105627', 20786, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'bob', 'by-adk', 5340068805086539712, 0, 0, 1795985809130279, 1795985809130279, 1795985809130279, '1795985809.130279', 20786, NULL, NULL, NULL, 0, '{"topic":"warranty"}', 1, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false);
INSERT INTO public.ticks VALUES
	(1, 1, '3:3:', '3:3:', 1795985808337220),
	(2, 1, '3:3:', '828:828:', 1795985809464207);
INSERT INTO public.token_epochs VALUES
	('shop', '\xba45cd7f49f9656a2448be054853dee2810b4807a15dd2447449616e7d758c94', 1, 0),
	('shop', '\x3be8fe0e42a02ae93c353dc12aca271ba65ae8f88db457bc54c3159470393ba0', 1, 1),
	('shop', '\xbcf39ddafd1f204ebd1aae857a8b7f555aed223abdcef55c11e77cbf4a58e3b3', 1, 2);
INSERT INTO public.token_secrets VALUES
	('current', '\x67617cb7a7eed6f9430fd1b1612798303883b4fc7f55b48c41c4e1e50fb751c2');
INSERT INTO public.user_log VALUES
	('shop', 'zoe', 'alone', 1, 'true', 1795985808724157, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'language', 1, '"en"', 1795985808749837, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'name', 2, '"Ada"', 1795985808773312, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'n', 3, '-0.0', 1795985808777299, 4033018466052602671, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'returns', 4, '1', 1795985808884094, 4033018466052602671, 6, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'n', 5, '7', 1795985808969201, 531210063399213392, 4, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'kept', 6, '"hunter2"', 1795985809094083, 6242643301019256961, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'removed', 8, NULL, 1795985809108350, 6242643301019256961, 3, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'removed', 7, NULL, 1795985809104574, 6242643301019256961, 2, NULL, NULL, NULL, NULL, NULL),
	('shop', 'bob', 'name', 1, '"Bob"', 1795985809131895, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k0ä', 1, '0', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k10ä', 1, '1180591620717411303424', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k11ä', 1, '-170141183460469231731687303715884105729', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k12ä', 1, '1.7976931348623157e308', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k13ä', 1, '9007199254740993', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k14ä', 1, '"\u0000"', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k18ä', 1, '" ﻿�􏿿"', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k19ä', 1, '""', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k1ä', 1, '-0', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k22ä', 1, '[ ]', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k27ä', 1, 'true', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k28ä', 1, 'null', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k2ä', 1, '1', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k3ä', 1, '1.0', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k4ä', 1, '1E2', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k5ä', 1, '1e+2', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k6ä', 1, '-0.0', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k7ä', 1, '0e0', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k8ä', 1, '1e-400', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k9ä', 1, '0.1000000000000000055511151231257827', 1795985809190788, 2991639318268556935, 2, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.user_scopes VALUES
	('shop', 'zoe', 1, 0, 0, 0, 0, 0),
	('shop', 'ada', 8, 0, 0, 0, 0, 1),
	('shop', 'bob', 1, 0, 0, 0, 0, 0),
	('läger/1 ü', 'ß ø@例え', 1, 0, 0, 0, 0, 0);
INSERT INTO public.user_spans VALUES
	('shop', 'ada', 4, 'n', 3, 5);
INSERT INTO public.user_state VALUES
	('shop', 'zoe', 'alone', 'true', 1),
	('shop', 'ada', 'language', '"en"', 1),
	('shop', 'ada', 'name', '"Ada"', 2),
	('shop', 'ada', 'returns', '1', 4),
	('shop', 'ada', 'n', '7', 5),
	('shop', 'ada', 'kept', '"hunter2"', 6),
	('shop', 'bob', 'name', '"Bob"', 1),
	('läger/1 ü', 'ß ø@例え', 'k0ä', '0', 1),
	('läger/1 ü', 'ß ø@例え', 'k10ä', '1180591620717411303424', 1),
	('läger/1 ü', 'ß ø@例え', 'k11ä', '-170141183460469231731687303715884105729', 1),
	('läger/1 ü', 'ß ø@例え', 'k12ä', '1.7976931348623157e308', 1),
	('läger/1 ü', 'ß ø@例え', 'k13ä', '9007199254740993', 1),
	('läger/1 ü', 'ß ø@例え', 'k14ä', '"\u0000"', 1),
	('läger/1 ü', 'ß ø@例え', 'k15ä', '"a\u0000b\u001f\u007f"', 1),
	('läger/1 ü', 'ß ø@例え', 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1),
	('läger/1 ü', 'ß ø@例え', 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1),
	('läger/1 ü', 'ß ø@例え', 'k18ä', '" ﻿�􏿿"', 1),
	('läger/1 ü', 'ß ø@例え', 'k19ä', '""', 1),
	('läger/1 ü', 'ß ø@例え', 'k1ä', '-0', 1),
	('läger/1 ü', 'ß ø@例え', 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1),
	('läger/1 ü', 'ß ø@例え', 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1),
	('läger/1 ü', 'ß ø@例え', 'k22ä', '[ ]', 1),
	('läger/1 ü', 'ß ø@例え', 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1),
	('läger/1 ü', 'ß ø@例え', 'k24ä', '{"$serde_json::private::Number": "1"}', 1),
	('läger/1 ü', 'ß ø@例え', 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1),
	('läger/1 ü', 'ß ø@例え', 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1),
	('läger/1 ü', 'ß ø@例え', 'k27ä', 'true', 1),
	('läger/1 ü', 'ß ø@例え', 'k28ä', 'null', 1),
	('läger/1 ü', 'ß ø@例え', 'k2ä', '1', 1),
	('läger/1 ü', 'ß ø@例え', 'k3ä', '1.0', 1),
	('läger/1 ü', 'ß ø@例え', 'k4ä', '1E2', 1),
	('läger/1 ü', 'ß ø@例え', 'k5ä', '1e+2', 1),
	('läger/1 ü', 'ß ø@例え', 'k6ä', '-0.0', 1),
	('läger/1 ü', 'ß ø@例え', 'k7ä', '0e0', 1),
	('läger/1 ü', 'ß ø@例え', 'k8ä', '1e-400', 1),
	('läger/1 ü', 'ß ø@例え', 'k9ä', '0.1000000000000000055511151231257827', 1);
SELECT pg_catalog.setval('public.changes_id_seq', 94, true);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.app_log
    ADD CONSTRAINT app_log_pkey PRIMARY KEY (app_name, key, revision);
ALTER TABLE ONLY public.app_patches
    ADD CONSTRAINT app_patches_pkey PRIMARY KEY (app_name, request_key);
ALTER TABLE ONLY public.app_scopes
    ADD CONSTRAINT app_scopes_pkey PRIMARY KEY (app_name);
ALTER TABLE ONLY public.app_spans
    ADD CONSTRAINT app_spans_pkey PRIMARY KEY (app_name, node, key);
ALTER TABLE ONLY public.app_state
    ADD CONSTRAINT app_state_pkey PRIMARY KEY (app_name, key);
ALTER TABLE ONLY public.artifact_names
    ADD CONSTRAINT artifact_names_pkey PRIMARY KEY (app_name, user_id, session_id, incarnation, name);
ALTER TABLE ONLY public.artifact_places
    ADD CONSTRAINT artifact_places_pkey PRIMARY KEY (app_name, user_id, session_id);
ALTER TABLE ONLY public.artifact_spans
    ADD CONSTRAINT artifact_spans_pkey PRIMARY KEY (incarnation, node, name, user_id, app_name);
ALTER TABLE ONLY public.artifact_state
    ADD CONSTRAINT artifact_state_pkey PRIMARY KEY (incarnation, name, session_id, user_id, app_name);
ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_pkey PRIMARY KEY (app_name, user_id, session_id, incarnation, name, version);
ALTER TABLE ONLY public.blob_chunks
    ADD CONSTRAINT blob_chunks_pkey PRIMARY KEY (app_name, user_id, blob, n);
ALTER TABLE ONLY public.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (app_name, user_id, id);
ALTER TABLE ONLY public.blocked_users
    ADD CONSTRAINT blocked_users_pkey PRIMARY KEY (subject, app_name);
ALTER TABLE ONLY public.buried_sessions
    ADD CONSTRAINT buried_sessions_pkey PRIMARY KEY (app_name, user_id, session_id, incarnation);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (tx, id);
ALTER TABLE ONLY public.effective_ids
    ADD CONSTRAINT effective_ids_pkey PRIMARY KEY (incarnation, sequence, id, user_id, app_name);
ALTER TABLE ONLY public.effective_views
    ADD CONSTRAINT effective_views_pkey PRIMARY KEY (incarnation, sequence, user_id, app_name);
ALTER TABLE ONLY public.erased_revisions
    ADD CONSTRAINT erased_revisions_pkey PRIMARY KEY (app_name);
ALTER TABLE ONLY public.erasure_counts
    ADD CONSTRAINT erasure_counts_pkey PRIMARY KEY (app_name);
ALTER TABLE ONLY public.erasure_secrets
    ADD CONSTRAINT erasure_secrets_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.erasures
    ADD CONSTRAINT erasures_pkey PRIMARY KEY (id, app_name);
ALTER TABLE ONLY public.event_words
    ADD CONSTRAINT event_words_pkey PRIMARY KEY (incarnation, sequence, user_id, app_name);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_id_key UNIQUE (id, incarnation, user_id, app_name);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (incarnation, sequence, user_id, app_name);
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (app_name, user_id, session_id, incarnation);
ALTER TABLE ONLY public.policies
    ADD CONSTRAINT policies_pkey PRIMARY KEY (app_name);
ALTER TABLE ONLY public.removed_forks
    ADD CONSTRAINT removed_forks_pkey PRIMARY KEY (id, forked_from, user_id, app_name);
ALTER TABLE ONLY public.scrubs
    ADD CONSTRAINT scrubs_pkey PRIMARY KEY (app_name);
ALTER TABLE ONLY public.session_spans
    ADD CONSTRAINT session_spans_pkey PRIMARY KEY (incarnation, node, key, user_id, app_name);
ALTER TABLE ONLY public.session_state
    ADD CONSTRAINT session_state_pkey PRIMARY KEY (incarnation, key, session_id, user_id, app_name);
ALTER TABLE ONLY public.session_updates
    ADD CONSTRAINT session_updates_pkey PRIMARY KEY (app_name, user_id, bucket, id);
ALTER TABLE ONLY public.sessiond_migrations
    ADD CONSTRAINT sessiond_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id, user_id, app_name);
ALTER TABLE ONLY public.ticks
    ADD CONSTRAINT ticks_pkey PRIMARY KEY (tick);
ALTER TABLE ONLY public.token_epochs
    ADD CONSTRAINT token_epochs_pkey PRIMARY KEY (subject, app_name);
ALTER TABLE ONLY public.token_secrets
    ADD CONSTRAINT token_secrets_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.trims
    ADD CONSTRAINT trims_pkey PRIMARY KEY (app_name, user_id, session_id, incarnation);
ALTER TABLE ONLY public.user_log
    ADD CONSTRAINT user_log_pkey PRIMARY KEY (app_name, user_id, key, revision);
ALTER TABLE ONLY public.user_patches
    ADD CONSTRAINT user_patches_pkey PRIMARY KEY (app_name, user_id, request_key);
ALTER TABLE ONLY public.user_scopes
    ADD CONSTRAINT user_scopes_pkey PRIMARY KEY (app_name, user_id);
ALTER TABLE ONLY public.user_spans
    ADD CONSTRAINT user_spans_pkey PRIMARY KEY (app_name, user_id, node, key);
ALTER TABLE ONLY public.user_state
    ADD CONSTRAINT user_state_pkey PRIMARY KEY (app_name, user_id, key);
CREATE INDEX app_log_by_revision ON public.app_log USING btree (app_name, revision, key);
CREATE INDEX app_log_by_user ON public.app_log USING btree (app_name, by_user) WHERE (by_user IS NOT NULL);
CREATE INDEX app_patches_by_time ON public.app_patches USING btree ("time");
CREATE INDEX artifact_places_of_users ON public.artifact_places USING btree (app_name, user_id) WHERE (session_id = ''::text);
CREATE UNIQUE INDEX artifacts_request_key ON public.artifacts USING btree (app_name, user_id, session_id, incarnation, name, request_key) WHERE (request_key IS NOT NULL);
CREATE INDEX blobs_by_erasure ON public.blobs USING btree (erasure) WHERE (erasure IS NOT NULL);
CREATE INDEX blobs_by_object ON public.blobs USING btree (object) WHERE (object IS NOT NULL);
CREATE INDEX blobs_loose ON public.blobs USING btree (loose_since) WHERE (loose_since IS NOT NULL);
CREATE INDEX buried_by_erasure ON public.buried_sessions USING btree (erasure) WHERE (erasure IS NOT NULL);
CREATE INDEX changes_by_user ON public.changes USING btree (hashtextextended(user_id, hashtextextended(app_name, (0)::bigint)), tx) WHERE (user_id IS NOT NULL);
CREATE INDEX effective_ids_by_id ON public.effective_ids USING btree (id, incarnation, user_id, app_name);
CREATE UNIQUE INDEX erasures_request ON public.erasures USING btree (request, app_name) WHERE (request IS NOT NULL);
CREATE INDEX erasures_running ON public.erasures USING btree (subject, app_name, request_time, id) WHERE (done_time IS NULL);
CREATE INDEX event_words_by_word ON public.event_words USING gin (words);
CREATE INDEX events_compactions ON public.events USING btree (incarnation, sequence, user_id, app_name) WHERE (effect = '-1'::integer);
CREATE INDEX events_redactions ON public.events USING btree (incarnation, redaction) WHERE (redaction IS NOT NULL);
CREATE INDEX events_rewinds ON public.events USING btree (incarnation, sequence, user_id, app_name) WHERE (effect >= 0);
CREATE INDEX removed_forks_by_source ON public.removed_forks USING btree (app_name, user_id, forked_from);
CREATE INDEX session_spans_by_key ON public.session_spans USING btree (key, incarnation, valid_to);
CREATE INDEX session_updates_by_app ON public.session_updates USING btree (app_name, bucket, user_id, id);
CREATE INDEX sessions_by_app_create ON public.sessions USING btree (app_name, create_time, user_id, id);
CREATE INDEX sessions_by_expiry ON public.sessions USING btree (expire_time) WHERE (expire_time IS NOT NULL);
CREATE INDEX sessions_by_source ON public.sessions USING btree (app_name, user_id, forked_from) WHERE (forked_from IS NOT NULL);
CREATE INDEX sessions_by_user_create ON public.sessions USING btree (app_name, user_id, create_time, id);
CREATE UNIQUE INDEX sessions_creation_key ON public.sessions USING btree (creation_key, user_id, app_name) WHERE (creation_key IS NOT NULL);
CREATE INDEX user_log_by_revision ON public.user_log USING btree (app_name, user_id, revision, key);
CREATE INDEX user_patches_by_time ON public.user_patches USING btree ("time");
