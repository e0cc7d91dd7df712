"""Row operations of the coordinate-descent coder as explicit vector code.

Compiled loops over sixteen numbers spend more time on entering than on arithmetic.  Widths are multiples
of `LANES`, and numbers of rows are rounded up to `FOUR`.  Written rows begin on a cache line.
"""

from functools import partial

import numpy as np
from llvmlite import ir

from flyannot.sparse.simd.vectors import BOOL, CHUNK, I16, I32, I64, LANES, row_operation

FOUR = 4  # rows that one turn of a loop adds
DIGIT = 7  # bits of the lower digit of a rounded number


@row_operation()
def add_rows(v, target, base, scale, factors, rows, stride, n, width):
    """Compute target = base + scale * (factors[0] rows[0] + ... + factors[n-1] rows[n-1]).

    Rows are added in fours, so the product factors[i] rows[i] must be zero from n up to the next multiple of
    four.

    Parameters
    ----------
    v : Vectors, which emits the machine instructions
    target, base : arrays (width,)
    scale : float
    factors : array (at least n,)
    rows : array whose rows are `stride` numbers apart
    n, width : ints, number of rows and their length
    """
    target, base, factors, rows = (v.row(array) for array in (target, base, factors, rows))
    scale, stride, n, width = v.splat(v.number(scale)), v.index(stride), v.index(n), v.index(width)

    def block(k, _):
        v.store(v.fma(scale, v.weighted_row_sum(factors, rows, stride, n, k), v.fetch(base, k)), target, k, 0)
        return []

    v.loop(width, LANES, [], block)


@row_operation()
def add_outer(v, rows, stride, scale, left, right, n, width):
    """Add an outer product to a matrix: rows[i, :width] += scale * left[i] * right[:width] for i < n.

    v : Vectors, which emits the machine instructions; stride : int, distance between rows in numbers
    """
    builder = v.builder
    rows, left, right = v.row(rows), v.row(left), v.row(right)
    scale, stride, n, width = v.splat(v.number(scale)), v.index(stride), v.index(n), v.index(width)

    def block(k, _):
        line = builder.fmul(scale, v.fetch(right, k))

        def row(i, _):
            place = builder.add(builder.mul(i, stride), k)
            v.store(v.fma(v.splat_at(left, i), line, v.fetch(rows, place)), rows, place, 0)
            return []

        return v.loop(n, 1, [], row)

    v.loop(width, LANES, [], block)


@row_operation()
def subtract_weighted_rows(v, q, q0, unit, rows, atoms, high, low, n, offset):
    """Compute the correlations q = q0 - z gram of all atoms, from a code z and a Gram matrix in bytes.

    That is, q = q0 - unit (sum of (high[i] 2^DIGIT + low[i]) rows[atoms[i]] - offset).  Four bytes
    are interleaved at a time, twice. So the entries of q come in another order, the mirrored order:
    `mirrored_index` gives the atom of each entry.

    Parameters
    ----------
    v : Vectors, which emits the machine instructions
    q, q0 : float arrays (n_atoms padded), in mirrored order; q is written
    unit : float, the value of the lowest digit
    rows : uint8 array (n_atoms, n_atoms padded), the Gram matrix in bytes, each plus 128
    atoms : int array, the n atoms of the code
    high, low : int8 arrays, the two digits of each code
    n : int
    offset : int, the part of the sum that the 128 in the bytes cause
    """
    builder = v.builder
    q, q0, unit, atoms = v.row(q), v.row(q0), v.splat(v.number(unit)), v.row(atoms)
    digits, n, offset = (v.row(high), v.row(low)), v.index(n), v.splat(v.integer(offset))
    words, reals = ir.VectorType(I32, LANES), ir.VectorType(v.real, LANES)

    def chunk(k, _):
        def four(i, sums):
            numbers = [builder.load(builder.gep(atoms, [builder.add(i, I64(t))])) for t in range(FOUR)]
            a, b, c, d = (v.chunk_at(v.row(rows, builder.zext(j, I64)), k, aligned=False) for j in numbers)
            pairs = zip(v.interleave(a, b), v.interleave(c, d))
            shorts = ir.VectorType(I16, CHUNK // 2)
            fours = [v.interleave(*(builder.bitcast(x, shorts) for x in pair)) for pair in pairs]
            fours = [builder.bitcast(x, a.type) for pair in fours for x in pair]
            weights = [
                v.splat(builder.load(builder.bitcast(builder.gep(digit, [i]), I32.as_pointer()), align=1))
                for digit in digits
            ]
            factors = [w for w in weights for _ in fours]
            return [v.byte_products(f, w, s) for f, w, s in zip(fours * 2, factors, sums)]

        sums = v.loop(n, FOUR, [v.splat(I32(0))] * 8, four)
        for t in range(CHUNK // LANES):
            total = builder.shl(sums[t], ir.Constant(words, [DIGIT] * LANES))
            total = builder.sub(builder.add(total, sums[4 + t]), offset)
            total = builder.sitofp(total, reals)
            v.store(v.residue(v.load(q0, k, t, aligned=False), unit, total), q, k, t)
        return []

    v.loop(v.n, CHUNK, [], chunk)


@row_operation(1)
def largest_magnitude(v, q, width):
    """Return the largest |q[k]| of the first `width` entries of an array q.

    v : Vectors, which emits the machine instructions
    """
    q, width = v.row(q), v.index(width)
    tops = v.loop(width, LANES, [v.splat(0.0)], lambda k, top: [v.max(v.abs(v.fetch(q, k)), top[0])])
    return v.reduce(tops[0], v.max)


@row_operation(1)
def inner_product(v, a, b, width):
    """Return the inner product of the first `width` entries of the arrays a and b.

    v : Vectors, which emits the machine instructions
    """
    a, b, width = v.row(a), v.row(b), v.index(width)
    sums = v.loop(width, LANES, [v.splat(0.0)], lambda k, s: [v.fma(v.fetch(a, k), v.fetch(b, k), s[0])])
    return v.sum(sums)


@row_operation(1)
def max_magnitude_of_chunks(v, q):
    """Return the largest |q[k]| of an array q whose length is a multiple of `CHUNK`.

    v : Vectors, which emits the machine instructions
    """
    q = v.row(q)
    tops = v.each_chunk(
        [v.splat(0.0)] * (CHUNK // LANES),
        lambda k, tops: [v.max(v.abs(v.load(q, k, i)), top) for i, top in enumerate(tops)],
    )
    return v.reduce(v.join(tops, v.max), v.max)


@row_operation(whole="int64")
def find_largest(v, bits, masks, width):
    """Return the index k < width of the largest number bits[k] & masks[k]; -1 if all are zero.

    v : Vectors, which emits the machine instructions; bits, masks : integer arrays, the bits of floats
        and the bits that count
    """
    builder = v.builder
    bits, masks, width = v.row(bits), v.row(masks), v.index(width)
    whole = ir.VectorType(v.context.get_value_type(v.types[0].dtype), LANES)
    zeros = ir.Constant(whole, None)

    def block(k, carried):
        top, first = carried
        rows = (builder.bitcast(builder.gep(row, [k]), whole.as_pointer()) for row in (bits, masks))
        magnitudes = builder.and_(*(builder.load(row, align=4) for row in rows))
        is_larger = builder.icmp_signed(">", magnitudes, top)
        here = v.splat(builder.trunc(k, I32))
        return [builder.select(is_larger, magnitudes, top), builder.select(is_larger, here, first)]

    tops, blocks = v.loop(width, LANES, [zeros, v.splat(I32(0))], block)
    top = v.reduce(tops, v.max_int)
    lanes = builder.bitcast(builder.icmp_signed("==", tops, v.splat(top)), I16)
    lane = builder.zext(builder.cttz(lanes, BOOL(0)), I64)
    place = builder.add(builder.zext(builder.extract_element(blocks, lane), I64), lane)
    return builder.select(builder.icmp_signed(">", top, top.type(0)), place, I64(-1))


@row_operation()
def gather_row(v, target, gram, atom, atoms, first, width):
    """Copy some Gram entries of one atom: target[k] = gram[atom, atoms[k]] for first <= k < width.

    Whole vectors are copied, so that some entries before `first` may be copied, too.

    v : Vectors, which emits the machine instructions
    """
    builder = v.builder
    target, source, atoms = v.row(target), v.row(gram, v.index(atom)), v.row(atoms)
    start = builder.and_(v.index(first), I64(-LANES))
    numbers = ir.VectorType(I32, LANES)

    def block(k, _):
        k = builder.add(k, start)
        at = builder.load(builder.bitcast(builder.gep(atoms, [k]), numbers.as_pointer()), align=4)
        v.store(v.gather(source, at), target, k, 0)
        return []

    v.loop(builder.sub(v.index(width), start), LANES, [], block)


@row_operation(whole="int64")
def append_above(v, q, q0, bar, numbers, values, size):
    """Append the atoms with |q| > bar to a list, and their q0 to another; return the new size of the lists.

    Parameters
    ----------
    v : Vectors, which emits the machine instructions
    q, q0 : float arrays in mirrored order
    bar : float
    numbers, values : arrays, lists of `size` atoms and of their q0, to which is appended
        Up to `LANES` entries after the new end become zero, so that they are valid atoms.
    size : int
    """
    builder = v.builder
    q, q0, numbers, values = (v.row(array) for array in (q, q0, numbers, values))
    bar, words = v.splat(v.number(bar)), ir.VectorType(I32, LANES)
    order = mirrored_index(np.arange(CHUNK)).reshape(-1, LANES)

    def append_at_once(k, i, above, size):
        atoms = builder.add(v.splat(builder.trunc(k, I32)), ir.Constant(words, order[i].tolist()))
        lists = (atoms, numbers), (v.load(q0, k, i, aligned=False), values)
        return [v.append_at_once(above, lists, size)]

    def append_one(first, lane, carried):
        (size,), place = carried, builder.add(first, lane)
        kept, up, down = (builder.and_(place, I64(bits)) for bits in (~60, 12, 48))  # as `mirrored_index`
        atom = builder.or_(builder.or_(kept, builder.shl(up, I64(2))), builder.lshr(down, I64(2)))
        builder.store(builder.trunc(atom, I32), builder.gep(numbers, [size]))
        builder.store(builder.load(builder.gep(q0, [place])), builder.gep(values, [size]))
        return [builder.add(size, I64(1))]

    def chunk(k, carried):
        for i in range(CHUNK // LANES):
            above = builder.fcmp_ordered(">", v.abs(v.load(q, k, i)), bar)
            if v.has_float32_lists():
                carried = append_at_once(k, i, above, *carried)
            else:
                first = builder.add(k, I64(LANES * i))
                carried = v.each_chosen(above, carried, partial(append_one, first))
        return carried

    (size,) = v.loop(v.n, CHUNK, [v.index(size)], chunk)
    return size


def mirrored_index(place):
    """Return the number of the atom whose correlation is at index `place` of an array in mirrored order.

    `subtract_weighted_rows` explains this order.
    """
    return (place & ~60) | (place & 12) << 2 | (place & 48) >> 2
