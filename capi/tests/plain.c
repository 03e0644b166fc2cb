/* The header in C99, with the static library. */
#include <onnxtxt.h>

#include <stdio.h>
#include <string.h>

static onnxtxt_str str(const char *text) {
    onnxtxt_str made = {text, strlen(text)};
    return made;
}

int main(void) {
    onnxtxt_model *model = onnxtxt_parse(str("g (float[2] x) => (float[2] y) { y = Relu(z) }"), str("c.onnxtxt"));
    onnxtxt_findings *found = onnxtxt_check(model, ONNXTXT_CHECK_LEVEL_SPEC);
    onnxtxt_finding first;
    int is_right = onnxtxt_findings_has_errors(found) && onnxtxt_findings_get(found, 0, &first) && first.place.line == 1;
    if (is_right) fwrite(first.rendered.data, 1, first.rendered.len, stdout);
    onnxtxt_findings_free(found);
    onnxtxt_model_free(model);
    return is_right ? 0 : 1;
}
