"""Row operations of the SCC kernels as explicit vector code, twice as fast as compiled loops.

Every function here works on whole rows, from `padded_zeros`.  They begin on a cache line, their length is
a multiple of `CHUNK`, and the padding after the last feature is zero and stays zero.  The code is plain
LLVM vector operations, right on any machine.  Only the byte products of `candidate_atoms` use a special
instruction if the machine has it.
"""

from llvmlite import ir

from flyannot.sparse.simd.vectors import BOOL, BYTE, CHUNK, I16, I64, LANES, intrinsic, row_operation

GROUP = 16  # atoms that `candidate_atoms` tests together


@row_operation(1)
def dot(v, D, j, r):
    """Return the inner product of row j of D and the vector r.

    v : Vectors, which emits the machine instructions; D : array (n_atoms, n_features); r : array
        (n_features,)
    """
    d, r = v.row(D, v.index(j)), v.row(r)
    zeros = [v.splat(0.0)] * (CHUNK // LANES)
    sums = v.each_chunk(
        zeros, lambda k, s: [v.fma(v.load(d, k, i), v.load(r, k, i), a) for i, a in enumerate(s)]
    )
    return v.sum(sums)


@row_operation()
def axpy(v, r, factor, D, j):
    """Add a multiple of a row to a vector in place: r += factor * D[j].

    v : Vectors, which emits the machine instructions; r : array (n_features,)
    D : array (n_atoms, n_features)
    """
    r, factor, d = v.row(r), v.splat(v.number(factor)), v.row(D, v.index(j))
    v.each_vector(lambda k, i: v.store(v.fma(factor, v.load(d, k, i), v.load(r, k, i)), r, k, i))


@row_operation()
def copy_row(v, r, X, i):
    """Copy row i of the matrix X, which need not begin on a cache line, to the vector r.

    v : Vectors, which emits the machine instructions
    """
    r, x = v.row(r), v.row(X, v.index(i))
    v.each_vector(lambda k, i: v.store(v.load(x, k, i, aligned=False), r, k, i))


@row_operation(1)
def update_row(v, D, j, factor, r):
    """Add a multiple of a vector to a row in place, D[j] += factor * r, and return the new |D[j]|^2.

    v : Vectors, which emits the machine instructions; D : array (n_atoms, n_features)
    r : array (n_features,)
    """
    d, factor, r = v.row(D, v.index(j)), v.splat(v.number(factor)), v.row(r)

    def body(k, sums):
        for i in range(len(sums)):
            moved = v.fma(factor, v.load(r, k, i), v.load(d, k, i))
            v.store(moved, d, k, i)
            sums[i] = v.fma(moved, moved, sums[i])
        return sums

    return v.sum(v.each_chunk([v.splat(0.0)] * (CHUNK // LANES), body))


@row_operation(2)
def scale_and_quantise_row(v, D, j, factor, rounded, scale):
    """Multiply row j of the matrix D by a factor, and store a copy rounded to unsigned bytes.

    Parameters
    ----------
    v : Vectors, which emits the machine instructions
    D : array (n_atoms, n_features)
    j : int, number of the row; factor : float
    rounded : uint8 array (n_atoms, n_features), whose row j becomes D[j] / scale + 128, rounded
    scale : float, the difference that one unit of a byte stands for

    Returns
    -------
    largest : float, the largest |D[j, k]|
        If this does not fit in a byte, the bytes and the error are invalid.
    error : float, |D[j] - scale (rounded[j] - 128)|^2
    """
    builder = v.builder
    j = v.index(j)
    d, factor, bytes_, scale = v.row(D, j), v.splat(v.number(factor)), v.row(rounded, j), v.number(scale)
    inverse, scale = v.splat(builder.fdiv(v.constant(1.0), scale)), v.splat(scale)

    def body(k, carried):
        largest, error2 = carried
        shifted = []
        for i in range(CHUNK // LANES):
            x = builder.fmul(v.load(d, k, i), factor)
            v.store(x, d, k, i)
            q = v.round_nearest(builder.fmul(x, inverse))
            shifted.append(builder.fadd(q, v.splat(128.0)))
            error = v.residue(x, scale, q)
            largest, error2 = v.max(largest, v.abs(x)), v.fma(error, error, error2)
        v.store_bytes(shifted, bytes_, k)
        return [largest, error2]

    largest, error2 = v.each_chunk([v.splat(0.0)] * 2, body)
    return [v.reduce(largest, v.max), v.sum([error2])]


@row_operation(3)
def round_residual(v, r, rounded):
    """Round a residual r to signed bytes: store r / s for the scale s = largest |r[k]| / 127.

    No entry of r - s rounded exceeds s / 2, except for rounding.

    v : Vectors, which emits the machine instructions; r : array (n_features,); rounded : int8 array, written

    Returns
    -------
    s : float, the scale
    square : float, |r|^2
    total : float, the sum of the bytes
    """
    builder = v.builder
    four = CHUNK // LANES
    r, bytes_ = v.row(r), v.row(rounded)

    def measure(k, carried):
        x = [v.load(r, k, i) for i in range(four)]
        tops = [v.max(top, v.abs(a)) for a, top in zip(x, carried[:four])]
        return tops + [v.fma(a, a, total) for a, total in zip(x, carried[four:])]

    tiny, zero = v.splat(1e-30), v.splat(0.0)  # avoids a division by zero if r = 0
    measured = v.each_chunk([tiny] * four + [zero] * four, measure)
    largest = v.reduce(v.join(measured[:four], v.max), v.max)
    inverse = v.splat(builder.fdiv(v.constant(127.0), largest))

    def body(k, carried):
        q = [v.round_nearest(builder.fmul(v.load(r, k, i), inverse)) for i in range(four)]
        v.store_bytes(q, bytes_, k)
        return [builder.fadd(carried[0], v.join(q, builder.fadd))]

    total = v.each_chunk([zero], body)
    return [builder.fmul(largest, v.constant(1 / 127)), v.sum(measured[four:]), v.sum(total)]


@row_operation(whole="uint64")
def candidate_atoms(v, D8, orders, o, t, flags, r8, offset, limit):
    """Find which of `GROUP` atoms must be visited in a sweep: return a mask with one bit for each atom.

    The first atom has the lowest bit.  An atom j must be visited if |D8[j] r8 - offset| > limit, or if its
    flag is set.

    Parameters
    ----------
    v : Vectors, which emits the machine instructions
    D8 : uint8 array (n_atoms, n_features), the dictionary in bytes
    orders : int array (n_orders, n_atoms), orders of the atoms
    o, t : int; the atoms are orders[o, t : t + GROUP]
    flags : array, flags[t : t + GROUP] belong to these atoms
    r8 : int8 array (n_features,), the residual in bytes
    offset, limit : ints
    """
    builder = v.builder
    t = v.index(t)
    order, flags, r = v.pointer(orders, v.index(o), t), v.pointer(flags, None, t), v.row(r8)
    atoms = [builder.load(builder.gep(order, [I64(g)])) for g in range(GROUP)]
    rows = [v.row(D8, builder.zext(j, I64)) for j in atoms]
    sums = v.each_chunk(
        [v.splat(ir.IntType(32)(0))] * GROUP,
        lambda k, sums: [v.byte_products(v.chunk_at(d, k), v.chunk_at(r, k), a) for d, a in zip(rows, sums)],
    )
    distance = builder.sub(v.sum_each(sums), v.splat(v.integer(offset)))
    distance = v.max_int(distance, builder.neg(distance))
    is_far = builder.icmp_signed(">", distance, v.splat(v.integer(limit)))
    flagged = builder.load(builder.bitcast(flags, ir.VectorType(BYTE, GROUP).as_pointer()), align=1)
    is_flagged = builder.icmp_unsigned("!=", flagged, ir.Constant(flagged.type, None))
    return builder.zext(builder.bitcast(builder.or_(is_far, is_flagged), I16), I64)


@intrinsic
def lowest_set_bit(typing_context, mask):
    """Return the index of the lowest bit that is set in a mask, an integer that is not zero.

    typing_context : numba's
    """
    from numba import types

    return types.int64(mask), lambda context, builder, signature, args: builder.cttz(args[0], BOOL(1))
