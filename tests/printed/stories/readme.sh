# What is built with cargo is there.
cargo() { shift 2; [ "${1:-}" != -- ] || shift; sessiond "$@"; }
dropdb --if-exists sessiond
<<< README.md: createdb sessiond && cargo run
stop
dropdb sessiond
sessiond
<<< README.md: --name shop-agent --role agent
