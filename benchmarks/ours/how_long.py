"""How long the whole way takes for other numbers of images and cores: computed from what was measured."""

_N_IMAGES = (1_000, 10_000, 150_000)
N_CORES = (2, 16, 160)


def how_long(rows, steps):
    """Rows of the minutes that all steps take: of each number of images, with a column of each of cores.

    Parameters
    ----------
    rows : those of one way, measured with one job: `seconds`, and of these `serial` and `by_workers`
    steps : names of the steps

    Nothing where the system did not tell what the time went to.
    """
    mine = [row for row in rows if row["step"] in steps and row["jobs"] == 1 and "serial" in row]
    if not mine:
        return
    start = sum(row["seconds"] - row["serial"] - row["by_workers"] for row in mine)
    serial, shared = (sum(row[name] / row["n_images"] for row in mine) for name in ("serial", "by_workers"))
    for n in _N_IMAGES:
        row = {"who": "computed", "way": mine[0]["way"], "step": " + ".join(steps), "n_images": n}
        row |= {"ms_serial": 1000 * serial, "ms_by_workers": 1000 * shared}
        yield row | {f"minutes_on_{cores}": (start + n * (serial + shared / cores)) / 60 for cores in N_CORES}
