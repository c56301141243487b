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

/// The page, and files of this folder by their type; `include_str!` takes no name but a literal.
macro_rules! files {
    ($($kind:expr => $($name:literal)*;)*) => {
        &[INDEX, $($((concat!("/ui/", $name), $kind, include_str!($name)),)*)*]
    };
}

const FILES: &[File] = files! {
    "image/svg+xml" => "icon.svg";
    CSS => "style.css" "parts.css" "tools.css";
    JS => "app.js" "api.js" "ask.js" "axis.js" "bars.js" "chart.js" "controls.js" "dom.js" "explain.js" "facts.js" "find.js" "format.js"
        "fresh.js" "holders.js" "host.js" "hosts.js" "idle.js" "jobs.js" "machines.js" "orders.js" "pipeline.js" "recent.js" "reports.js" "retry.js" "richest.js"
        "role.js" "rule.js" "rules.js" "save.js" "search.js" "table.js" "throughput.js" "trial.js" "values.js"
        "visits.js";
};

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
