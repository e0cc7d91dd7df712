#!/usr/bin/env bash
# The files of a released version, small: `bash tests/files/released/make.sh` makes those of the installed one, once.
set -euo pipefail
cd "$(dirname "$0")"
version=$(flyannot --version | grep -o '[0-9].*')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(
    cd "$work"
    flyannot synthesize -o embryos --n-genes 12 --stage-range 4-6 --max-images 1
    cat > c.toml <<-'END'
	data-set = "embryos"
	output = "."
	[extract]
	stride-px = 48
	[learn-dict]
	n-atoms = 8
	n-epochs = 2
	[train]
	min-groups = 3
	[evaluate]
	folds = 2
	[run]
	jobs = 1
	END
    flyannot run c.toml --step extract
    python - run c.toml --step learn-dict <<-'END' || true  # a checkpoint: the process ends after the first epoch
	import os
	from flyannot.__main__ import main
	from flyannot.steps import learn_dict
	write = learn_dict._Checkpoint.write
	learn_dict._Checkpoint.write = lambda *given: (write(*given), os._exit(9))
	main()
	END
    cp .dictionary.h5.parts/*.h5 checkpoint.h5
    flyannot run c.toml
)
mkdir "$version"
cp "$work"/*.h5 "$work"/{scores.json,run.toml,predictions.csv} "$work"/embryos/{images,annotations}.csv "$version"
