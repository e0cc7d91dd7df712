"""Newton steps of linear support vector machines, on inner products of rows or on rows with few columns.

A step solves for the minimum of an objective as if the active rows stayed the same.  The matrix of a step is
factorised for one set of active rows, L L'.  For a similar set, the rows that changed border that matrix,
which takes a fraction of the time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from flyannot.terms.blas import call_blas, scratch_array

_MOST_CHANGED = 0.25  # of the rows of a factor; more are not a border
_GATHERED = 128  # rows of inner products that are gathered at once


class NewtonRows:
    """Rows on which machines are trained, and a solver of the Newton steps of one machine at a time.

    A machine is a combination of the rows, whose coefficients are its `parts`.  A subclass defines

        matrix(is_active, changed)
            the matrix of a step, in scratch memory, of which the lower triangle suffices.  `is_active` is a
            bool array (n_rows,), and `changed` an int array of the rows for which `factored` is not that.
        border(rows)
            the border by which some rows (int array) join or leave the matrix, (n, len(factor))
        solve(is_active, changed, solved)
            parts and decision values of the minimum, float arrays (n_rows,).  `solved` are the borders of
            the changed rows after `half_solve`.
    """

    factor: np.ndarray
    matrix: Callable
    border: Callable
    solve: Callable

    def begin(self, sign, weight):
        """Begin another machine.

        Parameters
        ----------
        sign : float array (n_rows,), +1 or -1
        weight : float array (n_rows,), 2 c_i of each row
        """
        self.sign = sign
        self.weight = weight
        self.factored = np.ones(len(sign), bool)  # the active rows of the factorised matrix
        self.C = 0.0

    def solve_step(self, is_active, C):
        """Minimise the objective as if the active rows stayed the same, and return parts and decision values.

        is_active : bool array (n_rows,); C : float
        """
        changed = np.flatnonzero(is_active != self.factored)
        if C != self.C or len(changed) > _MOST_CHANGED * len(self.factor):
            self.C = C
            self.factor = self.matrix(is_active, changed)
            call_blas("dpotrf", b"U", len(self.factor), self.factor, len(self.factor), 0)
            self.factored = is_active
            changed = changed[:0]
            self.borders = {}  # row -> its border, half solved
        if new := [row for row in changed if row not in self.borders]:
            self.borders |= zip(new, self.half_solve(self.border(np.array(new)), b"T"))
        solved = np.array([self.borders[row] for row in changed]).reshape(-1, len(self.factor))
        return self.solve(is_active, changed, solved)

    def half_solve(self, right, transposed):
        """Solve L x = y for each row y of an array (b"T"), or L' x = y (b"N"), in place."""
        m, n = right.shape
        if m == 1:
            call_blas("dtrsv", b"U", transposed, b"N", n, self.factor, n, right, 1)
        else:
            call_blas("dtrsm", b"L", b"U", transposed, b"N", n, m, 1.0, self.factor, n, right, n)
        return right

    def solve_bordered(self, right, solved, corner, below):
        """Solve [[L L', border'], [border, corner]] [x, z] = [right, below].

        Parameters
        ----------
        right : float array (n,)
        solved : float array (m, n), the border after `half_solve`
        corner : float array (m, m)
        below : float array (m,)

        Returns
        -------
        x, z : float arrays (n,) and (m,)
        """
        y = self.half_solve(right[None], b"T")[0]
        z = np.linalg.solve(corner - solved @ solved.T, below - solved @ y)
        return self.half_solve((y - z @ solved)[None], b"N")[0], z


class InnerProducts(NewtonRows):
    """Rows of which only the inner products are known, K, float64 (n_rows, n_rows)."""

    def __init__(self, K):
        self.K = K

    def subset(self, rows, name):
        """Return some rows alone, in the scratch memory of this name; `rows` is a sorted int array."""
        return InnerProducts(self.gather(rows, name))

    def with_parts(self, part):
        """Return a copy, for one term; it keeps no products of parts of the rows."""
        return InnerProducts(self.K)

    def decision_values(self, parts):
        """Return the decision values of all rows by some machines, float64 (n_machines, n_rows)."""
        return parts @ self.K

    def gather(self, rows, name, *, is_lower=False):
        """Return the inner products of some rows, or at least their lower triangle, in scratch memory."""
        products = scratch_array(name, (len(rows), len(rows)))
        for start in range(0, len(rows), _GATHERED):
            block = slice(start, start + _GATHERED)
            columns = rows[: block.stop] if is_lower else rows
            products[block, : len(columns)] = self.K[rows[block]].take(columns, axis=1)
        return products

    def matrix(self, is_active, changed):
        active = np.flatnonzero(is_active)
        matrix = self.gather(active, "matrix", is_lower=True)
        matrix[np.diag_indices_from(matrix)] += 1 / (self.C * self.weight[active])
        return matrix

    def border(self, rows):
        active = np.flatnonzero(self.factored)
        border = self.K[rows].take(active, axis=1)
        border[self.factored[rows]] = active == rows[self.factored[rows], None]  # their parts become 0
        return border

    def solve(self, is_active, changed, solved):
        is_added = is_active[changed]
        corner = self.K[np.ix_(changed, changed)] + np.diag(1 / (self.C * self.weight[changed]))
        corner[~is_added] = corner[:, ~is_added] = 0
        parts = np.zeros(len(is_active))
        below = self.sign[changed] * is_added
        parts[self.factored], z = self.solve_bordered(self.sign[self.factored], solved, corner, below)
        parts[changed] = z * is_added
        return parts, parts @ self.K


class FewColumns(NewtonRows):
    """Rows with few columns.

    A : float64 array (n_rows, n_columns)
    part : int array (n_rows,), the number of the part to which each row belongs
    products : float64 array (n_parts, n_columns, n_columns), A'A of each part in the lower triangle.  A
        subset of the rows keeps them, so it must have all rows of a part or none.
    """

    def __init__(self, A, part: Any = None, products: Any = None):
        self.A = A
        self.part = part
        self.products = products

    def subset(self, rows, name):
        A = scratch_array(name, (len(rows), self.A.shape[1]))
        np.take(self.A, rows, axis=0, out=A, mode="clip")  # the default mode copies A once more
        return FewColumns(A, None if self.part is None else self.part[rows], self.products)

    def with_parts(self, part):
        """Return a copy with the products of the parts of the rows."""
        products = scratch_array("parts", (part.max() + 1, self.A.shape[1], self.A.shape[1]))
        for number, of_part in enumerate(products):
            _add_products(of_part, self.A[part == number], before=0.0)
        return FewColumns(self.A, part, products)

    def decision_values(self, parts):
        return (parts @ self.A) @ self.A.T

    def begin(self, sign, weight):
        super().begin(sign, weight)
        of_part = np.zeros(len(self.products))
        of_part[self.part] = weight
        # the sum of 2 c_i x_i x_i' over the active rows, in the lower triangle
        self.active_products = scratch_array("products", self.products.shape[1:])
        np.dot(of_part, self.products.reshape(len(of_part), -1), out=self.active_products.reshape(-1))

    def matrix(self, is_active, changed):
        for rows, factor in (changed[is_active[changed]], 1.0), (changed[~is_active[changed]], -1.0):
            A = self.A[rows] * np.sqrt(self.weight[rows])[:, None]
            _add_products(self.active_products, A, factor)
        matrix = scratch_array("matrix", self.active_products.shape)
        np.multiply(self.C, self.active_products, out=matrix)
        matrix[np.diag_indices_from(matrix)] += 1
        return matrix

    def border(self, rows):
        return self.A[rows]

    def solve(self, is_active, changed, solved):
        cost = self.C * self.weight
        corner = np.diag(np.where(is_active[changed], -1, 1) / cost[changed])
        cost *= is_active
        weights, _ = self.solve_bordered((cost * self.sign) @ self.A, solved, corner, np.zeros(len(changed)))
        values = self.A @ weights
        return cost * (self.sign - values), values


def _add_products(products, A, factor=1.0, before=1.0):
    """Replace the lower triangle of a matrix by before * matrix + factor * A'A, in place."""
    n = len(products)
    call_blas("dsyrk", b"U", b"N", n, len(A), factor, A, n, before, products, n)
