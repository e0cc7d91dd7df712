#!/bin/bash
# The chain on a SLURM cluster, its long steps as arrays of N jobs:
#     bash configs/slurm.sh EMBRYOS OUTPUT [N]
# Give it again after a failure: what is up to date is skipped.  Exit code 3 says that some images were
# skipped and listed; the chain goes on.
set -euo pipefail
export EMBRYOS=$(realpath "$1")
N=${3:-8}
mkdir -p "$2/log"
cd "$2"

submit() {  # the job's script comes from stdin
    sbatch --parsable --export=ALL --output=log/%x.%A.%a.txt "$@"
}

extract=$(submit --job-name=extract --array=1-$N --cpus-per-task=4 --mem=4G --time=4:00:00 <<'JOB'
#!/bin/bash
flyannot extract "$EMBRYOS" -o descriptors.$SLURM_ARRAY_TASK_ID.h5 \
    --shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT --jobs $SLURM_CPUS_PER_TASK || [ $? -eq 3 ]
JOB
)
learn=$(submit --job-name=learn --dependency=afterok:$extract --cpus-per-task=1 --mem=8G --time=12:00:00 <<'JOB'
#!/bin/bash
flyannot learn-dict descriptors.*.h5 -o dictionary.h5
JOB
)
pool=$(submit --job-name=pool --dependency=afterok:$learn --array=1-$N --cpus-per-task=4 --mem=4G --time=4:00:00 <<'JOB'
#!/bin/bash
flyannot pool descriptors.$SLURM_ARRAY_TASK_ID.h5 dictionary.h5 -o features.$SLURM_ARRAY_TASK_ID.h5 \
    --grid 2x4 --jobs $SLURM_CPUS_PER_TASK
JOB
)
submit --job-name=train --dependency=afterok:$pool --cpus-per-task=4 --mem=16G --time=4:00:00 <<'JOB'
#!/bin/bash
set -e
flyannot train features.*.h5 "$EMBRYOS/annotations.csv" -o model.h5 --jobs $SLURM_CPUS_PER_TASK
flyannot evaluate features.*.h5 "$EMBRYOS/annotations.csv" --json scores.json --jobs $SLURM_CPUS_PER_TASK
JOB
