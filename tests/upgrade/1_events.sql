-- Another one: a column that the functions which write events do not know yet.
alter table events add column probe bigint;
