"""Tests of the package onnx that fail over `onnxtxt.compat`, by module and reason. An entry is a test, or all of its parameters.

`OPEN` are the reasons that are ours: what should be as in the reference, and is not. All others are deliberate: there the specification says
something else than the reference, or nothing, or the test is about the inside of the reference.
"""

_MORE = "more is inferred than by the reference"
_WORDS = "the message has other words"

OPEN = frozenset(
    [
        _WORDS,
        "values are printed in full",
        "values in functions are not compared with what they declare",
    ]
)

MISSES = {
    "printer": {
        "elements of 4 bits are written as numbers, which are read back; the reference writes `...`": [
            "test_undecodable_type_prints_placeholder",
        ],
    },
    "checker": {
        "an `int32_data` has two elements of 4 bits, as onnx.proto says; the reference accepts eight": [
            "test_check_tensor_packed_subbyte_int32_data",
        ],
    },
    "shape_inference": {
        _MORE: [
            "test_center_crop_pad_without_input_shape",
            "test_conv_partial_missing_weight_shape",
            "test_convineteger_partial_missing_weight_shape",
            "test_gatherelements_indices_missing_shape",
            "test_loop",
            "test_maxunpool_shape_with_output_shape",
            "test_qlinearconv_partial_missing_weight_shape",
            "test_range_bfloat16",
            "test_range_float16",
            "test_slice_without_input_shape",
            "test_split_with_split_attribute_unknown_split_dim",
            "test_swiglu_missing_input_shape",
            "test_topk_missing_k_value_output_rank_check",
            "test_unique_with_axis",
            "test_unique_without_axis",
        ],
        _WORDS: ["test_col2im_block_shape_overflow[18]"],
        "`axes` or `steps` are unknown: the reference takes them for the defaults": [
            "test_slice_with_input_shape_axes",
            "test_slice_with_input_shape_steps",
        ],
        "`onesided` is 1 by default: a frame of 5 has 3 frequencies": ["test_stft_reals"],
        "the weights of the test are those of one direction, and the node has two": ["test_rnn_layout"],
        "`scales` and `sizes` are both given": ["test_resize_size[11]"],
        "`depth` must have one element, and has none": ["test_onehot_empty_depth"],
        "before IR version 4, an initializer that is not an input has its shape as well": [
            "test_infer_with_initializer_without_input_below_ir4"
        ],
        "a stored type that the operator does not accept is found with `check_type`": ["test_parse_data_with_unsupported_tensor_type"],
        "the one dimension that the node declares has the name `unk__0`, and is known to be 1": ["test_array_feature_extractor"],
    },
    "version_converter": {
        "a constant that version 8 cannot have as a node becomes an initializer": ["test_constant_9_8"],
        "version 6 is in training mode unless `is_test = 1`": ["test_batch_normalization_5_8"],
        "before version 9, Scan has a batch axis, which the reference does not add": ["test_scan_9_8_with_valid_node"],
        "version 13 of the operator accepts bfloat16": ["test_scatter_16_15_bfloat16_fails"],
    },
    "numpy_helper": {
        "the version of Cast that the model imports has no complex numbers": ["test_to_array_from_array[14]", "test_to_array_from_array[15]"],
    },
    "reference": {
        "the version of Cast that the model imports has no such types": [
            *(f"test_add_custom_dtype[{kind}]" for kind in ["FLOAT8E4M3FN-0.23", "FLOAT8E4M3FNUZ-0.23", "FLOAT8E5M2-0.85", "FLOAT8E5M2FNUZ-0.85"]),
            *(f"test_cmp_custom_dtype[{kind}]" for kind in ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"]),
            *(f"test_cmp_custom_dtype[{kind}]" for kind in ["INT4", "UINT4", "INT2", "UINT2"]),
        ],
        "onnxruntime, with which the test compares, refuses the model": ["test_conv"],
        "the operands contradict each other": ["test_conv_transpose_2d", "test_conv_transpose_2d_upper"],
        "results are rounded elsewhere, by less than 1e-6": ["test_stft", "test_stft_with_window"],
        "the attribute `value_floats` is a tensor": ["test_if"],
        "integers are accepted, as the operator says": ["test_reduce_log_sum_ops_reject_integer_input"],
        "a private attribute of the reference's evaluator": ["test_overload_reference_implementation"],
        "a scan of no elements has no results, which is not an error": ["test_scan_max_iter_zero"],
        "values in functions are not compared with what they declare": ["test_function_body_conflicting_symbol_raises"],
        "scores of two classes are those of onnxruntime": [
            *(f"test_linear_classifier_binary[{post}]" for post in ["SOFTMAX", "NONE", "SOFTMAX_ZERO"]),
            *(f"test_tree_ensemble_classifier_binary[{post}]" for post in ["SOFTMAX-expected2", "SOFTMAX_ZERO-expected3"]),
        ],
        "the probit of 0 is infinite": [
            "test_tree_ensemble_classifier_binary[PROBIT-expected4]",
            "test_tree_ensemble_classifier_multi[PROBIT-expected4]",
        ],
        "a value of another type than declared is converted": ["test_swiglu_dtype_mismatch_raises"],
        "values are printed in full": ["test_reference_evaluator_no_attribute_verbose[3-expected1]"],
        _WORDS: ["test_qlinearconv_w_scale_vector_fails_with_w_scale_wrong_length"],
    },
    "utils": {
        "a private function of the reference's model hub": ["test_tar_members_filter_rejects_sibling_prefix_escape"],
    },
}
