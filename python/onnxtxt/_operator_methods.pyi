"""The operators of ai.onnx 28 as methods of a `GraphBuilder`.

Written by `tests/builder_stubs.py --write`. A builder for another version of the operators has the methods of that version.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

from numpy.typing import ArrayLike

from onnxtxt._builder import GraphBuilder
from onnxtxt._native import Parameter, Value

_Operand: TypeAlias = Value | ArrayLike
_Graph: TypeAlias = Callable[[GraphBuilder], Any]
_Names: TypeAlias = int | Sequence[str | None]

class OperatorMethods:
    def Abs(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The absolute value of each element."""
    def Acos(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The angle between 0 and pi whose cosine is each element."""
    def Acosh(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The inverse hyperbolic cosine of each element, for elements of at least 1."""
    def Add(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The sum of two tensors, element by element, with broadcasting."""
    def AffineGrid(
        self,
        theta: _Operand,
        size: _Operand,
        /,
        *,
        align_corners: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The coordinates at which GridSample reads to apply an affine map to each image of a batch."""
    def And(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Logical and of two boolean tensors, element by element, with broadcasting."""
    def ArgMax(
        self,
        data: _Operand,
        /,
        *,
        axis: int | Parameter = 0,
        keepdims: int | Parameter = 1,
        select_last_index: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The index of the greatest element along an axis."""
    def ArgMin(
        self,
        data: _Operand,
        /,
        *,
        axis: int | Parameter = 0,
        keepdims: int | Parameter = 1,
        select_last_index: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The index of the least element along an axis."""
    def Asin(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The angle between -pi/2 and pi/2 whose sine is each element."""
    def Asinh(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The inverse hyperbolic sine of each element."""
    def Atan(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The angle between -pi/2 and pi/2 whose tangent is each element."""
    def Atanh(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The inverse hyperbolic tangent of each element, for elements between -1 and 1."""
    @overload
    def Attention(
        self,
        Q: _Operand,
        K: _Operand,
        V: _Operand,
        attn_mask: _Operand | None = None,
        past_key: _Operand | None = None,
        past_value: _Operand | None = None,
        nonpad_kv_seqlen: _Operand | None = None,
        /,
        *,
        is_causal: int | Parameter = 0,
        kv_num_heads: int | Parameter = ...,
        left_window_size: int | Parameter = -1,
        q_num_heads: int | Parameter = ...,
        qk_matmul_output_mode: int | Parameter = 0,
        right_window_size: int | Parameter = -1,
        scale: float | Parameter = ...,
        softcap: float | Parameter = 0.0,
        softmax_precision: int | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Scaled dot-product attention over heads, with optional mask, causality and key-value cache."""
    @overload
    def Attention(
        self,
        Q: _Operand,
        K: _Operand,
        V: _Operand,
        attn_mask: _Operand | None = None,
        past_key: _Operand | None = None,
        past_value: _Operand | None = None,
        nonpad_kv_seqlen: _Operand | None = None,
        /,
        *,
        is_causal: int | Parameter = 0,
        kv_num_heads: int | Parameter = ...,
        left_window_size: int | Parameter = -1,
        q_num_heads: int | Parameter = ...,
        qk_matmul_output_mode: int | Parameter = 0,
        right_window_size: int | Parameter = -1,
        scale: float | Parameter = ...,
        softcap: float | Parameter = 0.0,
        softmax_precision: int | Parameter = ...,
        name: str = "",
        outputs: _Names,
    ) -> Any:
        """Scaled dot-product attention over heads, with optional mask, causality and key-value cache."""
    def AveragePool(
        self,
        X: _Operand,
        /,
        *,
        kernel_shape: Sequence[int] | Parameter,
        auto_pad: str | bytes | Parameter = "NOTSET",
        ceil_mode: int | Parameter = 0,
        count_include_pad: int | Parameter = 0,
        dilations: Sequence[int] | Parameter = ...,
        pads: Sequence[int] | Parameter = ...,
        strides: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The mean of each window of an image or signal."""
    @overload
    def BatchNormalization(
        self,
        X: _Operand,
        scale: _Operand,
        B: _Operand,
        input_mean: _Operand,
        input_var: _Operand,
        /,
        *,
        epsilon: float | Parameter = 1e-05,
        momentum: float | Parameter = 0.9,
        training_mode: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Normalizes each channel with a given mean and variance, or with those of the batch in training."""
    @overload
    def BatchNormalization(
        self,
        X: _Operand,
        scale: _Operand,
        B: _Operand,
        input_mean: _Operand,
        input_var: _Operand,
        /,
        *,
        epsilon: float | Parameter = 1e-05,
        momentum: float | Parameter = 0.9,
        training_mode: int | Parameter = 0,
        name: str = "",
        outputs: _Names,
    ) -> Any:
        """Normalizes each channel with a given mean and variance, or with those of the batch in training."""
    def Bernoulli(
        self,
        input: _Operand,
        /,
        *,
        dtype: int | Parameter = ...,
        seed: float | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Draws 1 or 0 for each element, which is the probability of 1."""
    def BitCast(self, input: _Operand, /, *, to: int | Parameter, outputs: str | None = None, name: str = "") -> Value:
        """Takes the bits of each element as another type of the same size."""
    def BitShift(
        self,
        X: _Operand,
        Y: _Operand,
        /,
        *,
        direction: str | bytes | Parameter,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Shifts the bits of each element left or right, by as many places as another tensor says."""
    def BitwiseAnd(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Keeps the bits that are set in both integers, element by element, with broadcasting."""
    def BitwiseNot(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Flips every bit of each integer."""
    def BitwiseOr(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Keeps the bits that are set in either integer, element by element, with broadcasting."""
    def BitwiseXor(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Keeps the bits that differ between two integers, element by element, with broadcasting."""
    def BlackmanWindow(
        self,
        size: _Operand,
        /,
        *,
        output_datatype: int | Parameter = 1,
        periodic: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A Blackman window of the given length, to weigh a signal before its Fourier transform."""
    def Cast(
        self,
        input: _Operand,
        /,
        *,
        to: int | Parameter,
        round_mode: str | bytes | Parameter = "up",
        saturate: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Converts each element to another element type, named by its number."""
    def CastLike(
        self,
        input: _Operand,
        target_type: _Operand,
        /,
        *,
        round_mode: str | bytes | Parameter = "up",
        saturate: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Converts each element to the element type of a second tensor."""
    def CausalConvWithState(
        self,
        input: _Operand,
        weight: _Operand,
        bias: _Operand | None = None,
        past_state: _Operand | None = None,
        /,
        *,
        activation: str | bytes | Parameter = "none",
        outputs: _Names | None = None,
        name: str = "",
    ) -> tuple[Value, Value]:
        """Convolves each channel with its own kernel over past steps only, and carries the last steps to the next call."""
    def Ceil(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Rounds each element up to an integer."""
    def Celu(
        self,
        X: _Operand,
        /,
        *,
        alpha: float | Parameter = 1.0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Lets positive elements pass and bends negative ones towards -alpha, with a smooth slope."""
    def CenterCropPad(
        self,
        input_data: _Operand,
        shape: _Operand,
        /,
        *,
        axes: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Crops the middle of a tensor to a shape, or pads around it, whichever each axis needs."""
    def Clip(
        self,
        input: _Operand,
        min: _Operand | None = None,
        max: _Operand | None = None,
        /,
        *,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Limits each element to a least and a greatest value."""
    def Col2Im(
        self,
        input: _Operand,
        image_shape: _Operand,
        block_shape: _Operand,
        /,
        *,
        dilations: Sequence[int] | Parameter = ...,
        pads: Sequence[int] | Parameter = ...,
        strides: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Puts columns of flattened blocks back into an image, and adds where they overlap."""
    def Compress(
        self,
        input: _Operand,
        condition: _Operand,
        /,
        *,
        axis: int | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Keeps the slices along an axis for which a condition is true."""
    def Concat(
        self,
        *inputs: _Operand | None,
        axis: int | Parameter,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Joins tensors along an axis that exists."""
    def ConcatFromSequence(
        self,
        input_sequence: _Operand,
        /,
        *,
        axis: int | Parameter,
        new_axis: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Joins the tensors of a sequence along an axis, or stacks them along a new one."""
    def Constant(
        self,
        *,
        value: ArrayLike | Parameter = ...,
        value_float: float | Parameter = ...,
        value_floats: Sequence[float] | Parameter = ...,
        value_int: int | Parameter = ...,
        value_ints: Sequence[int] | Parameter = ...,
        value_string: str | bytes | Parameter = ...,
        value_strings: Sequence[str | bytes] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A tensor that is written in the node."""
    def ConstantOfShape(
        self,
        input: _Operand,
        /,
        *,
        value: ArrayLike | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A tensor of a given shape with one value everywhere."""
    def Conv(
        self,
        X: _Operand,
        W: _Operand,
        B: _Operand | None = None,
        /,
        *,
        auto_pad: str | bytes | Parameter = "NOTSET",
        dilations: Sequence[int] | Parameter = ...,
        group: int | Parameter = 1,
        kernel_shape: Sequence[int] | Parameter = ...,
        pads: Sequence[int] | Parameter = ...,
        strides: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Convolution of an image or signal with learned filters."""
    def ConvInteger(
        self,
        x: _Operand,
        w: _Operand,
        x_zero_point: _Operand | None = None,
        w_zero_point: _Operand | None = None,
        /,
        *,
        auto_pad: str | bytes | Parameter = "NOTSET",
        dilations: Sequence[int] | Parameter = ...,
        group: int | Parameter = 1,
        kernel_shape: Sequence[int] | Parameter = ...,
        pads: Sequence[int] | Parameter = ...,
        strides: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Convolution of 8-bit integers, accumulated in 32 bits."""
    def ConvTranspose(
        self,
        X: _Operand,
        W: _Operand,
        B: _Operand | None = None,
        /,
        *,
        auto_pad: str | bytes | Parameter = "NOTSET",
        dilations: Sequence[int] | Parameter = ...,
        group: int | Parameter = 1,
        kernel_shape: Sequence[int] | Parameter = ...,
        output_padding: Sequence[int] | Parameter = ...,
        output_shape: Sequence[int] | Parameter = ...,
        pads: Sequence[int] | Parameter = ...,
        strides: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Transposed convolution: spreads each element over a window, which makes images larger."""
    def Cos(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The cosine of each element, in radians."""
    def Cosh(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The hyperbolic cosine of each element."""
    def CumProd(
        self,
        x: _Operand,
        axis: _Operand,
        /,
        *,
        exclusive: int | Parameter = 0,
        reverse: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The product of all elements so far along an axis."""
    def CumSum(
        self,
        x: _Operand,
        axis: _Operand,
        /,
        *,
        exclusive: int | Parameter = 0,
        reverse: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The sum of all elements so far along an axis."""
    def DFT(
        self,
        input: _Operand,
        dft_length: _Operand | None = None,
        axis: _Operand | None = None,
        /,
        *,
        inverse: int | Parameter = 0,
        onesided: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The discrete Fourier transform along an axis, or its inverse; the last axis holds real and imaginary part."""
    def DeformConv(
        self,
        X: _Operand,
        W: _Operand,
        offset: _Operand,
        B: _Operand | None = None,
        mask: _Operand | None = None,
        /,
        *,
        dilations: Sequence[int] | Parameter = ...,
        group: int | Parameter = 1,
        kernel_shape: Sequence[int] | Parameter = ...,
        offset_group: int | Parameter = 1,
        pads: Sequence[int] | Parameter = ...,
        strides: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Convolution whose sampling points are moved by learned offsets."""
    def DepthToSpace(
        self,
        input: _Operand,
        /,
        *,
        blocksize: int | Parameter,
        mode: str | bytes | Parameter = "DCR",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Moves channels into square blocks of pixels."""
    def DequantizeLinear(
        self,
        x: _Operand,
        x_scale: _Operand,
        x_zero_point: _Operand | None = None,
        /,
        *,
        axis: int | Parameter = 1,
        block_size: int | Parameter = 0,
        output_dtype: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Turns quantized integers back into real numbers: (x - zero point) * scale."""
    def Det(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The determinant of each square matrix of a batch."""
    def Div(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The quotient of two tensors, element by element, with broadcasting; of integers without the fraction."""
    @overload
    def Dropout(
        self,
        data: _Operand,
        ratio: _Operand | None = None,
        training_mode: _Operand | None = None,
        /,
        *,
        seed: int | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Sets elements to 0 at random and scales the others up, in training; otherwise passes its input on."""
    @overload
    def Dropout(
        self,
        data: _Operand,
        ratio: _Operand | None = None,
        training_mode: _Operand | None = None,
        /,
        *,
        seed: int | Parameter = ...,
        name: str = "",
        outputs: _Names,
    ) -> Any:
        """Sets elements to 0 at random and scales the others up, in training; otherwise passes its input on."""
    def DynamicQuantizeLinear(
        self,
        x: _Operand,
        /,
        *,
        outputs: _Names | None = None,
        name: str = "",
    ) -> tuple[Value, Value, Value]:
        """Quantizes to 8 bits with a scale and a zero point that fit the range of the input."""
    def Einsum(
        self,
        *Inputs: _Operand | None,
        equation: str | bytes | Parameter,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Sums of products of tensors, in the index notation of Einstein."""
    def Elu(
        self,
        X: _Operand,
        /,
        *,
        alpha: float | Parameter = 1.0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Lets positive elements pass; a negative x becomes alpha * (exp(x) - 1)."""
    def Equal(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Whether two elements are equal, with broadcasting."""
    def Erf(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The Gauss error function of each element."""
    def Exp(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """e to the power of each element."""
    def Expand(self, input: _Operand, shape: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Broadcasts a tensor to a shape."""
    def EyeLike(
        self,
        input: _Operand,
        /,
        *,
        dtype: int | Parameter = ...,
        k: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A matrix of the shape of its input, with ones on a diagonal and zeros elsewhere."""
    def Flatten(
        self,
        input: _Operand,
        /,
        *,
        axis: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Makes a matrix: the axes before a given one become rows, the others columns."""
    def Floor(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Rounds each element down to an integer."""
    def GRU(
        self,
        X: _Operand,
        W: _Operand,
        R: _Operand,
        B: _Operand | None = None,
        sequence_lens: _Operand | None = None,
        initial_h: _Operand | None = None,
        /,
        *,
        activation_alpha: Sequence[float] | Parameter = ...,
        activation_beta: Sequence[float] | Parameter = ...,
        activations: Sequence[str | bytes] | Parameter = ...,
        clip: float | Parameter = ...,
        direction: str | bytes | Parameter = "forward",
        hidden_size: int | Parameter = ...,
        layout: int | Parameter = 0,
        linear_before_reset: int | Parameter = 0,
        outputs: _Names | str | None = None,
        name: str = "",
    ) -> Any:
        """A layer of gated recurrent units over a sequence."""
    def Gather(
        self,
        data: _Operand,
        indices: _Operand,
        /,
        *,
        axis: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Takes slices along an axis by their indices."""
    def GatherElements(
        self,
        data: _Operand,
        indices: _Operand,
        /,
        *,
        axis: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Takes single elements; each index says where along an axis."""
    def GatherND(
        self,
        data: _Operand,
        indices: _Operand,
        /,
        *,
        batch_dims: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Takes elements or slices by tuples of indices."""
    def Gelu(
        self,
        X: _Operand,
        /,
        *,
        approximate: str | bytes | Parameter = "none",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Scales each element by the probability that a normal variable is below it."""
    def Gemm(
        self,
        A: _Operand,
        B: _Operand,
        C: _Operand | None = None,
        /,
        *,
        alpha: float | Parameter = 1.0,
        beta: float | Parameter = 1.0,
        transA: int | Parameter = 0,
        transB: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Product of two matrices, each as it is or transposed, scaled, plus a scaled third one."""
    def GlobalAveragePool(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The mean of each channel over all its pixels."""
    def GlobalLpPool(
        self,
        X: _Operand,
        /,
        *,
        p: int | Parameter = 2,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The p-norm of each channel over all its pixels."""
    def GlobalMaxPool(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The greatest pixel of each channel."""
    def Greater(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Whether the first element is greater than the second, with broadcasting."""
    def GreaterOrEqual(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Whether the first element is greater than the second or equal to it, with broadcasting."""
    def GridSample(
        self,
        X: _Operand,
        grid: _Operand,
        /,
        *,
        align_corners: int | Parameter = 0,
        mode: str | bytes | Parameter = "linear",
        padding_mode: str | bytes | Parameter = "zeros",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Samples an image at given coordinates, which run from -1 to 1 along each axis."""
    def GroupNormalization(
        self,
        X: _Operand,
        scale: _Operand,
        bias: _Operand,
        /,
        *,
        num_groups: int | Parameter,
        epsilon: float | Parameter = 1e-05,
        stash_type: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Normalizes groups of channels of each sample to mean 0 and variance 1, then scales and shifts each channel."""
    def HammingWindow(
        self,
        size: _Operand,
        /,
        *,
        output_datatype: int | Parameter = 1,
        periodic: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A Hamming window of the given length, to weigh a signal before its Fourier transform."""
    def HannWindow(
        self,
        size: _Operand,
        /,
        *,
        output_datatype: int | Parameter = 1,
        periodic: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A Hann window of the given length, to weigh a signal before its Fourier transform."""
    def HardSigmoid(
        self,
        X: _Operand,
        /,
        *,
        alpha: float | Parameter = 0.2,
        beta: float | Parameter = 0.5,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A straight line for a sigmoid: alpha * x + beta, limited to 0 and 1."""
    def HardSwish(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Each element times its hard sigmoid: x * (x + 3) / 6 between -3 and 3."""
    def Hardmax(
        self,
        input: _Operand,
        /,
        *,
        axis: int | Parameter = -1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """1 at the first greatest element along an axis and 0 elsewhere."""
    def Identity(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Passes its input on."""
    def If(
        self,
        cond: _Operand,
        /,
        *,
        else_branch: _Graph | Parameter,
        then_branch: _Graph | Parameter,
        outputs: _Names | str | None = None,
        name: str = "",
    ) -> Any:
        """Runs one of two graphs, by a condition."""
    def ImageDecoder(
        self,
        encoded_stream: _Operand,
        /,
        *,
        pixel_format: str | bytes | Parameter = "RGB",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Decodes an image file (BMP, JPEG, PNG and others) into pixels."""
    def InstanceNormalization(
        self,
        input: _Operand,
        scale: _Operand,
        B: _Operand,
        /,
        *,
        epsilon: float | Parameter = 1e-05,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Normalizes each channel of each sample to mean 0 and variance 1, then scales and shifts it."""
    def IsInf(
        self,
        X: _Operand,
        /,
        *,
        detect_negative: int | Parameter = 1,
        detect_positive: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Whether each element is infinite, of either sign or one of them."""
    def IsNaN(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Whether each element is not a number."""
    def LRN(
        self,
        X: _Operand,
        /,
        *,
        size: int | Parameter,
        alpha: float | Parameter = 0.0001,
        beta: float | Parameter = 0.75,
        bias: float | Parameter = 1.0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Divides each pixel by a power of the sum of squares over neighbouring channels."""
    def LSTM(
        self,
        X: _Operand,
        W: _Operand,
        R: _Operand,
        B: _Operand | None = None,
        sequence_lens: _Operand | None = None,
        initial_h: _Operand | None = None,
        initial_c: _Operand | None = None,
        P: _Operand | None = None,
        /,
        *,
        activation_alpha: Sequence[float] | Parameter = ...,
        activation_beta: Sequence[float] | Parameter = ...,
        activations: Sequence[str | bytes] | Parameter = ...,
        clip: float | Parameter = ...,
        direction: str | bytes | Parameter = "forward",
        hidden_size: int | Parameter = ...,
        input_forget: int | Parameter = 0,
        layout: int | Parameter = 0,
        outputs: _Names | str | None = None,
        name: str = "",
    ) -> Any:
        """A layer of long short-term memory over a sequence."""
    @overload
    def LayerNormalization(
        self,
        X: _Operand,
        Scale: _Operand,
        B: _Operand | None = None,
        /,
        *,
        axis: int | Parameter = -1,
        epsilon: float | Parameter = 1e-05,
        stash_type: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Normalizes the last axes to mean 0 and variance 1, then scales and shifts them."""
    @overload
    def LayerNormalization(
        self,
        X: _Operand,
        Scale: _Operand,
        B: _Operand | None = None,
        /,
        *,
        axis: int | Parameter = -1,
        epsilon: float | Parameter = 1e-05,
        stash_type: int | Parameter = 1,
        name: str = "",
        outputs: _Names,
    ) -> Any:
        """Normalizes the last axes to mean 0 and variance 1, then scales and shifts them."""
    def LeakyRelu(
        self,
        X: _Operand,
        /,
        *,
        alpha: float | Parameter = 0.01,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Lets positive elements pass and scales negative ones down."""
    def Less(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Whether the first element is less than the second, with broadcasting."""
    def LessOrEqual(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Whether the first element is less than the second or equal to it, with broadcasting."""
    def LinearAttention(
        self,
        query: _Operand,
        key: _Operand,
        value: _Operand,
        past_state: _Operand | None = None,
        decay: _Operand | None = None,
        beta: _Operand | None = None,
        /,
        *,
        kv_num_heads: int | Parameter,
        q_num_heads: int | Parameter,
        chunk_size: int | Parameter = 64,
        scale: float | Parameter = 0.0,
        update_rule: str | bytes | Parameter = "gated_delta",
        outputs: _Names | None = None,
        name: str = "",
    ) -> tuple[Value, Value]:
        """Attention as a recurrence over a state of fixed size, with optional decay and delta rule."""
    def Log(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The natural logarithm of each element."""
    def LogSoftmax(
        self,
        input: _Operand,
        /,
        *,
        axis: int | Parameter = -1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The logarithm of the softmax along an axis."""
    def Loop(
        self,
        M: _Operand | None,
        cond: _Operand | None,
        /,
        *v_initial: _Operand | None,
        body: _Graph | Parameter,
        outputs: _Names | str | None = None,
        name: str = "",
    ) -> Any:
        """Runs a graph again and again, for a number of times or while a condition holds, and passes values on."""
    def LpNormalization(
        self,
        input: _Operand,
        /,
        *,
        axis: int | Parameter = -1,
        p: int | Parameter = 2,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Divides each vector along an axis by its 1-norm or 2-norm."""
    def LpPool(
        self,
        X: _Operand,
        /,
        *,
        kernel_shape: Sequence[int] | Parameter,
        auto_pad: str | bytes | Parameter = "NOTSET",
        ceil_mode: int | Parameter = 0,
        dilations: Sequence[int] | Parameter = ...,
        p: int | Parameter = 2,
        pads: Sequence[int] | Parameter = ...,
        strides: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The p-norm of each window of an image or signal."""
    def MatMul(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The product of two matrices, or of two batches of matrices."""
    def MatMulInteger(
        self,
        A: _Operand,
        B: _Operand,
        a_zero_point: _Operand | None = None,
        b_zero_point: _Operand | None = None,
        /,
        *,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The product of two matrices of 8-bit integers, accumulated in 32 bits."""
    def Max(self, *data_0: _Operand | None, outputs: str | None = None, name: str = "") -> Value:
        """The greatest of several tensors, element by element, with broadcasting."""
    @overload
    def MaxPool(
        self,
        X: _Operand,
        /,
        *,
        kernel_shape: Sequence[int] | Parameter,
        auto_pad: str | bytes | Parameter = "NOTSET",
        ceil_mode: int | Parameter = 0,
        dilations: Sequence[int] | Parameter = ...,
        pads: Sequence[int] | Parameter = ...,
        storage_order: int | Parameter = 0,
        strides: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The greatest element of each window of an image or signal, and where it was."""
    @overload
    def MaxPool(
        self,
        X: _Operand,
        /,
        *,
        kernel_shape: Sequence[int] | Parameter,
        auto_pad: str | bytes | Parameter = "NOTSET",
        ceil_mode: int | Parameter = 0,
        dilations: Sequence[int] | Parameter = ...,
        pads: Sequence[int] | Parameter = ...,
        storage_order: int | Parameter = 0,
        strides: Sequence[int] | Parameter = ...,
        name: str = "",
        outputs: _Names,
    ) -> Any:
        """The greatest element of each window of an image or signal, and where it was."""
    def MaxRoiPool(
        self,
        X: _Operand,
        rois: _Operand,
        /,
        *,
        pooled_shape: Sequence[int] | Parameter,
        spatial_scale: float | Parameter = 1.0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Divides each region of an image into a grid and takes the greatest pixel of each cell."""
    def MaxUnpool(
        self,
        X: _Operand,
        I: _Operand,
        output_shape: _Operand | None = None,
        /,
        *,
        kernel_shape: Sequence[int] | Parameter,
        pads: Sequence[int] | Parameter = ...,
        strides: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Puts the elements that MaxPool kept back where they were, and 0 elsewhere."""
    def Mean(self, *data_0: _Operand | None, outputs: str | None = None, name: str = "") -> Value:
        """The mean of several tensors, element by element, with broadcasting."""
    def MeanVarianceNormalization(
        self,
        X: _Operand,
        /,
        *,
        axes: Sequence[int] | Parameter = [0, 2, 3],
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Normalizes over given axes to mean 0 and variance 1."""
    def MelWeightMatrix(
        self,
        num_mel_bins: _Operand,
        dft_length: _Operand,
        sample_rate: _Operand,
        lower_edge_hertz: _Operand,
        upper_edge_hertz: _Operand,
        /,
        *,
        output_datatype: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The matrix that maps a spectrum to bands of the mel scale."""
    def Min(self, *data_0: _Operand | None, outputs: str | None = None, name: str = "") -> Value:
        """The least of several tensors, element by element, with broadcasting."""
    def Mish(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Each element times the hyperbolic tangent of its softplus."""
    def Mod(
        self,
        A: _Operand,
        B: _Operand,
        /,
        *,
        fmod: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The remainder of a division, element by element, with the sign of the divisor, or of the dividend with `fmod`."""
    def Mul(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The product of two tensors, element by element, with broadcasting."""
    def Multinomial(
        self,
        input: _Operand,
        /,
        *,
        dtype: int | Parameter = 6,
        sample_size: int | Parameter = 1,
        seed: float | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Draws classes at random, by unnormalized log-probabilities."""
    def Neg(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Changes the sign of each element."""
    def NegativeLogLikelihoodLoss(
        self,
        input: _Operand,
        target: _Operand,
        weight: _Operand | None = None,
        /,
        *,
        ignore_index: int | Parameter = ...,
        reduction: str | bytes | Parameter = "mean",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The loss of log-probabilities against the right classes."""
    def NonMaxSuppression(
        self,
        boxes: _Operand,
        scores: _Operand,
        max_output_boxes_per_class: _Operand | None = None,
        iou_threshold: _Operand | None = None,
        score_threshold: _Operand | None = None,
        /,
        *,
        center_point_box: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Picks the boxes with the best scores and drops those that overlap a better one too much."""
    def NonZero(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The indices of all elements that are not 0, one column each."""
    def Not(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Logical negation of each element."""
    def OneHot(
        self,
        indices: _Operand,
        depth: _Operand,
        values: _Operand,
        /,
        *,
        axis: int | Parameter = -1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A vector for each index, with one value at that place and another elsewhere."""
    def Optional(
        self,
        input: _Operand | None = None,
        /,
        *,
        type: str | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """An optional value that holds its input, or none of a given type."""
    def OptionalGetElement(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The value that an optional holds."""
    def OptionalHasElement(
        self,
        input: _Operand | None = None,
        /,
        *,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Whether an optional holds a value."""
    def Or(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Logical or of two boolean tensors, element by element, with broadcasting."""
    def PRelu(self, X: _Operand, slope: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Lets positive elements pass and scales negative ones by a learned slope."""
    def Pad(
        self,
        data: _Operand,
        pads: _Operand,
        constant_value: _Operand | None = None,
        axes: _Operand | None = None,
        /,
        *,
        mode: str | bytes | Parameter = "constant",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Adds elements before and after each axis: a constant, copies of the edge, a reflection, or the other end."""
    def Pow(self, X: _Operand, Y: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The power of each element to an exponent, with broadcasting."""
    def QLinearConv(
        self,
        x: _Operand,
        x_scale: _Operand,
        x_zero_point: _Operand,
        w: _Operand,
        w_scale: _Operand,
        w_zero_point: _Operand,
        y_scale: _Operand,
        y_zero_point: _Operand,
        B: _Operand | None = None,
        /,
        *,
        auto_pad: str | bytes | Parameter = "NOTSET",
        dilations: Sequence[int] | Parameter = ...,
        group: int | Parameter = 1,
        kernel_shape: Sequence[int] | Parameter = ...,
        pads: Sequence[int] | Parameter = ...,
        strides: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Convolution of quantized tensors, with a quantized result."""
    def QLinearMatMul(
        self,
        a: _Operand,
        a_scale: _Operand,
        a_zero_point: _Operand,
        b: _Operand,
        b_scale: _Operand,
        b_zero_point: _Operand,
        y_scale: _Operand,
        y_zero_point: _Operand,
        /,
        *,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The product of two quantized matrices, with a quantized result."""
    def QuantizeLinear(
        self,
        x: _Operand,
        y_scale: _Operand,
        y_zero_point: _Operand | None = None,
        /,
        *,
        axis: int | Parameter = 1,
        block_size: int | Parameter = 0,
        output_dtype: int | Parameter = 0,
        precision: int | Parameter = 0,
        saturate: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Rounds real numbers to integers of few bits: x / scale + zero point, limited to the range of the type."""
    def RMSNormalization(
        self,
        X: _Operand,
        scale: _Operand,
        /,
        *,
        axis: int | Parameter = -1,
        epsilon: float | Parameter = 1e-05,
        stash_type: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Divides the last axes by the root of their mean square, then scales them."""
    def RNN(
        self,
        X: _Operand,
        W: _Operand,
        R: _Operand,
        B: _Operand | None = None,
        sequence_lens: _Operand | None = None,
        initial_h: _Operand | None = None,
        /,
        *,
        activation_alpha: Sequence[float] | Parameter = ...,
        activation_beta: Sequence[float] | Parameter = ...,
        activations: Sequence[str | bytes] | Parameter = ["Tanh", "Tanh"],
        clip: float | Parameter = ...,
        direction: str | bytes | Parameter = "forward",
        hidden_size: int | Parameter = ...,
        layout: int | Parameter = 0,
        outputs: _Names | str | None = None,
        name: str = "",
    ) -> Any:
        """A simple recurrent layer over a sequence."""
    def RandomNormal(
        self,
        *,
        shape: Sequence[int] | Parameter,
        dtype: int | Parameter = 1,
        mean: float | Parameter = 0.0,
        scale: float | Parameter = 1.0,
        seed: float | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Draws from a normal distribution, in a given shape."""
    def RandomNormalLike(
        self,
        input: _Operand,
        /,
        *,
        dtype: int | Parameter = ...,
        mean: float | Parameter = 0.0,
        scale: float | Parameter = 1.0,
        seed: float | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Draws from a normal distribution, in the shape of another tensor."""
    def RandomUniform(
        self,
        *,
        shape: Sequence[int] | Parameter,
        dtype: int | Parameter = 1,
        high: float | Parameter = 1.0,
        low: float | Parameter = 0.0,
        seed: float | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Draws from an interval, all numbers being equally likely, in a given shape."""
    def RandomUniformLike(
        self,
        input: _Operand,
        /,
        *,
        dtype: int | Parameter = ...,
        high: float | Parameter = 1.0,
        low: float | Parameter = 0.0,
        seed: float | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Draws from an interval, all numbers being equally likely, in the shape of another tensor."""
    def Range(
        self,
        start: _Operand,
        limit: _Operand,
        delta: _Operand,
        /,
        *,
        stash_type: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The numbers from a start to a limit, which is left out, by a step."""
    def Reciprocal(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """1 divided by each element."""
    def ReduceL1(
        self,
        data: _Operand,
        axes: _Operand | None = None,
        /,
        *,
        keepdims: int | Parameter = 1,
        noop_with_empty_axes: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The sum of absolute values along given axes, or along all."""
    def ReduceL2(
        self,
        data: _Operand,
        axes: _Operand | None = None,
        /,
        *,
        keepdims: int | Parameter = 1,
        noop_with_empty_axes: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The root of the sum of squares along given axes, or along all."""
    def ReduceLogSum(
        self,
        data: _Operand,
        axes: _Operand | None = None,
        /,
        *,
        keepdims: int | Parameter = 1,
        noop_with_empty_axes: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The logarithm of the sum along given axes, or along all."""
    def ReduceLogSumExp(
        self,
        data: _Operand,
        axes: _Operand | None = None,
        /,
        *,
        keepdims: int | Parameter = 1,
        noop_with_empty_axes: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The logarithm of the sum of exponentials along given axes, or along all."""
    def ReduceMax(
        self,
        data: _Operand,
        axes: _Operand | None = None,
        /,
        *,
        keepdims: int | Parameter = 1,
        noop_with_empty_axes: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The greatest element along given axes, or along all."""
    def ReduceMean(
        self,
        data: _Operand,
        axes: _Operand | None = None,
        /,
        *,
        keepdims: int | Parameter = 1,
        noop_with_empty_axes: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The mean along given axes, or along all."""
    def ReduceMin(
        self,
        data: _Operand,
        axes: _Operand | None = None,
        /,
        *,
        keepdims: int | Parameter = 1,
        noop_with_empty_axes: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The least element along given axes, or along all."""
    def ReduceProd(
        self,
        data: _Operand,
        axes: _Operand | None = None,
        /,
        *,
        keepdims: int | Parameter = 1,
        noop_with_empty_axes: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The product of the elements along given axes, or along all."""
    def ReduceSum(
        self,
        data: _Operand,
        axes: _Operand | None = None,
        /,
        *,
        keepdims: int | Parameter = 1,
        noop_with_empty_axes: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The sum of the elements along given axes, or along all."""
    def ReduceSumSquare(
        self,
        data: _Operand,
        axes: _Operand | None = None,
        /,
        *,
        keepdims: int | Parameter = 1,
        noop_with_empty_axes: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The sum of squares along given axes, or along all."""
    def RegexFullMatch(
        self,
        X: _Operand,
        /,
        *,
        pattern: str | bytes | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Whether a regular expression matches the whole of each string."""
    def Relu(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Lets positive elements pass; the others become 0."""
    def Reshape(
        self,
        data: _Operand,
        shape: _Operand,
        /,
        *,
        allowzero: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The same elements in another shape; -1 stands for what is left over, 0 for the axis as it was."""
    def Resize(
        self,
        X: _Operand,
        roi: _Operand | None = None,
        scales: _Operand | None = None,
        sizes: _Operand | None = None,
        /,
        *,
        antialias: int | Parameter = 0,
        axes: Sequence[int] | Parameter = ...,
        coordinate_transformation_mode: str | bytes | Parameter = "half_pixel",
        cubic_coeff_a: float | Parameter = -0.75,
        exclude_outside: int | Parameter = 0,
        extrapolation_value: float | Parameter = 0.0,
        keep_aspect_ratio_policy: str | bytes | Parameter = "stretch",
        mode: str | bytes | Parameter = "nearest",
        nearest_mode: str | bytes | Parameter = "round_prefer_floor",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Scales an image to another size, by nearest, linear or cubic interpolation."""
    def ReverseSequence(
        self,
        input: _Operand,
        sequence_lens: _Operand,
        /,
        *,
        batch_axis: int | Parameter = 1,
        time_axis: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Reverses the first steps of each sequence of a batch, as many as its length says."""
    def RoiAlign(
        self,
        X: _Operand,
        rois: _Operand,
        batch_indices: _Operand,
        /,
        *,
        coordinate_transformation_mode: str | bytes | Parameter = "half_pixel",
        mode: str | bytes | Parameter = "avg",
        output_height: int | Parameter = 1,
        output_width: int | Parameter = 1,
        sampling_ratio: int | Parameter = 0,
        spatial_scale: float | Parameter = 1.0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Samples each region of an image on a grid, without rounding its corners."""
    def RotaryEmbedding(
        self,
        X: _Operand,
        cos_cache: _Operand,
        sin_cache: _Operand,
        position_ids: _Operand | None = None,
        /,
        *,
        interleaved: int | Parameter = 0,
        num_heads: int | Parameter = ...,
        rotary_embedding_dim: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Rotates pairs of elements of each head by angles that depend on the position."""
    def Round(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Rounds each element to the nearest integer, halves to the even one."""
    def STFT(
        self,
        signal: _Operand,
        frame_step: _Operand,
        window: _Operand | None = None,
        frame_length: _Operand | None = None,
        /,
        *,
        onesided: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The Fourier transforms of overlapping frames of a signal."""
    def Scan(
        self,
        *initial_state_and_scan_inputs: _Operand | None,
        body: _Graph | Parameter,
        num_scan_inputs: int | Parameter,
        scan_input_axes: Sequence[int] | Parameter = ...,
        scan_input_directions: Sequence[int] | Parameter = ...,
        scan_output_axes: Sequence[int] | Parameter = ...,
        scan_output_directions: Sequence[int] | Parameter = ...,
        outputs: _Names | str | None = None,
        name: str = "",
    ) -> Any:
        """Runs a graph over the slices of tensors, passes a state on, and stacks what it yields."""
    def ScatterElements(
        self,
        data: _Operand,
        indices: _Operand,
        updates: _Operand,
        /,
        *,
        axis: int | Parameter = 0,
        reduction: str | bytes | Parameter = "none",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Writes single elements into a copy of a tensor, or adds them; each index says where along an axis."""
    def ScatterND(
        self,
        data: _Operand,
        indices: _Operand,
        updates: _Operand,
        /,
        *,
        reduction: str | bytes | Parameter = "none",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Writes elements or slices into a copy of a tensor, at tuples of indices."""
    def Selu(
        self,
        X: _Operand,
        /,
        *,
        alpha: float | Parameter = 1.6732632,
        gamma: float | Parameter = 1.050701,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A scaled Elu whose factors keep mean and variance from layer to layer."""
    def SequenceAt(
        self,
        input_sequence: _Operand,
        position: _Operand,
        /,
        *,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The tensor at a position of a sequence; negative positions count from its end."""
    def SequenceConstruct(self, *inputs: _Operand | None, outputs: str | None = None, name: str = "") -> Value:
        """A sequence of tensors."""
    def SequenceEmpty(self, *, dtype: int | Parameter = ..., outputs: str | None = None, name: str = "") -> Value:
        """A sequence without tensors."""
    def SequenceErase(
        self,
        input_sequence: _Operand,
        position: _Operand | None = None,
        /,
        *,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A sequence without the tensor at a position, or without the last one."""
    def SequenceInsert(
        self,
        input_sequence: _Operand,
        tensor: _Operand,
        position: _Operand | None = None,
        /,
        *,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A sequence with one more tensor, at a position or at the end."""
    def SequenceLength(self, input_sequence: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The number of tensors in a sequence."""
    def SequenceMap(
        self,
        input_sequence: _Operand,
        /,
        *additional_inputs: _Operand | None,
        body: _Graph | Parameter,
        outputs: _Names | str | None = None,
        name: str = "",
    ) -> Any:
        """Runs a graph on each tensor of a sequence, and makes sequences of the results."""
    def Shape(
        self,
        data: _Operand,
        /,
        *,
        end: int | Parameter = ...,
        start: int | Parameter = 0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The shape of a tensor, or a part of it, as a vector."""
    def Shrink(
        self,
        input: _Operand,
        /,
        *,
        bias: float | Parameter = 0.0,
        lambd: float | Parameter = 0.5,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Moves elements towards 0 by a bias; those nearer to 0 than lambd become 0."""
    def Sigmoid(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """1 / (1 + exp(-x)) of each element."""
    def Sign(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """-1, 0 or 1: the sign of each element."""
    @overload
    def SimplifiedLayerNormalization(
        self,
        X: _Operand,
        scale: _Operand,
        /,
        *,
        axis: int | Parameter = -1,
        epsilon: float | Parameter = 1e-05,
        stash_type: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Divides by the root mean square along the last axes and scales."""
    @overload
    def SimplifiedLayerNormalization(
        self,
        X: _Operand,
        scale: _Operand,
        /,
        *,
        axis: int | Parameter = -1,
        epsilon: float | Parameter = 1e-05,
        stash_type: int | Parameter = 1,
        name: str = "",
        outputs: _Names,
    ) -> Any:
        """Divides by the root mean square along the last axes and scales."""
    def Sin(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The sine of each element, in radians."""
    def Sinh(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The hyperbolic sine of each element."""
    def Size(self, data: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The number of elements of a tensor."""
    def Slice(
        self,
        data: _Operand,
        starts: _Operand,
        ends: _Operand,
        axes: _Operand | None = None,
        steps: _Operand | None = None,
        /,
        *,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """A part of a tensor: from starts to ends, which are left out, along given axes and by given steps."""
    def Softmax(
        self,
        input: _Operand,
        /,
        *,
        axis: int | Parameter = -1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Exponentials along an axis, divided by their sum: scores become probabilities."""
    @overload
    def SoftmaxCrossEntropyLoss(
        self,
        scores: _Operand,
        labels: _Operand,
        weights: _Operand | None = None,
        /,
        *,
        ignore_index: int | Parameter = ...,
        reduction: str | bytes | Parameter = "mean",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The loss of scores against the right classes, with a softmax in between."""
    @overload
    def SoftmaxCrossEntropyLoss(
        self,
        scores: _Operand,
        labels: _Operand,
        weights: _Operand | None = None,
        /,
        *,
        ignore_index: int | Parameter = ...,
        reduction: str | bytes | Parameter = "mean",
        name: str = "",
        outputs: _Names,
    ) -> Any:
        """The loss of scores against the right classes, with a softmax in between."""
    def Softplus(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """log(1 + exp(x)) of each element, a smooth Relu."""
    def Softsign(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """x / (1 + |x|) of each element."""
    def SpaceToDepth(
        self,
        input: _Operand,
        /,
        *,
        blocksize: int | Parameter,
        mode: str | bytes | Parameter = "DCR",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Moves square blocks of pixels into channels."""
    def Split(
        self,
        input: _Operand,
        split: _Operand | None = None,
        /,
        *,
        axis: int | Parameter = 0,
        num_outputs: int | Parameter = ...,
        outputs: _Names | str | None = None,
        name: str = "",
    ) -> Any:
        """Cuts a tensor along an axis into equal parts or parts of given lengths."""
    def SplitToSequence(
        self,
        input: _Operand,
        split: _Operand | None = None,
        /,
        *,
        axis: int | Parameter = 0,
        keepdims: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Cuts a tensor along an axis and makes a sequence of the parts."""
    def Sqrt(self, X: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The square root of each element."""
    def Squeeze(
        self,
        data: _Operand,
        axes: _Operand | None = None,
        /,
        *,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Drops axes of length 1."""
    def StringConcat(self, X: _Operand, Y: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Joins two tensors of strings, element by element, with broadcasting."""
    def StringNormalizer(
        self,
        X: _Operand,
        /,
        *,
        case_change_action: str | bytes | Parameter = "NONE",
        is_case_sensitive: int | Parameter = 0,
        locale: str | bytes | Parameter = ...,
        stopwords: Sequence[str | bytes] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Changes the case of strings and drops stop words."""
    def StringSplit(
        self,
        X: _Operand,
        /,
        *,
        delimiter: str | bytes | Parameter = ...,
        maxsplit: int | Parameter = ...,
        outputs: _Names | None = None,
        name: str = "",
    ) -> tuple[Value, Value]:
        """Splits each string at a delimiter, and counts the parts."""
    def Sub(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The difference of two tensors, element by element, with broadcasting."""
    def Sum(self, *data_0: _Operand | None, outputs: str | None = None, name: str = "") -> Value:
        """The sum of several tensors, element by element, with broadcasting."""
    def SwiGLU(
        self,
        A: _Operand,
        B: _Operand,
        /,
        *,
        alpha: float | Parameter = 1.0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Multiplies one tensor by the Swish of another, which is the gate."""
    def Swish(
        self,
        X: _Operand,
        /,
        *,
        alpha: float | Parameter = 1.0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """x * sigmoid(alpha * x) of each element."""
    def Tan(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The tangent of each element, in radians."""
    def Tanh(self, input: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """The hyperbolic tangent of each element."""
    def TensorScatter(
        self,
        past_cache: _Operand,
        update: _Operand,
        write_indices: _Operand | None = None,
        /,
        *,
        axis: int | Parameter = -2,
        mode: str | bytes | Parameter = "linear",
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Writes new steps into a cache of keys or values, at a position for each sample."""
    def TfIdfVectorizer(
        self,
        X: _Operand,
        /,
        *,
        max_gram_length: int | Parameter,
        max_skip_count: int | Parameter,
        min_gram_length: int | Parameter,
        mode: str | bytes | Parameter,
        ngram_counts: Sequence[int] | Parameter,
        ngram_indexes: Sequence[int] | Parameter,
        pool_int64s: Sequence[int] | Parameter = ...,
        pool_strings: Sequence[str | bytes] | Parameter = ...,
        weights: Sequence[float] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Counts the n-grams of a pool in each sequence, and may weigh the counts."""
    def ThresholdedRelu(
        self,
        X: _Operand,
        /,
        *,
        alpha: float | Parameter = 1.0,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Lets elements above alpha pass; the others become 0."""
    def Tile(self, input: _Operand, repeats: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Repeats a tensor along each axis."""
    def TopK(
        self,
        X: _Operand,
        K: _Operand,
        /,
        *,
        axis: int | Parameter = -1,
        largest: int | Parameter = 1,
        sorted: int | Parameter = 1,
        outputs: _Names | None = None,
        name: str = "",
    ) -> tuple[Value, Value]:
        """The k greatest or least elements along an axis, with their indices."""
    def Transpose(
        self,
        data: _Operand,
        /,
        *,
        perm: Sequence[int] | Parameter = ...,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Puts the axes into another order; the last one becomes the first unless `perm` says otherwise."""
    def Trilu(
        self,
        input: _Operand,
        k: _Operand | None = None,
        /,
        *,
        upper: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Keeps the triangle of each matrix above or below a diagonal; the rest becomes 0."""
    @overload
    def Unique(
        self,
        X: _Operand,
        /,
        *,
        axis: int | Parameter = ...,
        sorted: int | Parameter = 1,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """The different elements of a tensor, or its different slices along an axis, with places and counts."""
    @overload
    def Unique(
        self,
        X: _Operand,
        /,
        *,
        axis: int | Parameter = ...,
        sorted: int | Parameter = 1,
        name: str = "",
        outputs: _Names,
    ) -> Any:
        """The different elements of a tensor, or its different slices along an axis, with places and counts."""
    def Unsqueeze(self, data: _Operand, axes: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Inserts axes of length 1."""
    def Where(
        self,
        condition: _Operand,
        X: _Operand,
        Y: _Operand,
        /,
        *,
        outputs: str | None = None,
        name: str = "",
    ) -> Value:
        """Takes each element from one of two tensors, by a condition, with broadcasting."""
    def Xor(self, A: _Operand, B: _Operand, /, *, outputs: str | None = None, name: str = "") -> Value:
        """Logical exclusive or of two boolean tensors, element by element, with broadcasting."""
