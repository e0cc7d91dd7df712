"""What can be exported to what: the table that the command line, its help and the tests read."""

# kind -> format -> (module, function); a function takes (stored, stage_ranges, path)
EXPORTS = {
    "predictions": {
        "csv": ("text", "write_predictions_csv"),
        "tsv": ("text", "write_predictions_tsv"),
        "json": ("text", "write_predictions_json"),
        "html": ("page", "write_predictions_html"),
        "omero-csv": ("text", "write_omero_csv"),
        "parquet": ("extras", "write_predictions_parquet"),
        "anndata": ("extras", "write_predictions_anndata"),
    },
    "features": {
        "csv": ("arrays", "write_features_csv"),
        "npz": ("arrays", "write_features_npz"),
        "parquet": ("extras", "write_features_parquet"),
        "anndata": ("extras", "write_features_anndata"),
    },
    "dictionary": {
        "npy": ("arrays", "write_dictionary_npy"),
        "npz": ("arrays", "write_dictionary_npz"),
        "mat": ("arrays", "write_dictionary_mat"),
        "csv": ("arrays", "write_dictionary_csv"),
    },
}
FORMATS = list(dict.fromkeys(name for formats in EXPORTS.values() for name in formats))

WITH_IDS = ("csv", "tsv", "json", "parquet", "anndata")  # of predictions: have room for ids of an ontology
