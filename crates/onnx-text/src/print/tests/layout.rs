//! Golden texts.

use super::*;

/// Asserts that a text is formatted as `expected`, without the indentation that it has here.
#[track_caller]
fn golden(source: &str, expected: &str) {
    let expected = expected.strip_prefix('\n').unwrap_or(expected);
    let indent = expected.len() - expected.trim_start_matches(' ').len();
    let lines = expected.lines().map(|l| l.get(indent..).unwrap_or(l.trim_start()));
    let expected = lines.map(|l| format!("{l}\n")).collect::<String>();
    let formatted = check(source);
    assert!(formatted == expected.trim_end_matches(' ').trim_end().to_owned() + "\n", "{formatted}");
}

#[test]
fn every_construct_is_formatted_at_every_width() {
    for width in [1, 20, 40, 60, 80, 100, 1000] {
        check_to(width, EVERYTHING);
        check_to(width, ANNOTATED);
    }
}

#[test]
fn a_model() {
    golden(
        r#"<ir_version:10,opset_import:["":21]> g(float[ N ] x , float[4] s)=>(float[N]y)
        <float[4] b={1,2 ,3,4},float[N] t>{ t=Mul(x,s)y=LeakyRelu<alpha=0.1>(t) }
        <domain:"l",opset_import:["":21]>f<p,q:float=1.0>(a)=>(b){b=Abs(a)}"#,
        r#"
        <ir_version: 10, opset_import: ["": 21]>
        g (float[N] x, float[4] s) => (float[N] y)
        <
            float[4] b = {1, 2, 3, 4},
            float[N] t
        >
        {
            t = Mul(x, s)
            y = LeakyRelu <alpha = 0.1> (t)
        }

        <domain: "l", opset_import: ["": 21]>
        f <p, q: float = 1.0> (a) => (b)
        {
            b = Abs(a)
        }
        "#,
    );
}

#[test]
fn what_does_not_fit_is_broken_at_its_lists() {
    golden(
        r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1], producer_name: "a producer with a long name">
        graph_with_a_long_name (float[batch,sequence,hidden] x, float[hidden,hidden] weights) => (float[batch,sequence,hidden] y) {
        very_long_result_name_0, very_long_result_name_1, very_long_result_name_2, very_long_result_name_3, e = Op(x)
        y = Conv <dilations = [1, 1], group = 1, kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]> (x, w)
        y = Concat <axis = 1> ("/model/layers.0/self_attn/MatMul_output_0", "/model/layers.0/self_attn/Add_output_0")
        y = Op <a = [100000000000, 200000000000, 300000000000, 400000000000, 500000000000, 600000000000, 700000000000]> ()
        }"#,
        r#"
        <
            ir_version: 10,
            opset_import: ["": 21, "com.microsoft": 1],
            producer_name: "a producer with a long name"
        >
        graph_with_a_long_name (float[batch,sequence,hidden] x, float[hidden,hidden] weights) => (
            float[batch,sequence,hidden] y
        )
        {
            very_long_result_name_0, very_long_result_name_1, very_long_result_name_2,
                very_long_result_name_3, e = Op(x)
            y = Conv <
                dilations = [1, 1],
                group = 1,
                kernel_shape = [3, 3],
                pads = [1, 1, 1, 1],
                strides = [1, 1]
            > (x, w)
            y = Concat <axis = 1> (
                "/model/layers.0/self_attn/MatMul_output_0",
                "/model/layers.0/self_attn/Add_output_0"
            )
            y = Op <
                a = [
                    100000000000, 200000000000, 300000000000, 400000000000, 500000000000, 600000000000,
                    700000000000
                ]
            > ()
        }
        "#,
    );
}

#[test]
fn nested_graphs() {
    golden(
        "g (bool c) => (y) { y = If (c) <then_branch = t () => (z) <float k = {1}> { z = Abs(k) }, else_branch = e => (z) { }> }",
        r#"
        g (bool c) => (y)
        {
            y = If(c) <
                then_branch = t () => (z) <float k = {1}> {
                    z = Abs(k)
                },
                else_branch = e => (z) {}
            >
        }
        "#,
    );
}

#[test]
fn comments_stay_where_they_are() {
    golden(
        "# file\n\n\n// header\n<ir_version: 10>   # behind\ng ( # inputs\n float x, # x\n\n float y # y\n # last\n) => (z) # out\n{ # body\n\n\n # node\n\n a = Add(x, y)# sum\n\n\n # end\n }\n # f\n f () => () { # nothing\n } # after\n\n# last",
        r#"
        # file

        // header
        <ir_version: 10>  # behind
        g (  # inputs
            float x,  # x

            float y  # y
            # last
        ) => (z)  # out
        {  # body
            # node

            a = Add(x, y)  # sum

            # end
        }

        # f
        f () => ()
        {  # nothing
        }  # after

        # last
        "#,
    );
}

#[test]
fn comments_in_odd_places() {
    golden(
        "g (float # a\n[N # b\n,M] x # c\n, y) => () { y # d\n = # e\n Op # f\n <a # g\n = # h\n 1> # i\n (x # j\n) \n}",
        r#"
        g (
            float  # a
                [N,  # b
                M] x,  # c
            y
        ) => ()
        {
            y =  # d
                # e
                Op  # f
                <
                a =  # g
                    # h
                    1
            >  # i
                (
                x  # j
            )
        }
        "#,
    );
}

#[test]
fn annotations_stand_above_their_item() {
    golden(
        "#@ onnxtxt 1\n#@ storage:raw\n<ir_version: 10>\n##Doc.\n#@a:1,b:[1,2]\ng (#@ doc: \"x\"\nx) => () { ## not a doc\n ## a doc\n #@ metadata_props:[\"a\":$0] # c\n y = Op <\n## alpha\nalpha = 1> () }",
        r#"
        #@ onnxtxt 1
        #@ storage: raw
        <ir_version: 10>
        ##Doc.
        #@ a: 1, b: [1, 2]
        g (
            #@ doc: "x"
            x
        ) => ()
        {  ## not a doc
            ## a doc
            #@ metadata_props: ["a": $0]  # c
            y = Op <
                ## alpha
                alpha = 1
            > ()
        }
        "#,
    );
}

/// A comment like a first line never becomes the first line.
#[test]
fn a_comment_never_turns_annotations_on() {
    for source in ["\n#@ onnxtxt 1\n#@ no: annotation\n", " #@ onnxtxt 2\n", "\u{feff}\n#@ onnxtxt 1\n"] {
        assert_eq!(lex(&check(&format!("{source}g () => () {{ }}"))).annotated, None);
    }
    assert_eq!(check("#@ onnxtxt 1  \r\n\r\n\r\ng () => () {}"), "#@ onnxtxt 1\n\ng () => ()\n{}\n");
}

#[test]
fn files_without_anything() {
    let empty = |source: &str| {
        let parsed = parse_model(source);
        format(source, &parsed.value, &FormatOptions::default())
    };
    assert_eq!(empty(""), "");
    assert_eq!(empty(" \n\n\t"), "");
    assert_eq!(empty("\n\n  # only\r\n\r\n\r\n  // comments  "), "# only\n\n// comments\n");
}

#[test]
fn commas_that_count_are_kept_and_others_dropped() {
    let node = |source: &str| {
        let parsed = crate::parse_node(source);
        let tree = parsed.value.tree.expect("a node");
        format_node(source, &tree, &parsed.value.comments, &FormatOptions::default())
    };
    assert_eq!(node("a = Op(x,)"), "a = Op(x)");
    assert_eq!(node("a = Op(x,,)"), "a = Op(x, ,)");
    assert_eq!(node("a = Op(,)"), "a = Op(,)");
    assert_eq!(node("a = Op(,,x)"), "a = Op(, , x)");
    assert_eq!(node("a, = Op()"), "a = Op()");
    assert_eq!(node("a,, = Op()"), "a, , = Op()");
    assert_eq!(node("= Op()"), "= Op()");
    for kept in ["a = Op(x, ,)", "a = Op(,)", "a = Op(, , x)", "a, , = Op()", "= Op()"] {
        assert_eq!(node(kept), kept);
    }
}

/// Without the `=`, these would be read as a longer type or as a sparse tensor.
#[test]
fn tensors_keep_the_equals_sign_that_they_need() {
    golden(
        "g () => () { y = Op <a = float = {1}, b = float[1] n = {1}, c = float = [\"location\": \"w\"], d = int8[1] = {raw_data: b\"\"}> () }"
            .replace(" = {1}", " {1}")
            .as_str(),
        r#"
        g () => ()
        {
            y = Op <
                a = float {1},
                b = float[1] n {1},
                c = float = ["location": "w"],
                d = int8[1] = {raw_data: b""}
            > ()
        }
        "#,
    );
    assert_eq!(
        fmt("g () => () { y = Op <a = float[1] n = {1}, b = float = {1}> () }"),
        fmt("g () => () { y = Op <a = float[1] n {1}, b = float {1}> () }")
    );
}

#[test]
fn single_constructs_end_without_a_line_break() {
    let options = FormatOptions::default();
    let parsed = crate::parse_type("seq( float[ 2,N ] ) # c\n");
    let ty = parsed.value.tree.expect("a type");
    assert_eq!(
        format_type("seq( float[ 2,N ] ) # c\n", &ty, &parsed.value.comments, &options),
        "seq(float[2,N])  # c"
    );
    let source = "float[2]  w={ 1,2 }";
    let parsed = crate::parse_value_info(source);
    let value = parsed.value.tree.expect("a value info");
    assert_eq!(format_value_info(source, &value, &parsed.value.comments, &options), "float[2] w = {1, 2}");
    let source = "## d\n a:int=1";
    let parsed = crate::parse_attribute(source);
    let attr = parsed.value.tree.expect("an attribute");
    assert_eq!(format_attribute(source, &attr, &parsed.value.comments, &options), "## d\na: int = 1");
    let source = "f(x)=>(y){y=Abs(x)}";
    let parsed = crate::parse_function(source);
    let function = parsed.value.tree.expect("a function");
    assert_eq!(
        format_function(source, &function, &parsed.value.comments, &options),
        "f (x) => (y)\n{\n    y = Abs(x)\n}"
    );
    let parsed = crate::parse_graph(source);
    assert_eq!(
        format_graph(source, &parsed.value.tree.expect("a graph"), &parsed.value.comments, &options),
        "f (x) => (y)\n{\n    y = Abs(x)\n}"
    );
}

#[test]
fn calls_around_rows_of_numbers_are_broken() {
    let source = "g (x) => (y) { y = Abs(Op(x, p = [1,\n2])) + x[Op(x, p = [1,\n2])] }";
    for width in [1, 20, 1000] {
        check_to(width, source);
    }
}
