//! The live page at `/`: static files of this folder, kept in the program. They hold no data, so they need no token;
//! whatever they show is asked for with one.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;

use super::routes::getting;

/// Nothing from elsewhere, no inline script, no form that leads away, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// One file: its path, type and text.
type File = (&'static str, &'static str, &'static str);

const INDEX: File = ("/", HTML, include_str!("index.html"));
const FILES: &[File] = &[
    INDEX,
    ("/ui/icon.svg", "image/svg+xml", include_str!("icon.svg")),
    ("/ui/style.css", CSS, include_str!("style.css")),
    ("/ui/parts.css", CSS, include_str!("parts.css")),
    ("/ui/tools.css", CSS, include_str!("tools.css")),
    ("/ui/app.js", JS, include_str!("app.js")),
    ("/ui/api.js", JS, include_str!("api.js")),
    ("/ui/chart.js", JS, include_str!("chart.js")),
    ("/ui/controls.js", JS, include_str!("controls.js")),
    ("/ui/dom.js", JS, include_str!("dom.js")),
    ("/ui/format.js", JS, include_str!("format.js")),
    ("/ui/pipeline.js", JS, include_str!("pipeline.js")),
    ("/ui/hosts.js", JS, include_str!("hosts.js")),
    ("/ui/facts.js", JS, include_str!("facts.js")),
    ("/ui/explain.js", JS, include_str!("explain.js")),
    ("/ui/recent.js", JS, include_str!("recent.js")),
    ("/ui/throughput.js", JS, include_str!("throughput.js")),
    ("/ui/ask.js", JS, include_str!("ask.js")),
    ("/ui/axis.js", JS, include_str!("axis.js")),
    ("/ui/bars.js", JS, include_str!("bars.js")),
    ("/ui/host.js", JS, include_str!("host.js")),
    ("/ui/holders.js", JS, include_str!("holders.js")),
    ("/ui/idle.js", JS, include_str!("idle.js")),
    ("/ui/jobs.js", JS, include_str!("jobs.js")),
    ("/ui/orders.js", JS, include_str!("orders.js")),
    ("/ui/reports.js", JS, include_str!("reports.js")),
    ("/ui/retry.js", JS, include_str!("retry.js")),
    ("/ui/role.js", JS, include_str!("role.js")),
    ("/ui/rule.js", JS, include_str!("rule.js")),
    ("/ui/rules.js", JS, include_str!("rules.js")),
    ("/ui/save.js", JS, include_str!("save.js")),
    ("/ui/search.js", JS, include_str!("search.js")),
    ("/ui/table.js", JS, include_str!("table.js")),
    ("/ui/trial.js", JS, include_str!("trial.js")),
    ("/ui/values.js", JS, include_str!("values.js")),
];

/// The routes of the files beside the page.
pub(super) fn files(app: &mut ServiceConfig) {
    for file in FILES.iter().filter(|file| file.0 != "/") {
        app.service(getting(file.0, move || answer(file)));
    }
}

/// True for a file of the page.
pub(super) fn is_page(path: &str) -> bool {
    FILES.iter().any(|file| file.0 == path)
}

/// The live page; needs no token.
#[utoipa::path(get, path = "/", tag = "page", responses((status = 200, body = String, content_type = "text/html")))]
pub(super) async fn page() -> HttpResponse {
    answer(&INDEX).await
}

async fn answer((_, kind, text): &'static File) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(*kind)
        .insert_header(("Content-Security-Policy", POLICY))
        .insert_header(("Referrer-Policy", "no-referrer"))
        .insert_header(("Cross-Origin-Opener-Policy", "same-origin"))
        .body(*text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_and_style_that_the_page_names_is_served() {
        let names = |text: &'static str, before: &'static str| {
            text.split(before).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned)
        };
        let mut named: Vec<String> = names(INDEX.2, "=\"ui/").map(|name| format!("/ui/{name}")).collect();
        for (_, kind, text) in FILES {
            if *kind == JS {
                named.extend(names(text, "from \"./").map(|name| format!("/ui/{name}")));
            }
        }
        assert!(named.len() > 8, "{named:?}");
        let lost: Vec<_> = named.iter().filter(|name| !is_page(name)).collect();
        assert!(lost.is_empty(), "{lost:?}");
        let unnamed: Vec<_> =
            FILES.iter().filter(|f| f.0 != "/" && !named.iter().any(|n| n == f.0)).map(|f| f.0).collect();
        assert!(unnamed.is_empty(), "{unnamed:?}");
    }

    #[test]
    fn nothing_on_the_page_makes_markup_of_data_or_comes_from_elsewhere() {
        for (path, _, text) in FILES {
            for word in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "javascript:", " style=\""]
            {
                assert!(!text.contains(word), "{path} has {word}");
            }
            let elsewhere = text.replace("http://www.w3.org/", "").replace("https://example.org/", "");
            assert!(!elsewhere.contains("://"), "{path} names another place");
        }
    }
}
