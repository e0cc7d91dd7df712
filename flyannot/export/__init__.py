"""Results for other tools: a function writes what one kind of file holds in one format.

It takes (stored, stage_ranges, path), and for predictions the keyword `ids` (None, or
`IdColumns` for ids of terms and stage ranges).  To add one, add its file, and a
line below.
"""

from flyannot.base.registry import Registry

EXPORTERS = {
    "predictions": Registry(
        "format of predictions",
        {
            "csv": "flyannot.export.predictions:write_predictions_csv",
            "tsv": "flyannot.export.predictions:write_predictions_tsv",
            "xlsx": "flyannot.export.predictions:write_predictions_xlsx",
            "json": "flyannot.export.predictions:write_predictions_json",
            "parquet": "flyannot.export.data_frames:write_predictions_parquet",
            "anndata": "flyannot.export.data_frames:write_predictions_anndata",
        },
    ),
    "features": Registry(
        "format of features",
        {
            "csv": "flyannot.export.arrays:write_features_csv",
            "npz": "flyannot.export.arrays:write_features_npz",
            "parquet": "flyannot.export.data_frames:write_features_parquet",
            "anndata": "flyannot.export.data_frames:write_features_anndata",
        },
    ),
    "dictionary": Registry(
        "format of dictionaries",
        {
            "npz": "flyannot.export.arrays:write_dictionary_npz",
            "mat": "flyannot.export.arrays:write_dictionary_mat",
        },
    ),
}


def all_formats():
    """The names of the formats, of whatever kind of file."""
    return list(dict.fromkeys(name for formats in EXPORTERS.values() for name in formats))
