"""Label documents in a pipeline of your own with Ray Data: read Parquet, label with a pool of actors, write Parquet.

    python examples/ray_pipeline.py MODEL INPUT.parquet OUTPUT_FOLDER [ACTORS]

INPUT is a file or a folder at a path that every node sees, or a URL such as s3://bucket/news/, with a column `text`.
OUTPUT has all its columns, and `labels` and `scores`. If all you want is labels, `taxocaps predict MODEL INPUT --output
OUT --engine ray` does that and continues after a kill; this is for pipelines that do more.
"""

import sys

import ray

import taxocaps


def main(model: str, source: str, output: str, actors: int = 1) -> None:
    """Label the documents of `source`."""
    if not ray.is_initialized():
        ray.init(include_dashboard=False)
    # Ray Data needs a core for reading and writing beside those of the actors: without one, it would wait for ever.
    cores = int(ray.cluster_resources().get("CPU", 0))
    if cores < actors + 1:
        sys.exit(f"the Ray cluster has {cores} cores; {actors} actors need {actors + 1}, one of them to read and write")
    documents = ray.data.read_parquet(source)
    labelled = documents.map_batches(
        taxocaps.BatchLabeller,
        fn_constructor_args=[model],
        batch_format="pyarrow",
        batch_size=256,
        num_cpus=1,
        concurrency=actors,
    )
    labelled.write_parquet(output)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
