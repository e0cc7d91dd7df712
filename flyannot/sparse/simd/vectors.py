"""Building blocks of row operations: LLVM instructions on whole vectors, and the arrays that they read.

Arrays have rows of whole chunks that begin on a cache line.
"""

from functools import wraps

import numpy as np
from llvmlite import ir

from flyannot.jobs.compiled import LazyFunction, processor_features

CHUNK = 64  # elements that one turn of a loop processes: a cache line of bytes
LANES = 16  # elements of one vector: a cache line of float32

BOOL, BYTE, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
COMPRESS = "llvm.x86.avx512.mask.compress"
GATHER = "llvm.x86.avx512.mask.gather.dps.512"
PAIRS = "llvm.x86.avx2.pmadd.wd"  # sums of two products of signed 16 bits
VNNI = "llvm.x86.avx512.vpdpbusd.512"  # sums of four products of an unsigned and a signed byte


class Vectors:
    """A builder of machine code for an operation on rows: loops over a row, and vectors of its elements.

    The arguments of the operation are referred to by their number.

    context, builder, signature, args : as numba gives them to a code generator
    """

    def __init__(self, context, builder, signature, args):
        from numba import types
        from numba.core import cgutils  # slow, and only needed where kernels are compiled

        self.numba_types, self.cgutils = types, cgutils
        self.context, self.builder = context, builder
        self.types, self.args = signature.args, args
        first = signature.args[0]
        self.real = context.get_value_type(first.dtype) if isinstance(first.dtype, types.Float) else None
        self.n = self.shape(0)[-1]

    # Arguments

    def shape(self, n):
        array = self.context.make_array(self.types[n])(self.context, self.builder, self.args[n])
        return self.cgutils.unpack_tuple(self.builder, array.shape)

    def index(self, n):
        return self.context.cast(self.builder, self.args[n], self.types[n], self.numba_types.int64)

    def integer(self, n):
        return self.context.cast(self.builder, self.args[n], self.types[n], self.numba_types.int32)

    def number(self, n):
        return self.context.cast(self.builder, self.args[n], self.types[n], self.types[0].dtype)

    def pointer(self, n, row, column):
        array = self.context.make_array(self.types[n])(self.context, self.builder, self.args[n])
        if row is not None:
            width = self.cgutils.unpack_tuple(self.builder, array.shape)[1]
            column = self.builder.add(self.builder.mul(row, width), column)
        return self.builder.gep(array.data, [column])

    def row(self, n, row=None):
        return self.pointer(n, row, I64(0))

    # Loops

    def loop(self, stop, step, carried, body):
        """Build a loop that runs body(k, carried) for k = 0, step, 2 step, ... below `stop`, at least once.

        carried : tuple of the values before the first iteration; `body` returns the values of the next one
        Returns the values after the last iteration.
        """
        builder, before = self.builder, self.builder.block
        loop, done = builder.append_basic_block("count"), builder.append_basic_block("counted")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(I64)
        phis = [builder.phi(value.type) for value in carried]
        results = body(k, list(phis))
        following = builder.add(k, I64(step))
        for phi, start, result in zip([k, *phis], [I64(0), *carried], [following, *results]):
            phi.add_incoming(start, before)
            phi.add_incoming(result, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, stop), loop, done)
        builder.position_at_end(done)
        return results

    def each_chunk(self, carried, body):
        """Build a loop that runs body(k, carried) for k = 0, CHUNK, 2 CHUNK, ... below the length of a row.

        carried : tuple of the values before the first iteration; `body` returns the values of the next one
        Returns the values after the last iteration.
        """
        return self.loop(self.n, CHUNK, carried, body)

    def each_vector(self, body):
        def chunk(k, _):
            for i in range(CHUNK // LANES):
                body(k, i)
            return []

        self.each_chunk([], chunk)

    # Vectors of the real type

    def _vector_at(self, row, k, i, element):
        place = self.builder.gep(row, [self.builder.add(k, I64(LANES * i))])
        return self.builder.bitcast(place, ir.VectorType(element, LANES).as_pointer())

    def load(self, row, k, i, aligned=True):
        size = 4 if isinstance(self.real, ir.FloatType) else 8
        return self.builder.load(self._vector_at(row, k, i, self.real), align=64 if aligned else size)

    def store(self, value, row, k, i):
        self.builder.store(value, self._vector_at(row, k, i, self.real), align=64)

    def store_bytes(self, values, row, k):
        """Store vectors of whole numbers as bytes in a row, from entry k on, by one instruction.

        The processor can then forward the store to a load of the chunk.
        """
        short = [self.builder.fptosi(value, ir.VectorType(I32, LANES)) for value in values]
        short = [self.builder.trunc(value, ir.VectorType(BYTE, LANES)) for value in short]
        chunk = self.join(short, lambda a, b: self._shuffle(a, b, range(2 * a.type.count)))
        place = self.builder.bitcast(self.builder.gep(row, [k]), chunk.type.as_pointer())
        self.builder.store(chunk, place, align=CHUNK)

    def constant(self, value):
        return ir.Constant(self.real, value)

    def splat(self, value):
        """Return a vector with one number, given as a float or as an LLVM value, in all lanes."""
        value = self.constant(value) if isinstance(value, float) else value
        empty = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
        first = self.builder.insert_element(empty, value, I32(0))
        return self._shuffle(first, empty, [0] * LANES)

    def _shuffle(self, a, b, lanes):
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes)))

    def _call(self, name, kind, *values):
        """Build a call of a function of LLVM with some values.

        name : str, name of the function; kind : the type of its result
        """
        signature = ir.FunctionType(kind, [value.type for value in values])
        function = self.cgutils.get_or_insert_function(self.builder.module, signature, name)
        return self.builder.call(function, values)

    def _call_for_reals(self, name, *values):
        suffix = "f32" if isinstance(self.real, ir.FloatType) else "f64"
        return self._call(f"{name}.v{LANES}{suffix}", values[0].type, *values)

    def fma(self, a, b, c):
        return self._call_for_reals("llvm.fmuladd", a, b, c)

    def abs(self, a):
        return self._call_for_reals("llvm.fabs", a)

    def round_nearest(self, a):
        return self._call_for_reals("llvm.nearbyint", a)

    def max(self, a, b):
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def residue(self, x, scale, q):
        return self.fma(self.builder.fneg(scale), q, x)

    def reduce(self, a, join):
        """Join the lanes of a vector to one number by a binary operation, halving the vector each time.

        join : function of two vectors that returns their join
        """
        width = LANES
        while width > 1:
            width //= 2
            low, high = self._shuffle(a, a, range(width)), self._shuffle(a, a, range(width, 2 * width))
            a = join(low, high)
        return self.builder.extract_element(a, I32(0))

    def join(self, vectors, pair):
        """Join a list of vectors to one vector by a binary operation, two by two.

        pair : function of two vectors
        """
        while len(vectors) > 1:
            vectors = [pair(a, b) for a, b in zip(vectors[::2], vectors[1::2])]
        return vectors[0]

    def sum(self, vectors):
        return self.reduce(self.join(vectors, self.builder.fadd), self.builder.fadd)

    # Vectors of integers

    def max_int(self, a, b):
        return self.builder.select(self.builder.icmp_signed(">", a, b), a, b)

    def chunk_at(self, row, k, aligned=True):
        place = self.builder.bitcast(self.builder.gep(row, [k]), ir.VectorType(BYTE, CHUNK).as_pointer())
        return self.builder.load(place, align=CHUNK if aligned else 1)

    def has_feature(self, feature):
        """Return True if the processor for which code is compiled has a feature, such as "avx512vnni"."""
        return feature in processor_features()[1]

    def byte_products(self, unsigned, signed, total):
        """Return total plus, in every lane, the products of its four unsigned and its four signed bytes."""
        builder, words = self.builder, ir.VectorType(I32, LANES)
        if self.has_feature("avx512vnni"):  # the processor's own instruction
            return self._call(VNNI, words, total, *(builder.bitcast(v, words) for v in (unsigned, signed)))
        if self.has_feature("avx2"):
            return self._short_products(unsigned, signed, total)
        signed = builder.bitcast(signed, unsigned.type)
        for byte in range(4):
            lanes = range(byte, CHUNK, 4)
            a = builder.zext(self._shuffle(unsigned, unsigned, lanes), words)
            b = builder.sext(self._shuffle(signed, signed, lanes), words)
            total = builder.add(total, builder.mul(a, b))
        return total

    def _short_products(self, unsigned, signed, total):
        """Return what `byte_products` returns, on a processor that has AVX2 but not VNNI.

        The even bytes and the odd bytes are multiplied as 16-bit numbers.
        """
        builder, shorts, half = self.builder, ir.VectorType(I16, CHUNK // 2), CHUNK // 4
        u, s = (builder.bitcast(v, shorts) for v in (unsigned, signed))
        eight, low = (ir.Constant(shorts, [value] * (CHUNK // 2)) for value in (8, 255))
        even = builder.and_(u, low), builder.ashr(builder.shl(s, eight), eight)
        for pair in (even, (builder.lshr(u, eight), builder.ashr(s, eight))):
            halves = ([self._shuffle(v, v, range(at, at + half)) for v in pair] for at in (0, half))
            sums = [self._call(PAIRS, ir.VectorType(I32, half // 2), *both) for both in halves]
            total = builder.add(total, self._shuffle(*sums, range(half)))
        return total

    def interleave(self, a, b):
        """Yield two vectors with the elements of vectors a and b in turn.

        The first has the elements of the lower half of each quarter, the second has the others.
        """
        n = a.type.count
        quarter = n // 4
        for half in (0, quarter // 2):
            places = [q * quarter + half + e for q in range(4) for e in range(quarter // 2)]
            yield self._shuffle(a, b, [place for e in places for place in (e, n + e)])

    def sum_each(self, v):
        """Return a vector whose lane g is the sum of the lanes of v[g], for 16 vectors v of 16 lanes.

        It is a tree of horizontal additions.  Each round merges two vectors of partial sums into one; the
        first rounds stay within 128-bit quarters.
        """
        v = self._add_lanes(v, range(0, 16, 4), (0, 16, 1, 17), (2, 18, 3, 19))
        v = self._add_lanes(v, range(0, 16, 4), (0, 1, 16, 17), (2, 3, 18, 19))
        for _ in range(2):
            v = self._add_lanes(v, range(0, 32, 8), (0, 1, 2, 3), (4, 5, 6, 7))
        return v[0]

    def _add_lanes(self, v, starts, *places):
        lanes = [[start + place for start in starts for place in four] for four in places]
        pairs = zip(v[::2], v[1::2])
        return [self.builder.add(*(self._shuffle(a, b, chosen) for chosen in lanes)) for a, b in pairs]

    # Rows that are found by number and stride, and lists

    def splat_at(self, row, i, t=0):
        return self.splat(self.builder.load(self.builder.gep(row, [self.builder.add(i, I64(t))])))

    def fetch(self, row, k):
        return self.load(row, k, 0, aligned=False)

    def weighted_row_sum(self, factors, rows, stride, n, k):
        """Return entries k, k + 1, ... of factors[0] rows[0] + ... + factors[n-1] rows[n-1], as a vector.

        factors, rows : pointers to the weights and to the first row
        stride : distance between rows, in numbers
        """

        def four(i, sums):
            places = [self.builder.mul(self.builder.add(i, I64(t)), stride) for t in range(4)]
            lines = [self.fetch(rows, self.builder.add(place, k)) for place in places]
            return [self.fma(self.splat_at(factors, i, t), lines[t], sums[t]) for t in range(4)]

        return self.join(self.loop(n, 4, [self.splat(0.0)] * 4, four), self.builder.fadd)

    def gather(self, source, numbers):
        """Return a vector with the entries at the indices `numbers` of the row at the pointer `source`."""
        builder, reals = self.builder, ir.VectorType(self.real, LANES)
        if self.has_float32_lists():
            every = ir.Constant(ir.VectorType(BOOL, LANES), [1] * LANES)
            start = builder.bitcast(source, BYTE.as_pointer())
            return self._call(GATHER, reals, ir.Constant(reals, None), start, numbers, every, I32(4))
        vector = ir.Constant(reals, ir.Undefined)
        for lane in range(LANES):
            number = builder.zext(builder.extract_element(numbers, I32(lane)), I64)
            vector = builder.insert_element(vector, builder.load(builder.gep(source, [number])), I32(lane))
        return vector

    def each_chosen(self, chosen, carried, body):
        """Build a loop that runs `body` for every chosen lane, in order, and return its last values.

        Parameters
        ----------
        chosen : mask of bits, one for each lane
        carried : tuple of the values before the first iteration
        body : function (number of the lane, values so far) to the new values
        """
        builder, before = self.builder, self.builder.block
        loop, inside, done = (builder.append_basic_block(name) for name in ("chosen", "lane", "chosen_ended"))
        start = builder.zext(builder.bitcast(chosen, I16), I64)
        builder.branch(loop)
        builder.position_at_end(loop)
        bits, *phis = (builder.phi(value.type) for value in (start, *carried))
        builder.cbranch(builder.icmp_unsigned("!=", bits, I64(0)), inside, done)
        builder.position_at_end(inside)
        results = body(builder.cttz(bits, BOOL(1)), phis)
        following = builder.and_(bits, builder.sub(bits, I64(1)))
        for phi, first, result in zip([bits, *phis], [start, *carried], [following, *results]):
            phi.add_incoming(first, before)
            phi.add_incoming(result, builder.block)
        builder.branch(loop)
        builder.position_at_end(done)
        return phis

    def has_float32_lists(self):
        """Return True if the processor can gather and append float32 numbers by single instructions."""
        return self.has_feature("avx512f") and isinstance(self.real, ir.FloatType)

    def append_at_once(self, chosen, lists, size):
        """Append the chosen lanes of vectors to lists by single instructions; return the new size of a list.

        `LANES` entries are written in all; the entries after the chosen ones are zero.

        chosen : a mask; lists : pairs (vector, pointer to a list); size : the size of each list
        """
        builder = self.builder
        for vector, row in lists:
            place = builder.bitcast(builder.gep(row, [size]), vector.type.as_pointer())
            builder.store(self._compress(vector, chosen), place, align=4)
        return builder.add(size, builder.zext(builder.ctpop(builder.bitcast(chosen, I16)), I64))

    def _compress(self, vector, chosen):
        """Return a vector that begins with the lanes of `vector` that the mask `chosen` chooses."""
        kind = vector.type
        name = f"{COMPRESS}.v{LANES}{'i32' if kind.element == I32 else 'f32'}"
        return self._call(name, kind, vector, ir.Constant(kind, None), chosen)


def row_operation(n_reals=0, *, whole=None):
    """Decorate a function that builds machine code, and return a function that kernels can call.

    The decorated function takes a `Vectors`, and for every argument of the operation its number.

    Parameters
    ----------
    n_reals : int, how many numbers the operation returns, of the type of the entries of its first argument
    whole : str, the integer type of its only result, such as "int64"; None if it returns real numbers
    """

    def decorate(write):
        @wraps(write)  # numba reads names and number of arguments from the signature
        def define(typing_context, *kinds):
            from numba import types

            real = kinds[0].dtype
            reals = real if n_reals == 1 else types.UniTuple(real, n_reals) if n_reals else types.none

            def codegen(context, builder, signature, args):
                values = write(Vectors(context, builder, signature, args), *range(len(args)))
                if n_reals > 1:
                    return context.make_tuple(builder, signature.return_type, values)
                return context.get_dummy_value() if values is None else values

            return (getattr(types, whole) if whole else reals)(*kinds), codegen

        return intrinsic(define)

    return decorate


def intrinsic(define):
    """Decorate a function as numba's `intrinsic`, when the first kernel that calls it is compiled."""

    def make(function):
        from numba import extending

        return extending.intrinsic(function)

    return LazyFunction(define, make)


def aligned_zeros(shape, dtype):
    """Return an array of zeros that begins on a cache line.

    So neither speed nor bits depend on the memory address.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    buffer = np.zeros(size + CHUNK, np.uint8)
    first = -buffer.ctypes.data % CHUNK
    return buffer[first : first + size].view(dtype).reshape(shape)


def padded_zeros(*shape, dtype):
    """Return an array of zeros whose rows begin on a cache line, padded to a multiple of `CHUNK` numbers.

    shape : ints, of which the last is the length of a row without padding
    """
    *n_rows, n = shape
    return aligned_zeros((*n_rows, round_up(n, CHUNK)), dtype)


def pad_to_chunks(X, dtype):
    """Return X with contiguous rows of type `dtype`, padded with zeros to a multiple of `CHUNK` numbers."""
    missing = -np.shape(X)[1] % CHUNK
    return np.ascontiguousarray(np.pad(X, ((0, 0), (0, missing))) if missing else X, dtype)


def round_up(n, multiple):
    """Round the integer n up to a multiple of the integer `multiple`."""
    return -(-n // multiple) * multiple
