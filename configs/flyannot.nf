// The chain for Nextflow, its long steps in shards:
//     nextflow run configs/flyannot.nf --embryos my-embryos --output results
// Exit code 3 says that some images were skipped and listed; the chain goes on.
params.embryos = 'my-embryos'
params.output = 'results'
params.shards = 8

process extract {
    cpus 2
    input: tuple val(i), path(embryos)
    output: tuple val(i), path("descriptors.${i}.h5")
    script:
    """
    flyannot extract ${embryos} -o descriptors.${i}.h5 --shard ${i}/${params.shards} --jobs ${task.cpus} || [ \$? -eq 3 ]
    """
}

process learn_dict {
    input: path(descriptors)
    output: path('dictionary.h5')
    script:
    """
    flyannot learn-dict ${descriptors} -o dictionary.h5
    """
}

process pool {
    cpus 2
    input: tuple val(i), path(descriptors), path(dictionary)
    output: path("features.${i}.h5")
    script:
    """
    flyannot pool ${descriptors} ${dictionary} -o features.${i}.h5 --grid 2x4 --jobs ${task.cpus}
    """
}

process train {
    cpus 2
    publishDir params.output, mode: 'copy'
    input:
    path(features)
    path(embryos)
    output:
    path('model.h5')
    path('scores.json')
    script:
    """
    flyannot train ${features} ${embryos}/annotations.csv -o model.h5 --jobs ${task.cpus}
    flyannot evaluate ${features} ${embryos}/annotations.csv --json scores.json --jobs ${task.cpus}
    """
}

workflow {
    embryos = file(params.embryos)
    shards = extract(Channel.of(1..(params.shards as int)).map { i -> tuple(i, embryos) })
    dictionary = learn_dict(shards.map { i, path -> path }.collect())
    features = pool(shards.combine(dictionary))
    train(features.collect(), embryos)
}
