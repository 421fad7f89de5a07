-- A migration of a later release, for the tests of an upgrade: a column in a table that every request locks. One such table in each
-- migration, as src/store/postgres/migrate.rs says.
alter table sessions add column probe bigint not null default 7;
create table probes (
    app_name text collate "C" not null,
    constraint probes_pkey primary key (app_name)
);
