"""Results for other tools: a function writes what one kind of file holds in one format.

It takes (stored, stage_ranges, path), and the keyword `ids` (`flyannot.dataset.ontology.IdColumns`) if the
format has room for ids of terms and stage ranges.  To add one is to add its file, and a line below.
"""

from flyannot.options.registry import Registry

EXPORTERS = {
    "predictions": Registry(
        "format of predictions",
        {
            "csv": "flyannot.export.predictions:write_csv",
            "tsv": "flyannot.export.predictions:write_tsv",
            "xlsx": "flyannot.export.xlsx:write_predictions",
            "json": "flyannot.export.predictions:write_json",
            "omero-csv": "flyannot.export.predictions:write_omero_csv",
            "parquet": "flyannot.export.parquet:write_predictions",
            "anndata": "flyannot.export.h5ad:write_predictions",
        },
    ),
    "features": Registry(
        "format of features",
        {
            "csv": "flyannot.export.arrays:write_features_csv",
            "npz": "flyannot.export.arrays:write_features_npz",
            "parquet": "flyannot.export.parquet:write_features",
            "anndata": "flyannot.export.h5ad:write_features",
        },
    ),
    "dictionary": Registry(
        "format of dictionaries",
        {
            "npy": "flyannot.export.arrays:write_dictionary_npy",
            "npz": "flyannot.export.arrays:write_dictionary_npz",
            "mat": "flyannot.export.arrays:write_dictionary_mat",
            "csv": "flyannot.export.arrays:write_dictionary_csv",
        },
    ),
}


def all_formats():
    """The names of the formats, of whatever kind of file."""
    return list(dict.fromkeys(name for formats in EXPORTERS.values() for name in formats))
