-- A migration of a later release, for the tests of an upgrade: columns in the tables that every request reads or writes, in the order in
-- which requests lock them. In another order it would meet a deadlock again and again while many write.
alter table sessions add column probe bigint not null default 7;
alter table user_scopes add column probe bigint not null default 7;
alter table app_scopes add column probe bigint not null default 7;
alter table events add column probe bigint;
alter table session_state add column probe text;
alter table user_state add column probe text;
alter table app_state add column probe text;
alter table changes add column probe bigint not null default 7;
alter table api_keys add column probe text;
alter table policies add column probe text;
create table probes (
    app_name text collate "C" not null,
    constraint probes_pkey primary key (app_name)
);
