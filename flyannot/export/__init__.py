"""Results for other tools: for each kind of file, the functions that write it in other formats.

Each function takes (stored, stage_ranges, path). Functions for predictions also take the keyword `ids`: None,
or `IdColumns` with the ids of terms and stage ranges. To add a format, add its function and a line below.
"""

from flyannot.base.registry import Registry

EXPORTERS = {
    "predictions": Registry(
        "format of predictions",
        {
            "csv": "flyannot.export.predictions:write_predictions_csv",
            "xlsx": "flyannot.export.predictions:write_predictions_xlsx",
            "anndata": "flyannot.export.data_frames:write_predictions_anndata",
        },
    ),
    "features": Registry(
        "format of features",
        {
            "csv": "flyannot.export.arrays:write_features_csv",
            "npz": "flyannot.export.arrays:write_features_npz",
            "anndata": "flyannot.export.data_frames:write_features_anndata",
        },
    ),
    "dictionary": Registry("format of dictionaries", {"npz": "flyannot.export.arrays:write_dictionary_npz"}),
}


def all_formats():
    """Return the names of the export formats of all kinds of files."""
    return list(dict.fromkeys(name for formats in EXPORTERS.values() for name in formats))
