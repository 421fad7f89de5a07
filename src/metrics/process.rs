//! The metrics of any process, under Prometheus' standard names. They are read from `/proc` at each scrape; without
//! `/proc`, as on systems other than Linux, there are none.

use std::{fmt, fs};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Clock ticks per second in `/proc`: `USER_HZ`, which is 100 on every Linux architecture that Rust supports.
const TICKS: f64 = 100.0;

#[derive(Debug)]
pub struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut write = |name, help, unit: Option<Unit>, metric: &dyn EncodeMetric| {
            metric.encode(encoder.encode_descriptor(name, help, unit.as_ref(), metric.metric_type())?)
        };
        if let Some(stat) = read("stat").as_deref().and_then(Stat::parse) {
            let cpu = ConstCounter::new(stat.cpu);
            write("process_cpu", "User and system time spent.", Some(Unit::Seconds), &cpu)?;
            let size = ConstGauge::new(stat.virtual_bytes);
            write("process_virtual_memory", "Virtual memory.", Some(Unit::Bytes), &size)?;
            write("process_threads", "Threads.", None, &ConstGauge::new(stat.threads))?;
            if let Some(boot) = fs::read_to_string("/proc/stat").ok().as_deref().and_then(boot_time) {
                let start = ConstGauge::new(boot + stat.started);
                write("process_start_time", "Start, in seconds since 1970.", Some(Unit::Seconds), &start)?;
            }
        }
        if let Some(bytes) = read("status").as_deref().and_then(resident_bytes) {
            let size = ConstGauge::new(bytes);
            write("process_resident_memory", "Memory that is in RAM.", Some(Unit::Bytes), &size)?;
        }
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            // One of them is open for this scan.
            let open = ConstGauge::new(files.count().saturating_sub(1));
            write("process_open_fds", "Open file descriptors.", None, &open)?;
        }
        if let Some(most) = read("limits").as_deref().and_then(most_files) {
            write("process_max_fds", "Most file descriptors that may be open.", None, &ConstGauge::new(most))?;
        }
        Ok(())
    }
}

fn read(name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/self/{name}")).ok()
}

/// Fields of `/proc/self/stat`, see proc_pid_stat(5). Times in seconds.
#[derive(Debug, PartialEq)]
struct Stat {
    cpu: f64,
    threads: u64,
    /// Since the boot.
    started: f64,
    virtual_bytes: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The program's name comes second, in parentheses, and may itself contain parentheses and spaces.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        // Numbered as in the manual; the first of these is number 3.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let seconds = |ticks: u64| ticks as f64 / TICKS;
        Some(Self {
            cpu: seconds(field(14)? + field(15)?),
            threads: field(20)?,
            started: seconds(field(22)?),
            virtual_bytes: field(23)?,
        })
    }
}

fn boot_time(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn resident_bytes(status: &str) -> Option<u64> {
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix(" kB")?;
    Some(kib.parse::<u64>().ok()? * 1024)
}

/// The soft limit; infinity if there is none.
fn most_files(limits: &str) -> Option<f64> {
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_whitespace().next()?;
    if limit == "unlimited" { Some(f64::INFINITY) } else { limit.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_proc_are_read() {
        let stat = "42 (a) (b c)) S 1 1 1 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 7 0 123456 1048576 99 1844 1 1 0 0";
        let expected = Stat { cpu: 3.0, threads: 7, started: 1234.56, virtual_bytes: 1 << 20 };
        assert_eq!(Stat::parse(stat), Some(expected));
        assert_eq!(Stat::parse("42 (a) S 1"), None);
        assert_eq!(boot_time("cpu  1 2\nbtime 1700000000\nprocesses 1\n"), Some(1_700_000_000.0));
        assert_eq!(resident_bytes("Name:\ta\nVmRSS:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(resident_bytes("Name:\ta\n"), None);
        let limits = |soft: &str| format!("Limit  Soft Limit  Hard\nMax open files            {soft}    2   files\n");
        assert_eq!(most_files(&limits("1024")), Some(1024.0));
        assert_eq!(most_files(&limits("unlimited")), Some(f64::INFINITY));
    }
}
