use std::ffi::OsStr;

use clap::CommandFactory;
use clap::builder::Resettable;
use clap::error::ErrorKind;
use secrecy::ExposeSecret as _;

use super::cli::*;
use super::values::*;
use super::*;
use crate::domain::Limits;
use crate::store::limits::StoreLimits;

/// The command without the environment of the test run.
fn read(args: &[&str]) -> Result<Cli, String> {
    let command = <Cli as CommandFactory>::command().mut_args(|arg| arg.env(Resettable::Reset));
    Cli::read(command, ["sessiond"].iter().chain(args)).map_err(|error| error.to_string())
}

fn config(args: &[&str]) -> Config {
    read(args).expect("valid settings").config
}

#[test]
fn the_command_is_well_formed() {
    <Cli as CommandFactory>::command().debug_assert();
}

#[test]
fn a_subcommand_shows_its_own_options_and_takes_all_settings() {
    let help = |args: &[&str]| {
        let error = command().try_get_matches_from([&["sessiond"], args, &["--help"]].concat()).expect_err("help");
        assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{error}");
        error.to_string()
    };
    for (args, own) in [
        (&["export"][..], &["--output", "--app", "--database-url"][..]),
        (&["import"], &["--skip-existing", "--database-url"]),
        (&["keys", "create"], &["--role", "--users", "--database-url"]),
        (&["erasures", "replay"], &["--database-url"]),
        (&["receipts", "verify"], &["--key"]),
        (&["verify"], &["--database-url"]),
        (&["healthcheck"], &["--listen"]),
        (&["openapi"], &["--adk"]),
    ] {
        let text = help(args);
        assert!(own.iter().all(|option| text.contains(option)), "{args:?}: {text}");
        assert!(text.lines().count() < 80, "{args:?}: {text}");
        assert!(!text.contains("--max-body-bytes") && text.contains("sessiond --help"), "{args:?}: {text}");
    }
    for args in [&[][..], &["serve"]] {
        assert!(help(args).contains("--max-body-bytes"));
    }
    for args in [["export", "--max-connections=3"], ["--max-connections=3", "export"]] {
        assert_eq!(config(&args).max_connections, 3);
    }
}

#[test]
fn whoever_knew_the_importer_of_adk_is_sent_on() {
    for given in [&[][..], &["--from", "sqlite:///adk.db", "--dry-run", "--app=a"], &["--app", "a", "--from=x"]] {
        let Command::Import(args) = read(&[&["import", "adk"], given].concat()).unwrap().command() else {
            panic!("{given:?}")
        };
        assert!(args.other.is_some(), "{given:?}");
    }
}

#[test]
fn every_setting_has_a_variable_a_heading_and_a_help_text() {
    let command = <Cli as CommandFactory>::command();
    for arg in command.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str())) {
        let long = arg.get_long().expect("a long flag");
        let variable = format!("SESSIOND_{}", long.to_uppercase().replace('-', "_"));
        let expected = match long {
            "database-url" => "DATABASE_URL",
            // The standard name of OpenTelemetry.
            "otlp-endpoint" => "OTEL_EXPORTER_OTLP_ENDPOINT",
            _ => &variable,
        };
        assert_eq!(arg.get_env().and_then(OsStr::to_str), Some(expected));
        assert!([DATABASE, HTTP, ACCESS, LIMITS, OBSERVABILITY].contains(&arg.get_help_heading().expect(long)));
        assert!(arg.get_help().is_some(), "{long}");
        assert!(arg.is_global_set(), "{long}");
    }
}

#[test]
fn defaults_are_those_of_the_layers_below() {
    let config = config(&[]);
    assert_eq!(format!("{:?}", config.limits()), format!("{:?}", Limits::default()));
    assert_eq!(format!("{:?}", config.store_limits()), format!("{:?}", StoreLimits::default()));
    assert_eq!(config.database_url.expose_secret(), "sqlite://sessiond.db");
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.max_body_bytes, 8 << 20);
    assert_eq!(config.request_timeout, Duration::from_secs(10));
    assert_eq!(config.drain_timeout, Duration::from_secs(25));
    assert_eq!(config.shutdown_delay, Duration::ZERO);
    assert!(!config.metrics_explicit);
}

#[test]
fn hosts_and_origins_are_lists() {
    assert_eq!(config(&[]).allowed_hosts, []);
    let config = config(&["--allowed-hosts=a, B.example:80,*", "--cors-origins", "https://a,http://b:1"]);
    let hosts = ["a", "b.example:80", "*"].map(|host| host.parse().unwrap());
    assert_eq!(config.allowed_hosts, hosts);
    assert_eq!(
        config.http_settings().origins.origins,
        ["https://a", "http://b:1"].map(|origin| origin.parse().unwrap())
    );
    for bad in ["--allowed-hosts=http://a", "--allowed-hosts=a,,b", "--cors-origins=*", "--cors-origins=a"] {
        assert!(read(&[bad]).is_err(), "{bad}");
    }
}

#[test]
fn links_of_the_console_are_urls_with_placeholders_behind_the_host() {
    assert_eq!(config(&[]).console_link, []);
    let both =
        config(&["--console-link=Trace=https://t.example/{app}/{session}?i={invocation}, Log=http://l:3000/?u={user}"]);
    let links = both.http_settings().links;
    assert_eq!((&*links[0].name, &*links[0].template), ("Trace", "https://t.example/{app}/{session}?i={invocation}"));
    assert_eq!((&*links[1].name, &*links[1].template), ("Log", "http://l:3000/?u={user}"));
    for bad in [
        "Trace",
        "=https://t/",
        "Trace=javascript:alert(1)//",
        "Trace=ftp://t/",
        "Trace=https://t",
        "Trace=https:///path",
        "Trace=https://{app}.example/",
        "Trace=https://ada@t/",
        "Trace=https://t/{tenant}",
        "Trace=https://t/{app",
        "Trace=https://t/app}",
        "Trace=https://t/{app}}",
        "Trace=https://t/a b",
        "Trace=https://t/\"x",
    ] {
        let error = read(&[&format!("--console-link={bad}")]).unwrap_err();
        assert!(error.contains("--console-link"), "{bad}: {error}");
    }
}

#[test]
fn serve_is_the_default_and_flags_go_before_or_after_the_command() {
    assert_eq!(read(&[]).unwrap().command(), Command::Serve);
    assert_eq!(read(&["openapi"]).unwrap().command(), Command::Openapi { adk: false });
    assert_eq!(read(&["openapi", "--adk"]).unwrap().command(), Command::Openapi { adk: true });
    for args in [
        &["--listen=[::1]:1", "--metrics-listen=off"][..],
        &["--listen", "[::1]:1", "--metrics-listen=off", "serve"],
        &["serve", "--listen", "[::1]:1", "--metrics-listen=off"],
        &["--listen=[::1]:1", "healthcheck", "--metrics-listen=off"],
    ] {
        let config = config(args);
        assert_eq!(config.listen.to_string(), "[::1]:1", "{args:?}");
        assert_eq!(config.metrics_listen, MetricsListen::Off, "{args:?}");
        assert!(config.metrics_explicit, "{args:?}");
    }
}

#[test]
fn the_database_url_is_never_shown() {
    let url = "postgres://user:hunter2@db/name";
    let cli = read(&["--database-url", url]).unwrap();
    assert_eq!(cli.config.database_url.expose_secret(), url);
    assert!(!format!("{cli:?}").contains("hunter2"));
    let error = read(&["--database-url", "mysql://user:hunter2@db/name"]).unwrap_err();
    assert!(error.contains("--database-url") && !error.contains("hunter2"), "{error}");
}

#[test]
fn sizes_must_fit_into_each_other() {
    for (args, flags) in [
        (&["--max-value-bytes=5MiB"][..], ["--max-value-bytes", "--max-event-bytes"]),
        (&["--max-event-bytes=9MiB"], ["--max-event-bytes", "--max-body-bytes"]),
        (&["--max-buffered-bytes=7MiB"], ["--max-body-bytes", "--max-buffered-bytes"]),
        (&["--idle-timeout=10s"], ["--idle-timeout", "--request-timeout"]),
        (&["--max-body-bytes=1GiB", "--max-buffered-bytes=2GiB"], ["--max-body-bytes", "1000000000"]),
    ] {
        let error = read(args).unwrap_err();
        assert!(flags.iter().all(|flag| error.contains(flag)), "{error}");
    }
    config(&["--max-body-bytes=100", "--max-event-bytes=100", "--max-value-bytes=100", "--max-buffered-bytes=100"]);
}

#[test]
fn senseless_values_are_refused() {
    for arg in [
        "--max-body-bytes=0",
        "--max-connections=0",
        "--max-connections=-1",
        "--max-in-flight=99999999999",
        "--database-connections=0",
        "--request-timeout=0s",
        "--sweep-interval=0",
        "--rate-limit-app=0",
        "--rate-limit-key=-1",
        "--rate-limit-user=1e3",
        "--rate-limit-user=inf",
        "--listen=8080",
        "--log=info,sessiond=loud",
        "--log-format=xml",
    ] {
        let error = read(&[arg]).unwrap_err();
        assert!(error.contains(arg.split('=').next().unwrap()), "{error}");
    }
    assert_eq!(config(&["--drain-timeout=0"]).drain_timeout, Duration::ZERO);
}

#[test]
fn what_a_program_is_built_without_is_refused() {
    for (feature, is_there, args) in [
        ("buckets", cfg!(feature = "buckets"), &["--artifact-store=database,s3://bucket"][..]),
        ("jwt", cfg!(feature = "jwt"), &["--jwt-issuer=i", "--jwt-audience=a", "--jwt-jwks-file=f", "--jwt-apps=a"]),
        ("traces", cfg!(feature = "traces"), &["--otlp-endpoint=http://127.0.0.1:1"]),
    ] {
        let named = command().render_help().to_string().contains(&format!("`{feature}` ("));
        match read(args) {
            Ok(_) => assert!(is_there && !named, "{feature}"),
            Err(error) => {
                let way = format!("needs the feature `{feature}`, without which this program is built: `cargo build");
                assert!(!is_there && named && error.contains(&way), "{error}");
            }
        }
    }
    config(&["--artifact-store=file:///srv/artifacts"]);
}

#[cfg(feature = "jwt")]
#[test]
fn whatever_is_said_about_jwts_needs_their_issuer() {
    for arg in [
        "--jwt-audience=a",
        "--jwt-jwks-url=https://issuer.example/keys",
        "--jwt-jwks-file=keys.json",
        "--jwt-user-claim=sub",
        "--jwt-apps=a",
        "--jwt-apps-claim=apps",
        "--jwt-role=user",
        "--jwt-role-claim=role",
    ] {
        let error = read(&[arg]).unwrap_err();
        let flag = arg.split('=').next().unwrap();
        assert!(error.contains(&format!("{flag} says something about JWTs: --jwt-issuer is needed")), "{error}");
    }
    let complete = ["--jwt-issuer=i", "--jwt-audience=a", "--jwt-apps=a"];
    let with = |more: &[&str]| read(&[&complete, more].concat());
    for (url, why) in [
        ("", "must be a URL"),
        ("issuer.example/keys", "must be a URL"),
        ("https://", "must be a URL"),
        ("https://issuer.example:port/", "must be a URL"),
        ("ftp://issuer.example/keys", "must be an https URL"),
        ("file:///keys.json", "must be an https URL"),
        ("http://issuer.example/keys", "must be https"),
    ] {
        let error = with(&["--jwt-jwks-url", url]).unwrap_err();
        assert!(error.contains("--jwt-jwks-url: ") && error.contains(why), "{url}: {error}");
    }
    let error = with(&["--jwt-jwks-file=f", "--jwt-role=agent", "--jwt-role-claim=role"]).unwrap_err();
    assert!(error.contains("--jwt-role-claim"), "{error}");
    for url in ["https://issuer.example/keys", "http://127.0.0.1:1/keys", "http://localhost/keys"] {
        assert!(with(&["--jwt-jwks-url", url, "--jwt-role=agent", "--jwt-user-claim=email"]).is_ok(), "{url}");
    }
}

#[test]
fn sizes_are_plain_or_with_a_binary_unit() {
    assert_eq!(bytes("1"), Ok(1));
    assert_eq!(bytes("512KiB"), Ok(512 << 10));
    assert_eq!(bytes("8 MiB"), Ok(8 << 20));
    assert_eq!(bytes("1024GiB"), Ok(1 << 40));
    for wrong in ["", "0", "0MiB", "-1", "+1", "1.5MiB", "8MB", "8mib", "MiB", "1025GiB", "99999999999999999999999"] {
        assert!(bytes(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn durations_are_seconds_or_have_a_unit() {
    assert_eq!(duration("0"), Ok(Duration::ZERO));
    assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
    assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
    assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
    assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
    assert_eq!(duration("24h"), Ok(MAX_DURATION));
    for wrong in ["", "s", "-1s", "1.5s", "1 day", "25h", "10S", "18446744073709551616m"] {
        assert!(duration(wrong).is_err(), "{wrong}");
    }
    assert_eq!(period("1ms"), Ok(Duration::from_millis(1)));
    assert_eq!(retention("0"), Ok(Duration::ZERO));
    assert_eq!(retention("48h"), Ok(2 * DAY));
    assert_eq!(retention("7d"), Ok(MAX_RETENTION));
    for wrong in ["8d", "169h", "4294967295d", "d", "1.5d"] {
        assert!(retention(wrong).is_err(), "{wrong}");
    }
    assert!(period("0ms").is_err());
}

#[test]
fn addresses_are_host_and_port() {
    for right in ["127.0.0.1:0", "[::1]:8080", "localhost:8080", "0.0.0.0:65535", "a.example:1"] {
        assert_eq!(right.parse::<Address>().unwrap().to_string(), right);
    }
    for wrong in ["", "8080", ":8080", "localhost", "localhost:", "::1:8080", "[::1]", "a:65536", "http://a:80", "*:80"]
    {
        assert!(wrong.parse::<Address>().is_err(), "{wrong}");
    }
    assert!("127.0.0.1:9464".parse::<MetricsListen>().is_ok());
    assert!("OFF".parse::<MetricsListen>().is_err());
}

#[tokio::test]
async fn only_loopback_needs_no_consent() {
    for (address, loopback) in [
        ("127.0.0.1:1", true),
        ("127.9.9.9:1", true),
        ("[::1]:1", true),
        ("[::ffff:127.0.0.1]:1", true),
        ("localhost:1", true),
        ("0.0.0.0:1", false),
        ("[::]:1", false),
        ("192.0.2.1:1", false),
        ("[::ffff:192.0.2.1]:1", false),
    ] {
        let (careful, careless) =
            (config(&["--listen", address]), config(&["--listen", address, "--insecure-no-auth"]));
        let addresses = careful.listen_addresses().await.unwrap();
        assert_eq!(careful.check_exposure(&addresses).is_ok(), loopback, "{address}");
        assert!(careless.check_exposure(&addresses).is_ok());
    }
}

#[tokio::test]
async fn every_address_is_reached_through_loopback() {
    for (listen, connect) in [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80"), ("192.0.2.1:80", "192.0.2.1:80")]
    {
        let address: Address = listen.parse().unwrap();
        assert_eq!(address.resolve_to_connect().await.unwrap(), [connect.parse().unwrap()]);
    }
}
