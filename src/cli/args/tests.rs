//! What may be typed is understood, and a mistake is explained.

use super::*;

fn typed(line: &str) -> Result<Cli, CliError> {
    Cli::try_parse_from(line.split(' ')).map_err(|e| explain(&e).unwrap_err())
}

#[test]
fn the_arguments_are_well_defined() {
    <Cli as clap::CommandFactory>::command().debug_assert();
}

#[test]
fn flags_that_the_manuals_and_the_examples_do_not_show_are_understood() {
    let lines = [
        "lycosa run crawl.toml --seed http://a.test/ --seed http://b.test/ --seeds - --contact me@x.org --data d",
        "lycosa run --until-done --max-pages 5 --max-time 1h --max-bytes 1GB --max-pages-per-host 7 --dry-run",
        "lycosa run --max-failures 9",
        "lycosa run --allow-net 127.0.0.1/32:8500 --set a.b=c --log-format json --no-progress",
        "lycosa testweb --listen 127.0.0.1:0 --hosts 3 --pages 5 --seed 1",
        "lycosa fetch http://a.test/ --json --follow",
        "lycosa inspect page page.html --url http://a.test/ --content-type text/html",
        "lycosa inspect page page.html --url http://a.test/ --config my.toml --set parse.assets=true",
        "lycosa inspect page page.html --url http://a.test/ --extract my.toml",
        "lycosa config show --origin x.toml",
        "lycosa config check x.toml",
        "lycosa check x.toml --data d --full --json",
        "lycosa check --repair --no-progress --set a.b=c",
        "lycosa checkpoint create --data d --admin 127.0.0.1:7700",
        "lycosa checkpoint list --config crawl.toml --json",
        "lycosa checkpoint restore newest --data new --from old --force --incomplete",
        "lycosa checkpoint export newest s3://bucket/prefix --without-warc",
        "lycosa checkpoint import /mnt/copies --data new --incomplete --set checkpoint.s3_endpoint=http://127.0.0.1:9000",
    ];
    for line in lines {
        assert!(typed(line).is_ok(), "{line}: {}", typed(line).unwrap_err());
    }
}

#[test]
fn a_mistake_is_one_line_that_names_it() {
    for (line, part) in [
        ("lycosa rum", "'rum'"),
        ("lycosa run --max-pages x", "--max-pages"),
        ("lycosa run --sed x", "--seed"),
        ("lycosa fetch", "<URL>"),
        ("lycosa run --log-format xml", "json"),
        ("lycosa ctl set log.level=info --all", "--dry-run"),
        ("lycosa ctl set log.level=info --no-wait", "--all"),
        ("lycosa ctl jobs cancel x", "<ID>"),
    ] {
        let error = typed(line).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert!(error.message.contains(part) && !error.message.contains('\n'), "{error}");
    }
}
