use super::*;
use proptest::prelude::*;

const STATE: &str = r#"{"app:k":"A","user:k":"U","k":"V","_1":1,"é":"É","null":null,"braces":"{k} {{k}} $&\\1"}"#;

fn texts() -> Texts {
    let texts = [("a b.txt", "T"), ("user:d/é", "{k}"), ("empty", ""), ("a?", "Q")];
    texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
}

fn rendered(template: &str, braces: Braces, missing: Missing) -> Result<String, Rejected> {
    Template::parse(template, braces)?.render(Json::trusted(STATE), &texts(), missing, usize::MAX)
}

fn adk(template: &str) -> String {
    rendered(template, Braces::Adk, Missing::Error).unwrap()
}

fn literal(template: &str) -> String {
    rendered(template, Braces::Literal, Missing::Error).unwrap()
}

#[test]
fn words_are_what_they_say() {
    assert!(Braces::WORDS.iter().all(|word| Braces::parse(word).is_some()) && Braces::parse("Adk").is_none());
    assert!(Missing::WORDS.iter().all(|word| Missing::parse(word).is_some()) && Missing::parse("").is_none());
}

#[test]
fn a_key_is_replaced_by_its_value() {
    assert_eq!(adk("{k}, {app:k} and {user:k}: {k}"), "V, A and U: V");
    assert_eq!(adk("{_1}{é}{k}"), "1ÉV");
    assert_eq!(adk(""), "");
}

#[test]
fn a_name_is_an_identifier_perhaps_after_a_prefix() {
    for name in ["k", "_", "__a1", "K9", "class", "é", "变量", "ª", "a\u{301}", "app:a", "user:_", "temp:é", "app"]
    {
        assert_eq!(name_of(name), Some((name, false)), "{name}");
    }
    let short = [
        "", "1", "1a", "a-b", "a.b", "a b", "a\nb", "$k", "k!", "a[0]", "app:", ":", ":k", "app:1", "App:k", "foo:k",
        "app: k", "app :k", "😀", "a\0",
    ];
    let long = ["\"json\": 1", "app:user:k", "Artifact.x", "artifact .x", "\u{301}a", "\u{200b}k"];
    for name in short.into_iter().chain(long) {
        assert_eq!(name_of(name), None, "{name:?}");
        for template in [format!("{{{name}}}"), format!("{{{{{name}}}}}")] {
            assert_eq!(adk(&template), template);
            assert_eq!(literal(&template), template);
        }
    }
}

#[test]
fn white_space_around_a_name_does_not_count() {
    assert_eq!(adk("{ k }{\t\r\nk\n}{\u{A0}user:k\u{3000}}{\u{1C}k\u{1F}}"), "VVUV");
    assert_eq!(adk("{ k? }{ no? }"), "V");
    // Not white space, here or in Python.
    assert_eq!(adk("{\u{FEFF}k}"), "{\u{FEFF}k}");
}

#[test]
fn a_question_mark_right_after_the_name_makes_it_optional() {
    for missing in [Missing::Error, Missing::Empty, Missing::Keep] {
        let text = rendered("[{k?}{no?}{app:no?}{temp:no?}{artifact.no.txt?}{{no?}}]", Braces::Adk, missing);
        assert_eq!(text.unwrap(), "[V]");
    }
    for template in ["{?}", "{k??}", "{k ?}", "{?k}", "{k?k}", "{app:?}", "{app?:k}"] {
        assert_eq!(adk(template), template);
    }
}

#[test]
fn a_missing_key_is_refused_or_left_out_or_kept() {
    let template = "{k}-{b}-{ a }-{temp:t}-{b}-{{artifact.x}}-{a?}";
    assert_eq!(
        rendered(template, Braces::Adk, Missing::Error),
        Err(Rejected::field("template", "these keys are missing: `b`, `a`, `temp:t`, `artifact.x`"))
    );
    assert_eq!(rendered(template, Braces::Adk, Missing::Empty).unwrap(), "V------");
    assert_eq!(rendered(template, Braces::Adk, Missing::Keep).unwrap(), "V-{b}-{ a }-{temp:t}-{b}-{{artifact.x}}-");
    assert_eq!(rendered("{{{no}}}{{no}", Braces::Literal, Missing::Keep).unwrap(), "{{no}}{{no}");
    // Of both forms, one asks for the key.
    assert!(rendered("{no?}{no}", Braces::Adk, Missing::Error).is_err());
    assert!(rendered("{K}", Braces::Adk, Missing::Error).is_err());
    assert!(rendered("{app:_1}", Braces::Adk, Missing::Error).is_err());
}

#[test]
fn every_missing_key_is_named_but_not_without_end() {
    let message = |names: &[String]| match rendered(&names.concat(), Braces::Adk, Missing::Error) {
        Err(Rejected::Invalid(errors)) if errors.len() == 1 => errors[0].message.clone(),
        other => panic!("{other:?}"),
    };
    let names: Vec<String> = (0..500).map(|n| format!("{{key_{n}}}")).collect();
    let all = message(&names);
    assert!((0..500).all(|n| all.contains(&format!("`key_{n}`"))), "{all}");
    let many: Vec<String> = (0..5000).map(|n| format!("{{key_{n}}}")).collect();
    let cut = message(&many);
    assert!(cut.len() < 9000 && cut.ends_with(" more"), "{cut}");
    let long = message(&["{artifact.".to_owned(), "é".repeat(100_000), "}{a}".to_owned()]);
    assert!(long.len() < 2000 && long.ends_with("…`, `a`"), "{long}");
}

#[test]
fn artifacts_and_temp_keys_are_no_state() {
    let template = Template::parse(
        "{b}{app:k}{temp:t}{artifact.a}{b?}{a}{{user:k}}{-}\\{c}{{artifact.a?}}{artifact. user:b}",
        Braces::Adk,
    );
    let template = template.unwrap();
    assert_eq!(template.keys(), ["b", "app:k", "a", "user:k"]);
    assert_eq!(template.artifacts(), ["a", " user:b"]);
    let state = Json::trusted(r#"{"artifact.a":1,"temp:t":2}"#);
    for name in ["artifact.a", "temp:t"] {
        let placeholder = format!("{{{name}}}");
        let template = Template::parse(&placeholder, Braces::Adk).unwrap();
        assert_eq!(template.render(state, &Texts::new(), Missing::Keep, 100).unwrap(), placeholder);
    }
}

#[test]
fn an_artifact_is_replaced_by_its_text() {
    assert_eq!(adk("{artifact.a b.txt}-{ artifact.a b.txt? }-{{artifact.user:d/é}}-{artifact.empty}"), "T-T-{k}-");
    assert_eq!(literal("{{artifact.a b.txt}}{artifact.a b.txt}"), "{artifact.a b.txt}T");
    // Only one question mark is not of the name.
    assert_eq!(adk("{artifact.a??}"), "Q");
    assert!(rendered("{artifact.a}{artifact.}", Braces::Adk, Missing::Error).is_err());
    assert_eq!(adk("{artifact.}{artifact.k}".replace('}', "?}").as_str()), "");
}

#[test]
fn braces_around_a_placeholder_stay() {
    for render in [adk, literal] {
        assert_eq!(render(r#"{"json": {k}}"#), r#"{"json": V}"#);
        assert_eq!(render(r#"{"a": {"b": {"c": {k}}}}"#), r#"{"a": {"b": {"c": V}}}"#);
        assert_eq!(render("{k}}}"), "V}}");
        assert_eq!(render("{{k}"), "{V");
        assert_eq!(render("{{k}: {user:k}}"), "{V: U}");
        assert_eq!(render("{a {k} b}"), "{a V b}");
        assert_eq!(render(r#"{{ "a": {k} }}"#), r#"{{ "a": V }}"#);
        assert_eq!(render("{}{{}}{ }{{{}"), "{}{{}}{ }{{{}");
        assert_eq!(render("}{k}{"), "}V{");
        assert_eq!(render("{k{k}k}"), "{kVk}");
        assert_eq!(render("{"), "{");
        assert_eq!(render("{k"), "{k");
        assert_eq!(render("k}"), "k}");
    }
}

#[test]
fn doubled_braces_are_single_ones_or_text() {
    for (template, as_adk, as_literal) in [
        ("{{k}}", "V", "{k}"),
        ("{{{k}}}", "V", "{V}"),
        ("{{{{k}}}}", "V", "{{k}}"),
        ("{{{{{k}}}}}", "V", "{{V}}"),
        ("{{k}}}", "V}", "{k}}"),
        ("{{{k}}", "{V", "{{k}"),
        ("{{ k }}", "V", "{ k }"),
        ("{{k?}}", "V", "{k?}"),
        ("{{k}}{{k}}{k}", "VVV", "{k}{k}V"),
        ("a{{k}}b{k}c", "aVbVc", "a{k}bVc"),
        (r#"{"a": {{k}}}"#, r#"{"a": V}"#, r#"{"a": {k}}"#),
    ] {
        assert_eq!(adk(template), as_adk, "{template}");
        assert_eq!(literal(template), as_literal, "{template}");
    }
    assert_eq!(literal("{{no}} {{temp:t}} {{artifact.x}}"), "{no} {temp:t} {artifact.x}");
    assert_eq!(Template::parse("{{a}}{{{b}}}", Braces::Literal).unwrap().keys(), ["b"]);
}

#[test]
fn a_dollar_or_a_backslash_keeps_what_follows() {
    for render in [adk, literal] {
        for template in [r"\{k}", "${k}", r"\\{k}", "$${k}", "${{k}}", r"\{{{k}}}", r"\{{k}", "${k}}", "${{ k? }}"] {
            assert_eq!(render(template), template);
        }
        assert_eq!(render("$ {k}${k}{k}"), "$ V${k}V");
        assert_eq!(render("{a${k}{k}"), "{a${k}V");
        assert_eq!(render("${a{k}"), "${aV");
    }
}

#[test]
fn what_is_filled_in_is_not_a_template() {
    assert_eq!(adk("{braces}{{{braces}}}"), r"{k} {{k}} $&\1{k} {{k}} $&\1");
    assert_eq!(adk("{null}{k}{null}"), "V");
    let state = Json::trusted(r#"{"a":"{","b":"b}"}"#);
    let template = Template::parse("{a}{b}", Braces::Adk).unwrap();
    assert_eq!(template.render(state, &Texts::new(), Missing::Error, 100).unwrap(), "{b}");
}

#[test]
fn what_is_filled_in_keeps_nothing_that_follows() {
    // A `$` or a `\` of a value is none of the template, and no braces join across an empty value.
    let state = Json::trusted(r#"{"dollar":"$","back":"\\","open":"{","empty":"","k":"V"}"#);
    for (template, expected) in [
        ("{dollar}{k}", "$V"),
        ("{back}{k}", r"\V"),
        ("{open}k}", "{k}"),
        ("{empty}{k}{empty}", "V"),
        ("{{empty}k}", "{k}"),
    ] {
        for braces in [Braces::Adk, Braces::Literal] {
            let template = Template::parse(template, braces).unwrap();
            assert_eq!(template.render(state, &Texts::new(), Missing::Error, 100).unwrap(), expected);
        }
    }
}

#[test]
fn groups_that_touch_are_told_apart() {
    for (template, as_adk, as_literal) in [
        ("{k}{{k}}{{{k}}}", "VVV", "V{k}{V}"),
        ("{k}{k}}{k}", "VV}V", "VV}V"),
        ("{{k}}{k}{{k}}", "VVV", "{k}V{k}"),
        ("{}{k}", "{}V", "{}V"),
        ("{{}}{{k}}", "{{}}V", "{{}}{k}"),
        ("{k{}k}", "{k{}k}", "{k{}k}"),
        ("{${k}}", "{${k}}", "{${k}}"),
        ("{k}$", "V$", "V$"),
        (r"{k}\{k}{k}", r"V\{k}V", r"V\{k}V"),
        ("{-}{{-}}{k}", "{-}{{-}}V", "{-}{{-}}V"),
        ("{{{{k}}", "{{V", "{{{k}"),
        ("{{k}}}}", "V}}", "{k}}}"),
    ] {
        assert_eq!(adk(template), as_adk, "{template}");
        assert_eq!(literal(template), as_literal, "{template}");
    }
}

#[test]
fn keys_are_compared_as_text() {
    let state = Json::trusted(r#"{"\u006b":"escaped","\u00e9":"\u00c9","\ufb01":"ligature","app:\u005f":0}"#);
    let render =
        |template: &str| Template::parse(template, Braces::Adk)?.render(state, &Texts::new(), Missing::Keep, 100);
    assert_eq!(render("{k}{\u{e9}}{\u{fb01}}{app:_}").unwrap(), "escaped\u{c9}ligature0");
    // The same to Python's parser, which normalises identifiers, and others to its dictionaries.
    for other in ["{e\u{301}}", "{fi}", "{K}"] {
        assert_eq!(render(other).unwrap(), other);
    }
    // May begin an identifier, but not once it is normalised (UAX #31, section 5.1): `str.isidentifier` refuses it.
    assert_eq!(name_of("\u{37a}a"), None);
}

#[test]
fn a_key_that_is_null_is_there() {
    for missing in [Missing::Error, Missing::Empty, Missing::Keep] {
        assert_eq!(rendered("[{null}{null?}{{null}}]", Braces::Adk, missing).unwrap(), "[]");
    }
}

#[test]
fn values_go_in_as_text() {
    for (value, text) in [
        (r#""""#, ""),
        (r#""plain""#, "plain"),
        (r#""a\n\"b\"\\\u00e9\u0000\ud83d\ude00 {x}""#, "a\n\"b\"\\é\0😀 {x}"),
        ("null", ""),
        ("true", "true"),
        ("false", "false"),
        ("1.10", "1.10"),
        ("-0.0", "-0.0"),
        ("1E2", "1E2"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("[ ]", "[]"),
        ("[1 ,\n 2.0,\tnull\r]", "[1,2.0,null]"),
        (r#"{ "b" : "x  \" y\\" , "a b" : [ { } ] }"#, r#"{"b":"x  \" y\\","a b":[{}]}"#),
        (r#"["\\", " ", "\u0020\"", " \\\" "]"#, r#"["\\"," ","\u0020\""," \\\" "]"#),
    ] {
        let state = format!("{{\"k\":{value}}}");
        let template = Template::parse("<{k}>", Braces::Adk).unwrap();
        assert_eq!(
            template.render(Json::trusted(&state), &Texts::new(), Missing::Error, 100).unwrap(),
            format!("<{text}>"),
            "{value}"
        );
    }
}

#[test]
fn a_text_over_the_limit_is_not_built() {
    let state = format!("{{\"k\":\"{}\"}}", "é".repeat(500));
    let render = |template: &str, limit| {
        Template::parse(template, Braces::Adk)?.render(Json::trusted(&state), &Texts::new(), Missing::Error, limit)
    };
    assert_eq!(render("{k}{k}.", 2001).unwrap().len(), 2001);
    assert!(matches!(render("{k}{k}.", 2000), Err(Rejected::TooLarge { limit: "rendered", .. })));
    assert!(matches!(render(&"{k}".repeat(1 << 16), 2000), Err(Rejected::TooLarge { .. })));
    assert!(matches!(render("x{k}{no}", 1), Err(Rejected::Invalid(_))));
    // Text of the template counts too, and what fits exactly fits.
    assert_eq!(render("", 0).unwrap(), "");
    assert_eq!(render("é", 2).unwrap(), "é");
    assert!(matches!(render("é", 1), Err(Rejected::TooLarge { limit: "rendered", .. })));
    // What follows a piece that did not fit does not make it fit.
    assert!(matches!(render("{k}.", 999), Err(Rejected::TooLarge { .. })));
}

#[test]
fn names_are_bounded_and_placeholders_are_not() {
    let names = |count: usize| (0..count).map(|n| format!("{{k{n}?}}{{k{n}}}")).collect::<String>();
    assert_eq!(Template::parse(&names(MAX_NAMES), Braces::Adk).unwrap().keys().len(), MAX_NAMES);
    let over = names(MAX_NAMES + 1);
    assert!(matches!(Template::parse(&over, Braces::Adk), Err(Rejected::TooLarge { limit: "template", .. })));
    let artifacts = |count| names(count).replace("{k", "{artifact.k");
    let parsed = |text: &str| Template::parse(text, Braces::Adk).map(|template| template.artifacts().len());
    assert_eq!(parsed(&artifacts(MAX_ARTIFACTS)), Ok(MAX_ARTIFACTS));
    assert!(matches!(parsed(&artifacts(MAX_ARTIFACTS + 1)), Err(Rejected::TooLarge { limit: "template", .. })));
    assert_eq!(adk(&"{k}".repeat(100_000)).len(), 100_000);
}

/// What took quadratic time would not end within anybody's patience.
#[test]
fn hostile_templates_take_linear_time() {
    let times = 1 << 16;
    for part in ["{", "}", "{k", "{}", "{{", "${", "{ ", "\\{{", "{k}}", "{{k}", "{-}", "{k?", "é{", "{artifact."] {
        let template = part.repeat(times);
        for braces in [Braces::Adk, Braces::Literal] {
            rendered(&template, braces, Missing::Keep).unwrap();
        }
    }
    let one = format!("{}k{}", "{".repeat(times), "}".repeat(times));
    assert_eq!(adk(&one), "V");
    assert_eq!(literal(&one).len(), times + 1);
}

/// Text that is nearly all placeholders.
fn soup() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "{",
        "{",
        "{{",
        "}",
        "}",
        "}}",
        "k",
        "k",
        "no",
        "app:",
        "user:k",
        "temp:",
        "artifact.",
        "?",
        " ",
        "\n",
        "$",
        "\\",
        "\"",
        "-",
        ".",
        ":",
        "é",
        "\u{301}",
        "1",
        "_",
        "",
    ];
    prop::collection::vec(prop::sample::select(WORDS), 0..24).prop_map(|words| words.concat())
}

fn any_template() -> impl Strategy<Value = String> {
    prop_oneof![soup(), any::<String>(), "[{}k?$\\\\ ]{0,24}"]
}

proptest! {
    #[test]
    fn a_template_without_braces_comes_back_unchanged(template in "[^{}]{0,40}") {
        prop_assert_eq!(adk(&template), &*template);
        prop_assert_eq!(literal(&template), template);
    }

    #[test]
    fn no_text_is_too_strange(template in any_template()) {
        for braces in [Braces::Adk, Braces::Literal] {
            for missing in [Missing::Error, Missing::Empty, Missing::Keep] {
                let _ = rendered(&template, braces, missing);
            }
        }
    }

    #[test]
    fn text_outside_of_placeholders_is_kept(template in any_template()) {
        let parsed = Template::parse(&template, Braces::Adk).unwrap();
        let written = parsed.pieces().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Placeholder(placeholder) => placeholder.written,
        });
        prop_assert_eq!(written.collect::<String>(), template);
    }

    #[test]
    fn without_doubled_braces_both_modes_agree(template in any_template()) {
        prop_assume!(!template.contains("{{"));
        prop_assert_eq!(
            rendered(&template, Braces::Adk, Missing::Keep),
            rendered(&template, Braces::Literal, Missing::Keep)
        );
    }

    /// Whoever puts text of others into a template can make it literal.
    #[test]
    fn doubled_braces_give_the_text_itself(inside in " ?(app:|user:|temp:|artifact\\.)?[a-zé_]{1,5}[?]? ?") {
        prop_assert_eq!(literal(&format!("a{{{{{inside}}}}}b")), format!("a{{{inside}}}b"));
    }
}
