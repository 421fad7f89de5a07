//! `examples/quickstart.sh` does what it says, against the real binary. It checks every status and the final state.

use std::process::Command;

use crate::support::process::Sessiond;

#[tokio::test]
async fn the_quickstart_does_what_it_says() {
    let mut server = Sessiond::spawn(&["--listen", "127.0.0.1:0", "--metrics-listen", "off"], &[]);
    let url = server.base_url().await;
    let output = Command::new("bash")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/quickstart.sh"))
        .env("SESSIOND_URL", &url)
        // Whatever proxy the machine has, the server is beside us.
        .env("NO_PROXY", "*")
        .env("no_proxy", "*")
        .output()
        .expect("run bash");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}\nthe log of sessiond:\n{}", server.log());
    assert!(stdout.contains("Read one merged state"), "{stdout}");
}
