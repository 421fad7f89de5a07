//! Tests of the service against a model: random sequences of requests to a server and to plain maps ([`reference`]),
//! which must agree after each request; the same for artifacts and what they were ([`files`]); a walk through features beside each other
//! ([`walk`]); many concurrent writers
//! ([`writers`]), checked by the resulting events; and many watchers of them ([`watchers`]), each of which must have seen
//! exactly these events.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::support::{
    client::Client,
    databases::{Fixture as _, on_both_databases, verify},
    process::Sessiond,
    server::TestServer,
};

mod compare;
mod files;
mod pasts;
mod reference;
mod run;
mod steps;
mod value;
mod walk;
mod watchers;
mod writers;

use walk::Walk;

on_both_databases! {
    async fn the_service_does_what_the_model_does(server: &TestServer) {
        let seed = seed();
        let cases = setting("TEST_CASES").unwrap_or(16);
        tokio::task::block_in_place(|| {
            explore(seed, cases, &steps::sequences(), async |case, steps| run::run(server, case, steps).await);
        });
        verify(&server.database_url()).await;
    }

    async fn artifacts_do_what_their_model_does(server: &TestServer) with ["--sweep-interval=1s"] {
        let seed = seed();
        let cases = setting("TEST_CASES").unwrap_or(8);
        tokio::task::block_in_place(|| {
            explore(seed, cases, &files::sequences(), async |case, steps| files::run(server, case, steps).await);
        });
        verify_with_artifacts(server).await;
    }

    async fn features_agree_beside_each_other(server: &TestServer) with ["--sweep-interval=1s"] {
        let seed = seed();
        let steps = setting("TEST_STEPS").map_or(120, |steps| steps as usize);
        // SQLite has one process.
        let other = match server.database_url().starts_with("postgres") {
            true => Some(server.replica_with(&["--sweep-interval=1s"]).await),
            false => None,
        };
        for case in 0..setting("TEST_CASES").unwrap_or(1) {
            let seed = seed.wrapping_add(case);
            let servers = [server, other.as_ref().unwrap_or(server)];
            if let Err(error) = Walk::run(servers, &format!("walk{case}"), seed, steps).await {
                panic!("with TEST_SEED={seed}: {error}");
            }
        }
        verify_with_artifacts(server).await;
        if let Some(other) = other {
            other.stop().await;
        }
    }
}

async fn verify_with_artifacts(server: &TestServer) {
    let output = Sessiond::run(&["verify", "--artifacts"], &[("DATABASE_URL", &*server.database_url())]).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Plays sequences one after the other until told to stop, each on apps whose names begin with `name`. Returns how many.
pub async fn play(client: &Client, name: &str, stop: &AtomicBool) -> usize {
    let seed = seed();
    let mut played = 0;
    while !stop.load(Ordering::Relaxed) {
        let steps = {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&(seed ^ played as u64).to_le_bytes());
            let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
            let mut runner = TestRunner::new_with_rng(Config::default(), rng);
            steps::sequences().new_tree(&mut runner).expect("a sequence").current()
        };
        if let Err(reason) = run::run(client, &format!("{name}{played}"), &steps).await {
            panic!("{name}{played} with TEST_SEED={seed}: {reason}\nafter these steps: {steps:#?}");
        }
        played += 1;
    }
    played
}

/// That of `TEST_SEED`, or another one in each run.
fn seed() -> u64 {
    setting("TEST_SEED").unwrap_or_else(|| Uuid::new_v4().as_u64_pair().0)
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// Runs sequences, each on apps of its own. Panics with the shortest one found that fails, and with the seed.
fn explore<S: Strategy>(seed: u64, cases: u64, sequences: &S, run: impl AsyncFn(&str, &S::Value) -> run::Checked) {
    let cases = u32::try_from(cases).expect("a number of cases");
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 500, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let count = AtomicU64::new(0);
    let outcome = runner.run(sequences, |steps| {
        let case = format!("case{}", count.fetch_add(1, Ordering::Relaxed));
        Handle::current().block_on(run(&case, &steps)).map_err(TestCaseError::fail)
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, steps)) => panic!("with TEST_SEED={seed}: {reason}\nafter these steps: {steps:#?}"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}
